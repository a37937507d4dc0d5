"""Limit of requests in flight, shared by target and judge.

The limit falls while servers refuse requests (additive increase, multiplicative decrease, like TCP
since Jacobson 1988), and never rises above the configured one.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from pytest_rageval.support.process import core_seconds

CALM_S: Final = 1.0
"""Refusals within this time of the last reduction belong to the same burst."""
MEASURED_S: Final = 5.0
_REFUSED: Final = frozenset({429, 503})

_holding: ContextVar[bool] = ContextVar("rageval_holding_slot", default=False)


class Slots:
    """Slots for requests, granted in order of request; thread-safe.

    A thread that already holds a slot and asks again, such as a client wrapped in another, reuses
    it.

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
        self.held = 0
        """Number of requests in flight."""
        self.pausing = 0
        """Number of requests that pause before another attempt."""
        self.limited = 0
        """Number of requests that wait for a rate limit."""
        self._waiting: deque[_Place] = deque()
        self._last_cut: float | None = None
        self._closed = False

    @property
    def allowed(self) -> int:
        """Number currently allowed in flight, from 1 to ``limit``."""
        return max(1, int(self._allowed))

    @property
    def waiting(self) -> int:
        """Number of requests that wait for a slot."""
        return len(self._waiting)

    @contextmanager
    def pause(self, *, limited: bool = False) -> Iterator[None]:
        """Count a request as pausing before another attempt, or as waiting for a rate limit."""
        with self._lock:
            self.pausing += not limited
            self.limited += limited
        try:
            yield
        finally:
            with self._lock:
                self.pausing -= not limited
                self.limited -= limited

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Wait for a slot and hold it.

        Raises:
            concurrent.futures.CancelledError: the slots were closed.
        """
        if _holding.get():
            yield
            return
        self.take()
        token = _holding.set(True)
        try:
            yield
        finally:
            _holding.reset(token)
            self.release()

    def take(self) -> None:
        """Wait for a slot."""
        with self._lock:
            if self._closed:
                raise CancelledError("the session has ended")
            if not self._waiting and self.held < self.allowed:
                self.held += 1
                return
            place = _Place()
            self._waiting.append(place)
        try:
            with waiting():
                place.gate.acquire()
        except BaseException:
            with self._lock:
                if place in self._waiting:
                    self._waiting.remove(place)
            if place.granted:
                self.release()
            raise
        if not place.granted:
            raise CancelledError("the session has ended")

    def release(self) -> None:
        """Pass a slot on."""
        with self._lock:
            self.held -= 1
            self._hand_out()

    def saw(self, status: int | None) -> None:
        """Record the status of a request: "too many requests" halves the limit, others raise it.

        Args:
            status: status of the reply; None: no reply, which is ignored.
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
        """Start no further requests, also waiting ones; those in flight may finish."""
        with self._lock:
            self._closed = True
            while self._waiting:
                self._waiting.popleft().gate.release()

    def _hand_out(self) -> None:
        while self._waiting and self.held < self.allowed:
            place = self._waiting.popleft()
            place.granted = True
            self.held += 1
            place.gate.release()


class _Place:
    """A request that waits for a slot."""

    granted = False

    def __init__(self) -> None:
        self.gate = threading.Lock()
        """Closed until the slot is granted, or all were closed."""
        self.gate.acquire()


_current = threading.local()


class Turns:
    """A turn to compute, held by one thread at a time.

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
        self._lock = threading.Lock()
        self.taken = self._lock.locked
        """Whether a thread has the turn."""
        self._clock, self._core_clock = clock, core_clock
        self._began, self._core_began = clock(), core_clock()
        self._looked = self._began
        self._needed: float | None = None

    def cores_needed(self) -> float | None:
        """Return the cores that the process has needed on average, looked up once a second.

        None: this began less than ``MEASURED_S`` seconds ago, in which imports count for much.
        """
        now = self._clock()
        if now - self._began >= MEASURED_S and now - self._looked >= 1:
            self._looked = now
            self._needed = (self._core_clock() - self._core_began) / (now - self._began)
        return self._needed

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Wait for the turn, and keep it except while ``waiting``."""
        with self._lock:
            _current.turn = self._lock
            try:
                yield
            finally:
                _current.turn = None


class waiting:
    """Release of the turn while this thread waits; without a turn, nothing."""

    def __enter__(self) -> object:
        self._turn: threading.Lock | None = getattr(_current, "turn", None)
        if self._turn is not None:
            _current.turn = None
            self._turn.release()
        return None

    def __exit__(self, *_: object) -> None:
        if self._turn is not None:
            self._turn.acquire()
            _current.turn = self._turn
