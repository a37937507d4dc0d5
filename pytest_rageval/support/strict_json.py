"""One JSON text to Python values, strictly, and where in the text each value stands.

``parse`` is quick and says only that something is wrong; ``survey`` is slow, walks the text with
the standard library's own scanners and is used on faulty lines alone.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

Loc = tuple[int | str, ...]
"""The way to a value: keys and list indices from the outside in."""

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class UnfitJsonError(ValueError):
    """Readable, but not by every JSON reader alike: ``survey`` names the places."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise UnfitJsonError
    return value


def _constant(_: str) -> NoReturn:
    raise UnfitJsonError


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise UnfitJsonError
    return value


_STRICT: Final = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_float
)
_LENIENT: Final = json.JSONDecoder()


def parse(text: str) -> Any:
    r"""Read one JSON text.

    Raises:
        UnfitJsonError: a key stands twice in one object, a number is NaN or infinite, or a string
            holds half of a surrogate pair.
        json.JSONDecodeError: not JSON.
        RecursionError: nested too deeply.
    """
    # Escaped surrogates are rare, and mostly pairs (emoji); only then is a closer look needed.
    if "\\ud" in text or "\\uD" in text:
        value = _STRICT.decode(text)
        if any(True for _ in _lone_surrogates(value)):
            raise UnfitJsonError
        return value
    return _STRICT.decode(text)


def _lone_surrogates(value: Any, loc: Loc = ()) -> Iterator[Loc]:
    if isinstance(value, str):
        if _SURROGATE.search(value):
            yield loc
    elif isinstance(value, dict):
        for key, item in value.items():
            if _SURROGATE.search(key):
                yield (*loc, key)
            yield from _lone_surrogates(item, (*loc, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _lone_surrogates(item, (*loc, index))


@dataclass(slots=True)
class Survey:
    """Where things stand in a JSON text; offsets are in characters from 0."""

    value: Any = None
    """The text read leniently (the last of two equal keys wins)."""
    values: dict[Loc, int] = field(default_factory=dict)
    keys: dict[Loc, int] = field(default_factory=dict)
    unfit: list[tuple[Loc, int, str]] = field(default_factory=list)
    """Each place that ``parse`` refuses: its way, its offset and what is wrong."""


def survey(text: str) -> Survey:
    """Find the offset of every key and value of a text that is JSON.

    Raises:
        json.JSONDecodeError: not JSON.
        RecursionError: nested too deeply.
    """
    found = Survey(value=_LENIENT.decode(text))
    _walk(text, _skip(text, 0), (), found)
    return found


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _walk(text: str, at: int, loc: Loc, found: Survey) -> int:
    """Note the value that begins at ``at`` and return the offset after it."""
    found.values[loc] = at
    if text[at] == "{":
        return _walk_object(text, at, loc, found)
    if text[at] == "[":
        return _walk_list(text, at, loc, found)
    value, end = _LENIENT.raw_decode(text, at)
    if isinstance(value, float) and not math.isfinite(value):
        found.unfit.append((loc, at, f"{text[at:end][:40]}, expected a finite number"))
    elif isinstance(value, str) and _SURROGATE.search(value):
        found.unfit.append((loc, at, "half of a surrogate pair, expected whole characters"))
    return end


def _walk_object(text: str, at: int, loc: Loc, found: Survey) -> int:
    seen: set[str] = set()
    at = _skip(text, at + 1)
    while text[at] != "}":
        start = at
        key, at = _LENIENT.raw_decode(text, at)
        inner = (*loc, key)
        found.keys[inner] = start
        if key in seen:
            found.unfit.append((inner, start, "the key stands twice, expected it once"))
        elif _SURROGATE.search(key):
            found.unfit.append(
                (inner, start, "half of a surrogate pair, expected whole characters")
            )
        seen.add(key)
        at = _skip(text, _walk(text, _skip(text, _skip(text, at) + 1), inner, found))
        if text[at] == ",":
            at = _skip(text, at + 1)
    return at + 1


def _walk_list(text: str, at: int, loc: Loc, found: Survey) -> int:
    index = 0
    at = _skip(text, at + 1)
    while text[at] != "]":
        at = _skip(text, _walk(text, at, (*loc, index), found))
        index += 1
        if text[at] == ",":
            at = _skip(text, at + 1)
    return at + 1
