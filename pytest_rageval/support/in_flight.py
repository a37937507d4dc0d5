"""Coroutines kept in flight under one limit, which target and judge share.

The limit falls while servers refuse requests (additive increase, multiplicative decrease, like TCP
since Jacobson 1988), and never rises above the configured one.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager, nullcontext
from contextvars import ContextVar
from itertools import islice
from typing import Any, Final, TypeVar

from pytest_rageval.support.threads import result_of, session_loop

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


_T = TypeVar("_T")
Work = Callable[[], Coroutine[Any, Any, _T]]
GRACE_S: Final = 0.3
"""Seconds in which what is under way may end at an interrupt."""
AHEAD: Final = 64
"""Results ahead of the one that is next, per request in flight: a slow one must not leave the
other slots idle."""
_SCORING_S: Final = 20.0
"""Seconds in which answers are scored at an early end; on a busy machine, imports take several."""
_SPARE: Final = 4
"""One in four beyond the limit is under way: it is scored while the requests of the others are in
flight."""


class Asker:
    """Runs coroutines on the session's loop, a few more at once than there are slots.

    Args:
        slots: that their requests take.
    """

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._room = asyncio.Semaphore(slots.limit + max(1, slots.limit // _SPARE))
        self._under_way: set[asyncio.Task[Any]] = set()
        self._ended = False

    def start(self, work: Work[_T], *, urgent: bool = False) -> Future[_T]:
        """Schedule work in a copy of the caller's context, such as the span that it has set.

        Args:
            work: makes the coroutine once it is its turn; it ends early if the future is cancelled.
            urgent: whether a caller already waits for it: it does not wait for others.
        """
        return session_loop().submit(self._done(work, urgent=urgent))

    async def _done(self, work: Work[_T], *, urgent: bool) -> _T:
        async with nullcontext() if urgent else self._room:
            if self._ended:
                raise asyncio.CancelledError
            task = asyncio.current_task()
            assert task is not None
            self._under_way.add(task)
            try:
                return await work()
            finally:
                self._under_way.discard(task)

    def stop(self, grace_s: float = GRACE_S) -> None:
        """Start nothing more and close the slots; wait until what was answered is scored.

        Args:
            grace_s: seconds in which what is under way may end by itself; then what is in flight
                is cancelled.
        """
        session_loop().run(self._settled(grace_s))

    async def _settled(self, grace_s: float) -> None:
        self._ended = True
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=grace_s)
        self._slots.close()
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=_SCORING_S)


def in_order(works: Iterable[Work[_T]], slots: Slots) -> Generator[_T, None, None]:
    """Yield the results of works in their order, while the next ones are under way.

    With one slot one runs after the other, and the functions that they call on the caller's own
    thread, which a client may depend on. With several, if the caller stops early or one raises,
    those under way are stopped, and the slots closed.

    Args:
        works: read as they are started.
        slots: that their requests take.
    """
    if slots.limit == 1:
        yield from (session_loop().run(work()) for work in works)
        return
    asker, ahead = Asker(slots), iter(works)
    started = deque[Future[_T]]()

    def start(n: int) -> None:
        started.extend(asker.start(work) for work in islice(ahead, n))

    try:
        start(AHEAD * slots.limit)
        while started:
            found = result_of(started[0])
            started.popleft()
            start(1)
            yield found
    finally:
        if started:  # not all results were taken
            asker.stop()
