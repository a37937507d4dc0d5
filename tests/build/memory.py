"""Memory that a call needs."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable


def peak_of(act: Callable[[], object]) -> int:
    """Return the most bytes that a call held at once, after a first call that imports modules."""
    act()
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
