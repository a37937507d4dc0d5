"""Choice between a line of a terminal that is drawn anew, and lines of a log."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import repeat


def is_steerable(number: int) -> bool:
    """Return whether a file is a terminal that understands cursor movements."""
    return (
        os.isatty(number)
        and os.environ.get("TERM", "dumb") != "dumb"
        and os.environ.get("CI", "").lower() in {"", "0", "false"}
        and sys.platform != "win32"  # its consoles have to be switched to it, and back
    )


def log_pauses() -> Iterator[float]:
    """Yield the seconds before each line of a log: often at first, and then rarer."""
    yield from (10, 20, 30, 60, 120)
    # Services that run jobs take ten minutes of silence for a hung job.
    yield from repeat(240)
