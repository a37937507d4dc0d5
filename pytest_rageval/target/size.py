"""Size of a JSON value that may hold one part many times. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

MOST_CHARS: Final = 30_000_000
"""Characters that a mapping may make of one reply, and that the texts of a record may have."""
_PER_VALUE: Final = 8
"""Characters that a value counts beside its text."""


def size_of(value: Any) -> int:
    """Return the characters of a value, of each part as often as it stands there.

    Counting ends above ``MOST_CHARS``.

    >>> part = {"text": "x" * 100}
    >>> size_of([part, part]) == 8 + 2 * size_of(part)
    True
    """
    size, values = 0, [value]
    while values and size <= MOST_CHARS:
        one = values.pop()
        size += _PER_VALUE
        if isinstance(one, str):
            size += len(one)
        elif isinstance(one, Mapping):
            size += sum(len(name) for name in one if isinstance(name, str))
            values += one.values()
        elif isinstance(one, list | tuple):
            values += one
    return size
