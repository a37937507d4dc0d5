"""Load of the machine that tests run on."""

from __future__ import annotations

import time


def processor_share() -> float:
    """Return the share of a processor that a computing thread gets now; 1: nobody else wants it."""
    began, used = time.monotonic(), time.thread_time()
    while (passed := time.monotonic() - began) < 0.5:
        pass
    return (time.thread_time() - used) / passed
