"""Coroutines kept in flight while their results are taken one after the other."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterable
from concurrent.futures import Future
from contextlib import nullcontext
from itertools import islice
from typing import Any, Final, TypeVar

from pytest_rageval.support.slots import Slots
from pytest_rageval.support.threads import result_of, session_loop

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
