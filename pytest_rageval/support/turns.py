"""Lets one thread compute at a time, and any number wait.

Python runs one thread at a time anyway. Where many are ready to run, though, each small system
call hands the interpreter to another one and waits to get it back: forty threads that ask a fast
target spent a third of their time on that. Here a thread gives its turn away only where it really
waits.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_current = threading.local()


class Turns:
    """A turn to compute, which one thread has at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Wait for the turn, and keep it but for what is ``waiting``."""
        with self._lock:
            _current.turn = self._lock
            try:
                yield
            finally:
                _current.turn = None


@contextmanager
def waiting() -> Iterator[None]:
    """Give the turn away while this thread waits for something; without one, do nothing."""
    turn: threading.Lock | None = getattr(_current, "turn", None)
    if turn is None:
        yield
        return
    _current.turn = None
    turn.release()
    try:
        yield
    finally:
        turn.acquire()
        _current.turn = turn
