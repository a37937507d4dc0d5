"""Reading stored documents that may lack anything: a run may be old, cut short or foreign."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any


def part(document: object, *path: str) -> Mapping[str, Any]:
    """Return the object at a path; empty: there is none."""
    found = value(document, *path)
    return found if isinstance(found, Mapping) else {}


def value(document: object, *path: str) -> object:
    """Return what stands at a path; None: nothing."""
    for name in path:
        if not isinstance(document, Mapping):
            return None
        document = document.get(name)
    return document


def number(document: object, *path: str) -> float | None:
    """Return the finite number at a path; None: there is none."""
    found = value(document, *path)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return float(found) if math.isfinite(found) else None


def count(document: object, *path: str) -> int:
    """Return the whole number at a path; 0: there is none."""
    found = number(document, *path)
    return 0 if found is None else int(found)


def text(document: object, *path: str) -> str:
    """Return the text at a path, or a number as text; empty: there is neither."""
    found = value(document, *path)
    if isinstance(found, str):
        return found
    return str(found) if isinstance(found, int | float) and not isinstance(found, bool) else ""


def items(document: object, *path: str) -> Sequence[Any]:
    """Return the list at a path; empty: there is none."""
    found = value(document, *path)
    return found if isinstance(found, list | tuple) else ()
