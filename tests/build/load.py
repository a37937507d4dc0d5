"""Load of the machine that tests run on."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Final

_STATISTICS: Final = Path("/proc/thread-self/schedstat")


class OwnTime:
    """Time that this thread computes or waits for events, whatever else the machine computes."""

    def __init__(self) -> None:
        self._began_s = _own_s()

    def __call__(self) -> float:
        """Return the seconds from the start, without those in which others had all cores."""
        return _own_s() - self._began_s


def _own_s() -> float:
    # Systems other than Linux do not say how long a thread waited for a core.
    waited_ns = 0
    with suppress(OSError):
        waited_ns = int(_STATISTICS.read_text(encoding="ascii").split()[1])
    return time.monotonic() - waited_ns / 1e9
