"""JSON that every reader reads alike: no key twice, no NaN, no half of a surrogate pair. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from pytest_rageval.support.reading import field_text
from pytest_rageval.values.errors import Fault

Loc = tuple[int | str, ...]
"""Path of a value: keys and list indices from the outside in."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class UnfitJsonError(ValueError):
    """A key occurs twice: ``survey`` names the places."""


def is_json(text: str | bytes) -> bool:
    """Whether a text is one JSON value."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def json_fault(error: json.JSONDecodeError, expected: str, **where: Any) -> Fault:
    """Return the fault of a text that is not JSON, with the column of its line and a hint."""
    more = error.msg == "Extra data"
    at = error.doc[error.pos :][:1]
    facts = {
        "reason": f"{error.msg.removesuffix(' at')} at column {error.colno}",
        "expected": expected,
        "hint": _HINTS.get(at, "") if at != "," or more else "",
    }
    return Fault(code="more_json" if more else "not_json", facts=facts, **where)


_HINTS: Final = {
    **dict.fromkeys("“”„‘’", ' with straight quotes (")'),
    **dict.fromkeys("TFN", " with true, false and null in small letters"),
    "\t": r" with \t for a tab",
    ",": " without a comma after it",
}
"""Advice on what to write, by the character that is not JSON."""


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of some members; a hook for ``json.loads``.

    Raises:
        UnfitJsonError: a key occurs twice.
    """
    value = dict(pairs)
    if len(value) != len(pairs):
        raise UnfitJsonError
    return value


class _Object(dict[str, Any]):
    faulty: Sequence[tuple[str, str]] = ()
    """Keys and the codes of their faults."""


def _noted(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value, faulty = dict[str, Any](), []
    for key, item in pairs:
        if _SURROGATE.search(key):
            faulty.append((key, "half_character"))
            continue
        if key in value:
            faulty.append((key, "duplicate_key"))
        value[key] = item
    if not faulty:
        return value
    noted = _Object(value)
    noted.faulty = faulty
    return noted


def survey(text: str) -> tuple[Any, list[Fault]]:
    """Read a text, and name each place that not every reader of JSON reads alike.

    That is a key that occurs twice in one object, a number that is NaN or infinite, and a string
    with half of a surrogate pair.

    Returns:
        The value, in which the last of two equal keys wins and a key with half of a surrogate pair,
        which no schema could name, is left out; and each fault with its path.

    Raises:
        json.JSONDecodeError: not JSON.
        RecursionError: nested too deeply.
    """
    value = json.loads(text, object_pairs_hook=_noted)
    return value, list(_unfit(value, ()))


def _unfit(value: Any, loc: Loc) -> Iterator[Fault]:
    if isinstance(value, str) and _SURROGATE.search(value):
        yield _fault(loc, "half_character")
    elif isinstance(value, float) and not math.isfinite(value):
        yield _fault(loc, "not_finite", found=json.dumps(value))
    elif isinstance(value, dict):
        faulty = value.faulty if isinstance(value, _Object) else ()
        yield from (_fault((*loc, key), code) for key, code in faulty)
        for key, item in value.items():
            yield from _unfit(item, (*loc, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unfit(item, (*loc, index))


def _fault(loc: Loc, code: str, **facts: str) -> Fault:
    return Fault(code=code, facts=facts, loc=loc, field=field_text(loc))


_DECODER: Final = json.JSONDecoder()


def read_json(text: str, decoder: json.JSONDecoder = _DECODER) -> Any:
    """Return the value of a JSON text as a decoder reads it."""
    # What msgspec reads otherwise, such as NaN or half of a surrogate pair, it refuses.
    with suppress(msgspec.MsgspecError, ValueError, RecursionError):
        return msgspec.json.decode(text)
    return decoder.decode(text)


# --- within other text

_MAX_READ: Final = 10_000_000
"""Characters read in vain in search of an object."""
_START: Final = re.compile(r"\{(?=[ \t\r\n]*[\"}])")
_LENIENT: Final = json.JSONDecoder(strict=False)


def json_objects(
    text: str, decoder: json.JSONDecoder = _LENIENT
) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield start, end and value of the outermost JSON objects in a text, in order.

    The search ends where very much was read in vain. Exceptions of the decoder other than
    ``ValueError`` and ``RecursionError`` pass through.

    >>> list(json_objects('either {"a": 1} or {b}'))
    [(7, 15, {'a': 1})]
    """
    end, left = 0, _MAX_READ
    while (start := _START.search(text, end)) and left > 0:
        at = start.start()
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            # Braces that are not closed are read to the end of the text, each anew; the error
            # counts the lines up to its place, at about thirty times the speed.
            place = getattr(error, "pos", len(text))
            left -= place - at + place // 30 + 50
            end = at + 1
            continue
        yield at, end, found
