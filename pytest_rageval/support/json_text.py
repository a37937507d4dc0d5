"""Minimal edits in the text of one JSON object, and positions of its values. Pure.

Text written by a person or another program is kept: order of keys, spacing, spelling of numbers and
strings, unknown keys. Changes are minimal: of a list only new items are written, of an object only
members that differ.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

import msgspec

from pytest_rageval.values.errors import DatasetError, Fault, faults_error


class Removed(Enum):
    """Placeholder of a value whose key is removed."""

    REMOVED = "removed"


REMOVED: Final = Removed.REMOVED

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_NON_ASCII_ESCAPE: Final = re.compile(r"\\u(?!00[0-7])[0-9a-fA-F]{4}")


class _LongInteger(str):
    """The digits of an integer beyond Python's conversion limit."""


def _integer(text: str) -> object:
    try:
        return int(text)
    except ValueError:
        return _LongInteger(text)


# Lenient: the rest of the line is not validated here.
_DECODER: Final = json.JSONDecoder(parse_int=_integer)


@dataclass(frozen=True, slots=True)
class _Member:
    """A member of an object or an item of a list; offsets are in characters from 0."""

    key: str | None
    start: int
    """Start of the key, or of the value if there is none."""
    value: int
    end: int
    """After the value."""


@dataclass(frozen=True, slots=True)
class _Style:
    """Style of new values."""

    colon: str
    comma: str
    ascii_only: bool


def edit_line(text: str, changes: Mapping[str, Any]) -> str:
    r"""Return the text of a JSON object with some of its top-level values changed.

    Args:
        text: one JSON object; blanks around it, such as the ``\r`` of a line end, are kept.
        changes: new value by key, `REMOVED` to remove the key. A new key is added at the end. A
            value equal to the present one does not change the text.

    Raises:
        DatasetError: the text is not a JSON object, a key to change occurs twice, or a new value is
            not a JSON value.

    >>> edit_line('{"id":"a", "k" : 5}', {"k": 7, "note": "x"})
    '{"id":"a", "k" : 7, "note":"x"}'
    """
    try:
        _check_object(text)
        style = _style_of(text)
        for key, value in changes.items():
            text = _set_key(text, _skip(text, 0), key, value, style)
    except RecursionError:
        raise _fault("nested too deeply, expected one JSON object") from None
    return text


def dump_like(text: str, value: Any) -> str:
    """Write a value as JSON in the style of a neighbouring line.

    Raises:
        DatasetError: it is not a JSON value.
    """
    return _dump(value, _style_of(text))


# --- one object ------------------------------------------------------------------------------


def _check_object(text: str) -> None:
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise _fault(f"{error.msg}, expected one JSON object", col=error.colno) from None
    if not isinstance(value, dict):
        raise _fault("expected one JSON object", col=_skip(text, 0) + 1)


def _set_key(text: str, at: int, key: str, value: Any, style: _Style) -> str:
    """Change one member of the object that begins at ``at``."""
    members = _members(text, at)
    places = [index for index, member in enumerate(members) if member.key == key]
    if len(places) > 1:
        message = "the key stands twice, expected it once; take one of them out by hand"
        raise _fault(message, col=members[places[1]].start + 1, field=key)
    if value is REMOVED:
        return _cut(text, members, places[0]) if places else text
    if not places:
        added = f"{_key(key, style)}{style.colon}{_dump(value, style)}"
        return _append(text, at, members, added, style)
    member = members[places[0]]
    return text[: member.value] + _rewrite(text, member, value, style) + text[member.end :]


def _append(text: str, at: int, members: Sequence[_Member], added: str, style: _Style) -> str:
    if not members:
        return f"{text[: at + 1]}{added}{text[at + 1 :]}"
    end = members[-1].end
    return f"{text[:end]}{style.comma}{added}{text[end:]}"


def _cut(text: str, members: Sequence[_Member], index: int) -> str:
    """Remove a member with its comma."""
    if index + 1 < len(members):
        return text[: members[index].start] + text[members[index + 1].start :]
    start = members[index - 1].end if index else members[index].start
    return text[:start] + text[members[index].end :]


# --- one value -------------------------------------------------------------------------------


def _rewrite(text: str, member: _Member, new: Any, style: _Style) -> str:
    """Return the text of a new value, reusing the text of the old one where they agree."""
    raw = text[member.value : member.end]
    old = _DECODER.decode(raw)
    if _canonical(old) == _canonical(new):
        return raw
    if isinstance(old, dict) and isinstance(new, Mapping) and _unique_keys(raw):
        for key in old:
            if key not in new:
                raw = _set_key(raw, 0, key, REMOVED, style)
        for key, value in new.items():
            raw = _set_key(raw, 0, key, value, style)
        return raw
    if isinstance(old, list) and old and isinstance(new, list | tuple) and new:
        return _rewrite_list(raw, old, new, style)
    return _dump(new, style)


def _unique_keys(raw: str) -> bool:
    keys = [member.key for member in _members(raw, 0)]
    return len(set(keys)) == len(keys)


def _rewrite_list(raw: str, old: Sequence[Any], new: Sequence[Any], style: _Style) -> str:
    """Keep the text of unchanged items, with the blanks around them."""
    members = _members(raw, 0)
    matcher = difflib.SequenceMatcher(
        None, [_canonical(item) for item in old], [_canonical(item) for item in new], autojunk=False
    )
    pieces: list[tuple[str, int | None]] = []
    """Text of each item and its place in the old list, if any."""
    for _, i1, i2, j1, j2 in matcher.get_opcodes():
        for step in range(j2 - j1):
            i = i1 + step
            if i < i2:
                pieces.append((_rewrite(raw, members[i], new[j1 + step], style), i))
            else:
                pieces.append((_dump(new[j1 + step], style), None))
    text = raw[: members[0].value]
    for place, (piece, index) in enumerate(pieces):
        if place:
            text += _between(raw, members, pieces[place - 1][1], index, style)
        text += piece
    return text + raw[members[-1].end :]


def _between(
    raw: str, members: Sequence[_Member], before: int | None, after: int | None, style: _Style
) -> str:
    if before is not None and after == before + 1:
        return raw[members[before].end : members[after].value]
    return style.comma


def _canonical(value: Any) -> str:
    """Return a canonical name of a value: 1 is not true, and key order is ignored."""
    try:
        return json.dumps(value, sort_keys=True, default=_refuse)
    except (TypeError, ValueError) as error:
        raise _fault(f"{error}, expected a value that JSON can hold") from None


def _refuse(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} {value!r:.40}")


# --- writing ---------------------------------------------------------------------------------


def _style_of(text: str) -> _Style:
    at = _skip(text, 0)
    members = _members(text, at) if text[at : at + 1] == "{" else []
    if not members:
        return _Style(colon=": ", comma=", ", ascii_only=False)
    first = members[0]
    key_end = _DECODER.raw_decode(text, first.start)[1]
    colon = ": " if text[_skip(text, key_end) + 1] in " \t" else ":"
    if len(members) > 1:
        comma = ", " if text[_skip(text, first.end) + 1] in " \t" else ","
    else:
        comma = "," if colon == ":" else ", "
    return _Style(
        colon=colon,
        comma=comma,
        ascii_only=text.isascii() and _NON_ASCII_ESCAPE.search(text) is not None,
    )


def _dump(value: Any, style: _Style) -> str:
    if isinstance(value, str):
        return _string(value, style)
    if isinstance(value, Mapping):
        pairs = (f"{_key(key, style)}{style.colon}{_dump(v, style)}" for key, v in value.items())
        return "{" + style.comma.join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + style.comma.join(_dump(item, style) for item in value) + "]"
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise _fault(f"{error}, expected a value that JSON can hold") from None


def _key(key: object, style: _Style) -> str:
    if not isinstance(key, str):
        raise _fault(f"the key {key!r:.40}, expected a string")
    return _string(key, style)


def _string(text: str, style: _Style) -> str:
    if style.ascii_only:
        return json.dumps(text)
    # Raw, except characters that affect display: controls, bidi marks, odd separators.
    return "".join(
        char if char.isprintable() else json.dumps(char)[1:-1]
        for char in json.dumps(text, ensure_ascii=False)
    )


# --- scanning --------------------------------------------------------------------------------


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _members(text: str, at: int) -> list[_Member]:
    """Return the members of an object or a list that begins at ``at``; the text is JSON."""
    is_object = text[at] == "{"
    close = "}" if is_object else "]"
    found = []
    at = _skip(text, at + 1)
    while text[at] != close:
        start, key = at, None
        if is_object:
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        end = _DECODER.raw_decode(text, at)[1]
        found.append(_Member(key, start, at, end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def _fault(message: str, *, col: int = 0, field: str = "") -> DatasetError:
    return faults_error([Fault(col=col, field=field, message=message)])


Loc = tuple[int | str, ...]
"""Path of a value: keys and list indices from the outside in."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
HALF: Final = "half of a surrogate pair, expected whole characters"
TWICE: Final = "the key stands twice, expected it once"
"""Faults of a survey."""
_OPENS: Final = re.compile(r"^[ \t]*[\[{]", re.MULTILINE)


def values_over_lines(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield first line, last line and first character of each JSON value over several lines."""
    line, at, tries = 1, 0, 100  # each that fails takes a search of the text
    while tries and (found := _OPENS.search(text, at)):
        start, before = found.end() - 1, at
        try:
            at = _DECODER.raw_decode(text, start)[1]
        except (ValueError, RecursionError):
            at, tries = start + 1, tries - 1
        line += text.count("\n", before, start)
        if n := text.count("\n", start, at):
            yield line, line + n, text[start]
        line += n


def is_json(text: str | bytes) -> bool:
    """Whether a text is one JSON value."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


class UnfitJsonError(ValueError):
    """Readable, but not by every JSON reader alike: ``survey`` names the places."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise UnfitJsonError
    return value


def _float(text: str) -> float:
    if math.isfinite(value := float(text)):
        return value
    raise UnfitJsonError


_STRICT: Final = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_constant=_float, parse_float=_float
)


def _readable(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {key: value for key, value in pairs if not _SURROGATE.search(key)}


_FAST: Final = msgspec.json.Decoder()
_LENIENT: Final = json.JSONDecoder(object_pairs_hook=_readable)


def parse(text: str) -> Any:
    r"""Read one JSON text.

    Raises:
        UnfitJsonError: a key occurs twice in one object, a number is NaN or infinite, or a string
            contains half of a surrogate pair.
        json.JSONDecodeError: not JSON.
        RecursionError: nested too deeply.
    """
    colons = text.count(":")
    if colons == text.count('":'):  # perhaps none but those of keys
        with suppress(ValueError, RecursionError):
            value = _FAST.decode(text)
            # Of equal keys it keeps the last, so that a key has several colons.
            if colons == _count_keys(value):
                return value
    value = _STRICT.decode(text)
    # Escaped surrogates are rare, and usually pairs (emoji), so only these texts are searched.
    if "\\ud" in text or "\\uD" in text:
        if _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
            raise UnfitJsonError
    return value


def _count_keys(value: Any) -> int:
    kind = type(value)
    n, items = (len(value), value.values()) if kind is dict else (0, value if kind is list else ())
    for item in items:
        if type(item) is dict or type(item) is list:
            n += _count_keys(item)
    return n


@dataclass(slots=True)
class Survey:
    """Positions in a JSON text; offsets are in characters from 0."""

    value: Any = None
    """The text read leniently: the last of two equal keys wins, and a key with half of a surrogate
    pair, which no schema could name, is left out."""
    values: dict[Loc, int] = field(default_factory=dict)
    keys: dict[Loc, int] = field(default_factory=dict)
    unfit: list[tuple[Loc, int, str]] = field(default_factory=list)
    """Each place that ``parse`` refuses: its path, its offset and the fault."""


def survey(text: str) -> Survey:
    """Find the offset of every key and value of a text that is JSON.

    Raises:
        json.JSONDecodeError: not JSON.
        RecursionError: nested too deeply.
    """
    found = Survey(value=_LENIENT.decode(text))
    _walk(text, _skip(text, 0), (), found)
    return found


def _walk(text: str, at: int, loc: Loc, found: Survey) -> int:
    """Note the value that begins at ``at`` and return the offset after it."""
    found.values[loc] = at
    if text[at] in "{[":
        return _walk_members(text, at, loc, found)
    value, end = _LENIENT.raw_decode(text, at)
    if isinstance(value, float) and not math.isfinite(value):
        found.unfit.append((loc, at, f"{text[at:end][:40]}, expected a finite number"))
    elif isinstance(value, str) and _SURROGATE.search(value):
        found.unfit.append((loc, at, HALF))
    return end


def _walk_members(text: str, at: int, loc: Loc, found: Survey) -> int:
    close = "}" if text[at] == "{" else "]"
    at, index = _skip(text, at + 1), 0
    seen: set[str] = set()
    while text[at] != close:
        inner: Loc = (*loc, index)
        if close == "}":
            start = at
            key, at = _LENIENT.raw_decode(text, at)
            inner = (*loc, key)
            found.keys[inner] = start
            if key in seen:
                found.unfit.append((inner, start, TWICE))
            elif _SURROGATE.search(key):
                found.unfit.append((inner, start, HALF))
            seen.add(key)
            at = _skip(text, _skip(text, at) + 1)
        at = _skip(text, _walk(text, at, inner, found))
        index += 1
        if text[at] == ",":
            at = _skip(text, at + 1)
    return at + 1
