"""How many requests are in flight: one limit for target and judge together.

The limit gives way while servers refuse (additive increase, multiplicative decrease, as TCP does
since Jacobson 1988), and never rises above what was asked for.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

CALM_S: Final = 1.0
"""Refusals that come within this time of the last cut are of the same burst."""
_REFUSED: Final = frozenset({429, 503})

_holding: ContextVar[bool] = ContextVar("rageval_holding_slot", default=False)


class Slots:
    """Slots for requests, handed out in the order of asking; shared by threads.

    Whoever already holds one and asks again, such as a client wrapped in a user's own, goes
    through on the same.

    Args:
        limit: requests in flight at most, from 1.
        clock: monotonic seconds.
    """

    def __init__(self, limit: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        if limit < 1:
            raise ValueError(f"limit: got {limit}, expected at least 1")
        self.limit: Final = limit
        self._clock = clock
        self._lock = threading.Lock()
        self._allowed = float(limit)
        self._held = 0
        self._waiting: deque[Future[None]] = deque()
        self._last_cut: float | None = None
        self._closed = False

    @property
    def allowed(self) -> int:
        """How many may be in flight now, from 1 to ``limit``."""
        return max(1, int(self._allowed))

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold a slot; wait for one first.

        Raises:
            concurrent.futures.CancelledError: they were closed.
        """
        if _holding.get():
            yield
            return
        place = self._queue()
        try:
            if not place.done():
                with waiting():
                    place.result()
        except BaseException:
            self._give_up(place)
            raise
        token = _holding.set(True)
        try:
            yield
        finally:
            _holding.reset(token)
            self._release()

    def saw(self, status: int | None) -> None:
        """Learn how a request ended: too many requests halve what is allowed, others raise it.

        Args:
            status: of the reply; None: none came, which says nothing.
        """
        if status is None:
            return
        with self._lock:
            if status in _REFUSED:
                now = self._clock()
                if self._last_cut is None or now - self._last_cut >= CALM_S:
                    self._last_cut = now
                    self._allowed = max(1.0, self._allowed / 2)
            elif self._allowed < self.limit:
                self._allowed = min(float(self.limit), self._allowed + 1 / self._allowed)
                self._hand_out()

    def close(self) -> None:
        """Let no further request begin, also of those that wait; what is in flight may end."""
        with self._lock:
            self._closed = True
            for place in self._waiting:
                place.cancel()
            self._waiting.clear()

    def _queue(self) -> Future[None]:
        place: Future[None] = Future()
        with self._lock:
            if self._closed:
                raise CancelledError("the session has ended")
            self._waiting.append(place)
            self._hand_out()
        return place

    def _hand_out(self) -> None:
        while self._waiting and self._held < self.allowed:
            place = self._waiting.popleft()
            if place.set_running_or_notify_cancel():
                self._held += 1
                place.set_result(None)

    def _release(self) -> None:
        with self._lock:
            self._held -= 1
            self._hand_out()

    def _give_up(self, place: Future[None]) -> None:
        """Take back a place that its owner no longer wants, or the slot that it came to."""
        if place.cancel():
            return
        try:
            place.result(timeout=0)
        except (CancelledError, TimeoutError):
            return
        self._release()


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
