"""Readers of values that may come in several forms, or not as they should.

For foreign JSON documents; ours are read as the dataclasses that they were written from.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final, TypeGuard

OBJECT: Final = (dict, Mapping)
"""A dictionary is recognised at once, which no other mapping is."""
_LIST: Final = (list, tuple)
_NUMBER: Final = (int, float)


def value(document: object, *path: str) -> object:
    """Return the value at a path; None if absent."""
    for name in path:
        # What is often missing costs no look for a mapping of another class.
        if document is None or not isinstance(document, OBJECT):
            return None
        document = document.get(name)
    return document


def part(document: object, *path: str) -> Mapping[str, Any]:
    """Return the object at a path; empty if absent."""
    found = value(document, *path)
    return found if isinstance(found, OBJECT) else {}


def items(document: object, *path: str) -> Sequence[Any]:
    """Return the list at a path; empty if absent."""
    found = value(document, *path)
    return found if isinstance(found, _LIST) else ()


def texts(document: object, *path: str) -> list[str]:
    """Return the texts of the list at a path, without its other items."""
    return [item for item in items(document, *path) if isinstance(item, str)]


def number(document: object, *path: str) -> float | None:
    """Return the finite number at a path; None if absent."""
    found = value(document, *path) if path else document
    if isinstance(found, bool) or not isinstance(found, _NUMBER):
        return None
    try:
        as_float = float(found)
    except OverflowError:  # an integer of hundreds of digits
        return None
    return as_float if math.isfinite(as_float) else None


def word(document: object, *path: str) -> str | None:
    """Return the text at a path; None if absent."""
    found = value(document, *path)
    return found if isinstance(found, str) else None


def count(document: object, *path: str) -> int:
    """Return the whole number at a path; 0 if absent."""
    return int(number(document, *path) or 0)


def text(document: object, *path: str) -> str:
    """Return the text at a path, or a number as text; empty: there is neither."""
    found = value(document, *path)
    if isinstance(found, str):
        return found
    return str(found) if isinstance(found, _NUMBER) and not isinstance(found, bool) else ""


USAGE: Final = ("input_tokens", "output_tokens", "cost_usd")
"""Names of the amounts that one answer used."""
MOST_AMOUNT: Final = 1e12
"""More milliseconds (some thirty years), tokens or dollars of one answer are errors, and their sums
would overflow."""

_MOST_PHASES: Final = 100
"""Each becomes a column of figures of the run."""
_MAX_INTEGER_BITS = 1024
"""Longer integers are errors, and fit neither floats nor Python's decimal printing."""
_DECIMAL = re.compile(r"\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*", re.ASCII)


def string_or_none(value: object) -> str | None:
    """Read a string; None for anything else."""
    return value if isinstance(value, str) else None


def read_text(value: object) -> str:
    """Read a string.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(value, str):
        raise ValueError("expected a string")
    return value


def number_or_none(value: object) -> float | None:
    """Read a number, or a decimal number in a string; None unless it is finite."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, str) and len(value) < 64 and _DECIMAL.fullmatch(value):
        return finite_float(value)
    return finite_float(value) if is_integer(value) else None


def integer_or_none(value: object) -> int | None:
    """Read an integer, also as a float or in a string; None for anything else."""
    if is_integer(value):
        return value
    number = number_or_none(value)
    return int(number) if number is not None and number.is_integer() else None


def vector_or_none(value: object) -> tuple[float, ...] | None:
    """Read a vector; None unless all of its items are finite numbers."""
    if not isinstance(value, list | tuple) or not value:
        return None
    if set(map(type, value)) == {float} and all(map(isfinite, value)):  # nearly always
        return tuple(value)
    numbers = tuple(number_or_none(entry) for entry in value)
    return None if None in numbers else tuple(float(n) for n in numbers if n is not None)


def read_rank(value: object) -> int | None:
    """Read a rank; None: it is absent or not finite.

    Raises:
        ValueError: it is not an integer.
    """
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return None
    rank = integer_or_none(value)
    if rank is None:
        raise ValueError("expected an integer")
    return rank


def read_identifier(value: object) -> str | None:
    """Read an id, also an integer; None: it is absent.

    Raises:
        ValueError: it is something else.
    """
    # Vector stores number their chunks; duplicates are found by id, so 7 and "7" are the same.
    if value is not None and (name := read_name(value)) is None:
        raise ValueError("expected a string")
    return None if value is None else name


def read_latency(value: object) -> dict[str, float]:
    """Read durations in ms by phase; more phases than a target can have count as absent."""
    if not isinstance(value, Mapping) or len(value) > _MOST_PHASES:
        return {}
    times = {str(phase): number_or_none(ms) for phase, ms in value.items()}
    return {phase: ms for phase, ms in times.items() if ms is not None and 0 <= ms <= MOST_AMOUNT}


def read_coverage(value: object) -> dict[str, Any] | None:
    """Read the indexing coverage."""
    return _plain(value) if isinstance(value, Mapping) else None


def read_models(value: object) -> dict[str, str]:
    """Read the names of models by role."""
    if not isinstance(value, Mapping):
        return {}
    # A version is often written as a number: `prompt_version: 3`.
    return {
        str(role): str(name)
        for role, name in value.items()
        if isinstance(name, str) or is_integer(name) or number_or_none(name) is not None
    }


def read_usage(value: object) -> dict[str, float]:
    """Read the amounts that one answer used."""
    if not isinstance(value, Mapping):
        return {}
    numbers = {name: number_or_none(value.get(name)) for name in USAGE}
    return {n: x for n, x in numbers.items() if x is not None and 0 <= x <= MOST_AMOUNT}


def read_name(value: object) -> str | None:
    """Read a name, also an integer; None for anything else."""
    return str(value) if is_integer(value) else string_or_none(value)


def _plain(value: object) -> Any:
    """Copy any JSON value with its faults repaired: no NaN, string keys."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, str | bool) or is_integer(value):
        return value
    return number_or_none(value)


def is_integer(value: object) -> TypeGuard[int]:
    """Whether a value is an integer within the limit and not a boolean."""
    return (
        isinstance(value, int)
        and not isinstance(value, bool)
        and value.bit_length() <= _MAX_INTEGER_BITS
    )


def finite_float(literal: str | int) -> float | None:
    """Return a number as a float; None: it is beyond their range."""
    try:
        number = float(literal)
    except OverflowError:
        return None
    return number if isfinite(number) else None
