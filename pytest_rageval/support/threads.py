"""Threads for cases, and one with an event loop for every coroutine that this package awaits.

Callers of the latter block on results from other threads. So it works beside any loop that
pytest-asyncio, anyio or a notebook runs, with no patching of asyncio, and clients keep their
connections from one case to the next, since those belong to the loop that opened them.
"""

from __future__ import annotations

import asyncio
import atexit
import inspect
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Coroutine, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from contextvars import copy_context
from functools import cache, partial
from itertools import islice
from typing import Any, Final, Generic, TypeVar

from pytest_rageval.support.slots import Slots, Turns

_T = TypeVar("_T")
_JOIN_S = 5.0
_IN_FLIGHT_S: Final = 1.0
"""Seconds in which requests in flight are waited for at an early end."""
_SCORING_S: Final = 20.0
"""Seconds in which answers are scored at an early end; on a busy machine, imports take several."""
_SPARE: Final = 4
"""One thread in four beyond the limit: it scores while the others' requests are in flight."""
AHEAD: Final = 64
"""Tasks ahead of the one whose result is next, per request in flight: a slow one must not leave
the other threads idle."""


def result_of(future: Future[_T], limit_s: float | None = None) -> _T:
    """Wait for a future and return its result, or raise its exception.

    Ctrl-C ends the wait at any moment. ``Future.result`` fails with a RuntimeError instead if the
    interrupt comes when its condition has released its lock and does not wait so far.

    Raises:
        GivenUp: the limit has passed.
    """
    finished = threading.Lock()
    finished.acquire()
    future.add_done_callback(lambda _: finished.release())
    if not finished.acquire(timeout=-1 if limit_s is None else min(limit_s, threading.TIMEOUT_MAX)):
        raise GivenUp(f"no result after {limit_s:g} s")
    return future.result()


class GivenUp(Exception):
    """A task took longer than its limit; its thread goes on by itself."""


def call_within(limit_s: float, task: Callable[[], _T]) -> _T:
    """Call a function on a daemon thread of its own and return its result.

    The function must not raise: an exception of an exiting interpreter could not be told from one
    of the caller.

    Raises:
        GivenUp: it takes longer.
    """
    future: Future[_T] = Future()
    work = threading.Thread(
        target=lambda: future.set_result(task()), name="rageval-own-metric", daemon=True
    )
    work.start()
    return result_of(future, limit_s)


class LoopThread:
    """An event loop on a daemon thread; it starts with the first coroutine.

    A daemon, because a hanging target must not keep the process from ending.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def submit(self, coroutine: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Start a coroutine on the loop and return at once."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._started())

    def run(self, awaitable: Awaitable[_T]) -> _T:
        """Await on the loop and return the result, or raise its exception.

        If the wait is interrupted (Ctrl-C), the coroutine is cancelled.

        Raises:
            RuntimeError: called from the loop's own thread, which would wait for itself.
        """
        if threading.current_thread() is self._thread:
            if asyncio.iscoroutine(awaitable):
                awaitable.close()  # or it would warn that it was never awaited
            raise RuntimeError("a coroutine on this loop must await, not block on the loop")
        settled: Future[_T] = Future()

        async def settle() -> None:
            try:
                settled.set_result(await awaitable)
            except (Exception, SystemExit) as error:
                # Up to Python 3.12 asyncio passes on another TimeoutError, without a traceback, and
                # a SystemExit would end the loop that others wait for.
                settled.set_exception(error)

        future = self.submit(settle())
        try:
            result_of(future)
            return settled.result()
        finally:
            future.cancel()

    def stop(self) -> None:
        """Cancel running coroutines, close the loop and end the thread; it can be restarted."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_JOIN_S)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            # A process that was forked has the loop of its parent, and not the thread.
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_serve, args=(self._loop,), name="rageval-loop", daemon=True
                )
                self._thread.start()
            return self._loop


@cache
def session_loop() -> LoopThread:
    """The loop of this process: every async client of a session lives on it."""
    loop = LoopThread()
    atexit.register(loop.stop)  # else asyncio complains of what is open at the end of a script
    return loop


def waited_for(found: object) -> object:
    """Return what a function of a project gave, awaited on that loop if it is awaitable."""
    return session_loop().run(found) if inspect.isawaitable(found) else found


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    with asyncio.Runner(loop_factory=lambda: loop) as runner:  # it cancels tasks at the end
        stopped = False
        while not stopped:
            with suppress(KeyboardInterrupt, SystemExit):  # of a task, which keeps it
                runner.get_loop().run_forever()
                stopped = True


class CaseThreads(Generic[_T]):
    """Pool of daemon threads that are started on demand.

    Args:
        size: maximum number of threads, from 1.
        name: beginning of their names.
    """

    def __init__(self, size: int, *, name: str = "rageval-case") -> None:
        self._size: Final = size
        self._name = name
        self._tasks: deque[tuple[Callable[[], _T], Future[_T]]] = deque()
        self._changed = threading.Condition()
        self._started = 0
        self._idle = 0
        self._stopped = False

    def submit(self, task: Callable[[], _T], *, urgent: bool = False) -> Future[_T]:
        """Schedule a task and return its future.

        Args:
            task: called on one of the threads.
            urgent: whether a caller already waits for it: it runs before all others.

        Raises:
            RuntimeError: the threads were stopped.
        """
        future: Future[_T] = Future()
        with self._changed:
            if self._stopped:
                raise RuntimeError("the threads were stopped")
            add = self._tasks.appendleft if urgent else self._tasks.append
            add((task, future))
            if self._idle >= len(self._tasks):
                self._changed.notify()
            elif self._started < self._size:
                self._started += 1
                name = f"{self._name}-{self._started}"
                threading.Thread(target=self._work, name=name, daemon=True).start()
        return future

    def stop(self) -> None:
        """Start no further task; running ones continue."""
        with self._changed:
            self._stopped = True
            for _, future in self._tasks:
                future.cancel()
            self._tasks.clear()
            self._changed.notify_all()

    def _work(self) -> None:
        while (found := self._next()) is not None:
            task, future = found
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(task())
            except BaseException as error:
                future.set_exception(error)
            # A waiting thread must not keep the last case in memory.
            del found, task, future

    def _next(self) -> tuple[Callable[[], _T], Future[_T]] | None:
        with self._changed:
            self._idle += 1
            while not self._tasks and not self._stopped:
                self._changed.wait()
            self._idle -= 1
            return None if self._stopped else self._tasks.popleft()


def threads_for(slots: Slots) -> int:
    """Return the number of threads that keep all slots busy."""
    return slots.limit + max(1, slots.limit // _SPARE)


def drain(tasks: Collection[Future[_T]], slots: Slots, turns: Turns) -> None:
    """Wait at an early end until answers that were received are scored, not for a slow target."""
    began = calm = time.monotonic()
    running = {task for task in tasks if not task.done()}
    while running and (now := time.monotonic()) < began + _SCORING_S:
        # An answered case keeps its slot until it has its turn, which another one may have.
        idle = slots.held + slots.waiting + slots.pausing + slots.limited
        if turns.taken() or len(running) > idle:
            calm = now
        elif now > calm + _IN_FLIGHT_S:
            return
        running = wait(running, timeout=0.05, return_when=FIRST_COMPLETED).not_done


def in_order(
    tasks: Iterable[Callable[[], _T]], slots: Slots, turns: Turns | None = None
) -> Generator[_T, None, None]:
    """Yield the results of tasks in their order, while the next ones run.

    With one slot the caller's own thread runs them, which a client may depend on. With several,
    if the caller stops early or a task raises, tasks that run are drained, and the slots closed.

    Args:
        tasks: read as they are started.
        slots: that their requests take.
        turns: taken while a task computes; None: new ones.
    """
    if slots.limit == 1:
        yield from (task() for task in tasks)
        return
    ahead, turn = iter(tasks), turns or Turns()

    def run(task: Callable[[], _T]) -> _T:
        with turn.computing():
            return task()

    threads: CaseThreads[_T] = CaseThreads(threads_for(slots))
    started = deque[Future[_T]]()

    def start(n: int) -> None:
        # Each in a copy of the caller's context, such as the span or the tenant that it has set.
        started.extend(
            threads.submit(partial(copy_context().run, run, task)) for task in islice(ahead, n)
        )

    try:
        start(AHEAD * slots.limit)
        while started:
            found = result_of(started[0])
            started.popleft()
            start(1)
            yield found
    finally:
        threads.stop()
        if started:  # not all results were taken
            try:
                drain(started, slots, turn)
            finally:
                slots.close()
