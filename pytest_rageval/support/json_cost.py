"""Memory that JSON takes once it is read, which is up to thirty times that of its text."""

from __future__ import annotations

import re
from typing import Final

MOST_BYTES: Final = 30_000_000
"""Limit for one reply."""
_PER_MARK: Final = {b",": 32, b'"': 40, b":": 16, b"[": 64, b"{": 64}
"""Bytes that a value, half a text, a name and a container take beside their text."""
_WIDE: Final = re.compile(rb"[\xf0-\xff]|\\u[dD]")
"""A character that makes all others of its text take four bytes."""
MOST_PER_BYTE: Final = 4 + max(_PER_MARK.values())
"""Highest estimate for one byte of text."""


def json_cost(body: bytes) -> int:
    """Estimate, rather too high than too low, the bytes that values take once they are read.

    >>> json_cost(b'{"answer": "Monthly."}')
    262
    """
    width = 1
    if not body.isascii() or b"\\u" in body:
        width = 4 if _WIDE.search(body) else 2
    return len(body) * width + sum(body.count(mark) * size for mark, size in _PER_MARK.items())
