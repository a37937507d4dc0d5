"""JSON that every reader reads alike: no key twice, no NaN, no half of a surrogate pair. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

Loc = tuple[int | str, ...]
"""Path of a value: keys and list indices from the outside in."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
HALF: Final = "half of a surrogate pair, expected whole characters"
TWICE: Final = "the key stands twice, expected it once"


class UnfitJsonError(ValueError):
    """Readable, but not by every JSON reader alike: ``survey`` names the places."""


def is_json(text: str | bytes) -> bool:
    """Whether a text is one JSON value."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def json_error(error: json.JSONDecodeError) -> str:
    """Return what is wrong with a text and in which column of its line."""
    return f"{error.msg.removesuffix(' at')} at column {error.colno}"


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of some members; a hook for ``json.loads``.

    Raises:
        UnfitJsonError: a key occurs twice.
    """
    value = dict(pairs)
    if len(value) != len(pairs):
        raise UnfitJsonError
    return value


def _float(text: str) -> float:
    if math.isfinite(value := float(text)):
        return value
    raise UnfitJsonError


_STRICT: Final = json.JSONDecoder(
    object_pairs_hook=unique, parse_constant=_float, parse_float=_float
)


def parse(text: str) -> Any:
    """Read one JSON text.

    Raises:
        UnfitJsonError: a key occurs twice in one object, a number is NaN or infinite, or a string
            contains half of a surrogate pair.
        json.JSONDecodeError: not JSON.
        RecursionError: nested too deeply.
    """
    value = _STRICT.decode(text)
    # Escaped surrogates are rare, and usually pairs (emoji), so only these texts are searched.
    if "\\ud" in text or "\\uD" in text:
        if _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
            raise UnfitJsonError
    return value


class _Object(dict[str, Any]):
    faulty: Sequence[tuple[str, str]] = ()
    """Keys and their faults."""


def _noted(pairs: list[tuple[str, Any]]) -> _Object:
    value, faulty = _Object(), []
    for key, item in pairs:
        if _SURROGATE.search(key):
            faulty.append((key, HALF))
            continue
        if key in value:
            faulty.append((key, TWICE))
        value[key] = item
    value.faulty = faulty
    return value


def survey(text: str) -> tuple[Any, list[tuple[Loc, str]]]:
    """Read a text leniently, and name each place that ``parse`` refuses.

    Returns:
        The value, in which the last of two equal keys wins and a key with half of a surrogate pair,
        which no schema could name, is left out; and path and message of each fault.

    Raises:
        json.JSONDecodeError: not JSON.
        RecursionError: nested too deeply.
    """
    value = json.loads(text, object_pairs_hook=_noted)
    return value, list(_unfit(value, ()))


def _unfit(value: Any, loc: Loc) -> Iterator[tuple[Loc, str]]:
    if isinstance(value, str) and _SURROGATE.search(value):
        yield loc, HALF
    elif isinstance(value, float) and not math.isfinite(value):
        yield loc, f"{json.dumps(value)}, expected a finite number"
    elif isinstance(value, _Object):
        yield from (((*loc, key), message) for key, message in value.faulty)
        for key, item in value.items():
            yield from _unfit(item, (*loc, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unfit(item, (*loc, index))


def read_json(text: str) -> tuple[Any, list[tuple[Loc, str]]]:
    """Return the value of a text, and path and message of each fault that ``parse`` refuses.

    Raises:
        json.JSONDecodeError: not JSON.
        ValueError: an integer is longer than Python reads.
        RecursionError: nested too deeply.
    """
    try:
        return parse(text), []
    except UnfitJsonError:
        return survey(text)
