"""Imports that an interrupt does not cut in half.

A module of compiled code whose loading was cut off cannot be loaded again in the same process:
Ctrl-C at that moment would leave nothing to sum up what was measured.
"""

from __future__ import annotations

import signal
import threading
from importlib import import_module
from types import FrameType


def import_whole(*names: str) -> None:
    """Import modules; an interrupt meanwhile takes effect as soon as they are there."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        for name in names:
            import_module(name)
        return
    interrupts: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda signum, frame: interrupts.append((signum, frame)))
    try:
        for name in names:
            import_module(name)
    finally:
        signal.signal(signal.SIGINT, handler)
        if interrupts:
            handler(*interrupts[0])
