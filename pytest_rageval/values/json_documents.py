"""Reading of foreign JSON documents, which may lack any part or contain another type there.

Our own documents are read as the dataclasses that they were written from (``runs.store``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

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
