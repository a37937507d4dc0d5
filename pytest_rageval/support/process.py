"""Signals, imports, garbage collection and the closing of objects of the process.

SIGTERM, sent by timeouts, stopped containers and cancelled jobs, and SIGHUP, sent when a terminal
closes, end a process at once by default: nobody would be told how to go on, and documents sent to a
target would stay there.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from types import FrameType
from typing import Final, Self


class Closing:
    """Context manager over itself, which calls ``close`` at its end."""

    __slots__ = ()

    def close(self) -> None:
        """Free what it holds."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


MEASURED_S: Final = 5.0


class Termination:
    """Treats the first signal like Ctrl-C and ignores further ones, which senders often repeat.

    Args:
        ctrl_c: whether it handles SIGINT, too; then further ones count until ``hold``.
    """

    def __init__(self, *, ctrl_c: bool = False) -> None:
        self._ctrl_c = ctrl_c
        self._came = False
        self._held = False

    def hold(self) -> None:
        """Defer the signals: one that arrives from now on takes effect on ``release``."""
        self._held = True

    def release(self) -> None:
        """Apply a signal that arrived while it was deferred.

        Raises:
            KeyboardInterrupt: one arrived.
        """
        held, self._held = self._held, False
        if held and self._came:
            raise KeyboardInterrupt("terminated")

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        """Handle the signal as SIGINT is handled at that moment."""
        if self._came and not self._ctrl_c:
            return
        self._came = True
        if self._held:
            return
        # Not always the default one: imports that must not be interrupted replace it temporarily.
        handler = signal.getsignal(signal.SIGINT)
        if handler is self or not callable(handler):  # background jobs may ignore Ctrl-C
            raise KeyboardInterrupt("terminated")
        handler(signum, frame)


_ENDING: Final = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)


@contextmanager
def interrupted_by_termination(*, ctrl_c: bool = False) -> Iterator[Termination]:
    """Handle SIGTERM and SIGHUP like Ctrl-C within the block; existing handlers are kept.

    Nothing is handled outside the main thread, where Python allows no handlers.

    Args:
        ctrl_c: whether Ctrl-C is held like them.

    Raises:
        KeyboardInterrupt: one of them arrived.
    """
    termination = Termination(ctrl_c=ctrl_c)
    in_main_thread = threading.current_thread() is threading.main_thread()
    wanted = (*_ENDING, signal.SIGINT) if ctrl_c else _ENDING
    # One that is ignored, as by nohup, has a handler, too.
    default = (signal.SIG_DFL, signal.default_int_handler) if in_main_thread else ()
    handled = {one: old for one in wanted if (old := signal.getsignal(one)) in default}
    for one in handled:
        signal.signal(one, termination)
    try:
        yield termination
        termination.release()
    finally:
        for one, old in handled.items():
            if signal.getsignal(one) is termination:  # code within the block may set its own
                signal.signal(one, old)


def import_whole(name: str) -> None:
    """Import a module; an interrupt in the meantime takes effect after the import."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        import_module(name)
        return
    interrupts: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda signum, frame: interrupts.append((signum, frame)))
    try:
        import_module(name)
    finally:
        signal.signal(signal.SIGINT, handler)
        if interrupts:
            handler(*interrupts[0])


def raise_open_files(wanted: int) -> int:
    """Raise the limit of files and sockets open at once to a number, as far as the system allows.

    Returns:
        The limit, at least ``wanted`` where the system has no limit.
    """
    if sys.platform == "win32":
        return wanted
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return max(soft, wanted)
    possible = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with suppress(OSError, ValueError):  # some systems have a limit beside the hard one
        resource.setrlimit(resource.RLIMIT_NOFILE, (possible, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


@contextmanager
def without_gc() -> Iterator[None]:
    """Pause garbage collection while many objects are made that are all kept.

    Python collects after a number of new objects, over all existing ones: with 100,000 cases that
    takes longer than creating them.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def core_seconds() -> float:
    """Return the seconds in which threads of the process had a core or, on Linux, waited for one.

    Those of several threads add up. Threads that ended take their time of waiting with them.
    """
    waited_ns, tasks = 0, "/proc/self/task"
    # The system may have no such folder, and a thread may have ended.
    with suppress(OSError):
        for task in os.listdir(tasks):
            with suppress(OSError, ValueError, IndexError):
                waited_ns += int(_read(f"{tasks}/{task}/schedstat").split()[1])
    return time.process_time() + waited_ns / 1e9


class CoreUse:
    """Cores that the process needs on average from now on.

    Args:
        clock: monotonic seconds.
        core_clock: seconds in which threads of the process had a core, or waited for one.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        core_clock: Callable[[], float] = core_seconds,
    ) -> None:
        self._clock, self._core_clock = clock, core_clock
        self._began, self._core_began = clock(), core_clock()
        self._looked = self._began
        self._needed: float | None = None

    def needed(self) -> float | None:
        """Return the number of cores, looked up once a second.

        None: this began less than ``MEASURED_S`` seconds ago, in which imports count for much.
        """
        now = self._clock()
        if now - self._began >= MEASURED_S and now - self._looked >= 1:
            self._looked = now
            self._needed = (self._core_clock() - self._core_began) / (now - self._began)
        return self._needed


def _read(path: str) -> bytes:
    # A file object takes several times as long, for each thread once a second.
    file = os.open(path, os.O_RDONLY)
    try:
        return os.read(file, 256)
    finally:
        os.close(file)
