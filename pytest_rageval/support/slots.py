"""Limit of requests in flight, shared by target and judge.

The limit falls while servers refuse requests (additive increase, multiplicative decrease, like TCP
since Jacobson 1988), and never rises above the configured one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any, Final

CALM_S: Final = 1.0
"""Refusals within this time of the last reduction belong to the same burst."""
_REFUSED: Final = frozenset({429, 503})

_holding: ContextVar[bool] = ContextVar("rageval_holding_slot", default=False)


class Slots:
    """Slots for requests, granted in order of request to tasks of one event loop.

    A task that already holds a slot and asks again, such as one of a client wrapped in another,
    reuses it. The counts may be read on any thread.

    Args:
        limit: requests in flight at most, from 1.
        clock: monotonic seconds.
    """

    def __init__(self, limit: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        if limit < 1:
            raise ValueError(f"limit: got {limit}, expected at least 1")
        self.limit: Final = limit
        self._clock = clock
        self._allowed = float(limit)
        self.held = 0
        """Number of requests in flight."""
        self.pausing = 0
        """Number of requests that pause before another attempt."""
        self.limited = 0
        """Number of requests that wait for a rate limit."""
        self._waiting: dict[asyncio.Task[Any], asyncio.Future[None]] = {}
        self._last_cut: float | None = None
        self._closed = False
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def allowed(self) -> int:
        """Number currently allowed in flight, from 1 to ``limit``."""
        return max(1, int(self._allowed))

    @contextmanager
    def pause(self, *, limited: bool = False) -> Iterator[None]:
        """Count a request as pausing before another attempt, or as waiting for a rate limit."""
        self.pausing += not limited
        self.limited += limited
        try:
            with self._in_flight():
                yield
        finally:
            self.pausing -= not limited
            self.limited -= limited

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Wait for a slot and hold it; once the slots are closed, the task is cancelled."""
        if _holding.get():
            yield
            return
        with self._in_flight():
            await self._take()
            token = _holding.set(True)
            try:
                yield
            finally:
                _holding.reset(token)
                self._release()

    def saw(self, status: int | None) -> None:
        """Record the status of a request: "too many requests" halves the limit, others raise it.

        Args:
            status: status of the reply; None: no reply, which is ignored.
        """
        if status is None:
            return
        if status in _REFUSED:
            now = self._clock()
            if self._last_cut is None or now - self._last_cut >= CALM_S:
                self._last_cut = now
                self._allowed = max(1.0, self._allowed / 2)
        elif self._allowed < self.limit:
            self._allowed = min(float(self.limit), self._allowed + 1 / self._allowed)
            self._hand_out()

    def close(self) -> None:
        """Start no further requests, and cancel the tasks of those that wait or are in flight."""
        self._closed = True
        for task in tuple(self._tasks):
            task.cancel()

    async def _take(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        if self._closed:
            task.cancel()
            await asyncio.sleep(0)
        if not self._waiting and self.held < self.allowed:
            self.held += 1
            return
        self._waiting[task] = place = asyncio.get_running_loop().create_future()
        try:
            await place
        except asyncio.CancelledError:
            self._waiting.pop(task, None)
            if not place.cancelled():  # granted at the same moment
                self._release()
            raise

    def _release(self) -> None:
        self.held -= 1
        self._hand_out()

    def _hand_out(self) -> None:
        while self._waiting and self.held < self.allowed and not self._closed:
            place = self._waiting.pop(next(iter(self._waiting)))
            if not place.done():
                place.set_result(None)
                self.held += 1

    @contextmanager
    def _in_flight(self) -> Iterator[None]:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            yield
        finally:
            self._tasks.discard(task)
