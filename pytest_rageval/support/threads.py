"""One event loop for everything in flight, and the threads that compute beside it.

The loop has a thread of its own. So it works beside any loop that pytest-asyncio, anyio or a
notebook runs, with no patching of asyncio, and clients keep their connections from one case to the
next, since those belong to the loop that opened them.
"""

from __future__ import annotations

import asyncio
import atexit
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from contextvars import ContextVar, copy_context
from functools import cache
from queue import SimpleQueue
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

_T = TypeVar("_T")
_JOIN_S: Final = 5.0
_Put = Callable[[Callable[[], None]], object]
"""Takes a call that a thread then makes."""

_caller: ContextVar[_Put | None] = ContextVar("rageval_caller", default=None)
"""Maker of the calls of a task, in place of threads: the thread that waits for the task."""


def _here(call: Callable[[], None]) -> None:
    """Stand for the thread that runs the task itself."""


# --- waiting on a thread -----------------------------------------------------------------------


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


def at_once(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine that waits for nothing, with all that it calls, on this thread.

    Raises:
        RuntimeError: it waits.
    """
    token = _caller.set(_here)
    try:
        coroutine.send(None)
    except StopIteration as done:
        found: _T = done.value
        return found
    finally:
        _caller.reset(token)
    coroutine.close()
    raise RuntimeError("the coroutine waits for something, which needs the loop")


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

        What is awaited may have functions called on this thread meanwhile, see ``called``. If the
        wait is interrupted (Ctrl-C), the coroutine is cancelled.

        Raises:
            RuntimeError: called from the loop's own thread, which would wait for itself.
        """
        if threading.current_thread() is self._thread:
            if asyncio.iscoroutine(awaitable):
                awaitable.close()  # or it would warn that it was never awaited
            raise RuntimeError("a coroutine on this loop must await, not block on the loop")
        settled: Future[_T] = Future()
        calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

        async def settle() -> None:
            _caller.set(calls.put)
            try:
                settled.set_result(await awaitable)
            except (Exception, SystemExit) as error:
                # Up to Python 3.12 asyncio passes on another TimeoutError, without a traceback, and
                # a SystemExit would end the loop that others wait for.
                settled.set_exception(error)

        future = self.submit(settle())
        future.add_done_callback(lambda _: calls.put(None))
        try:
            while (call := calls.get()) is not None:
                call()
            future.result()
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
    for threads in _threads.pop(loop, {}).values():
        threads.stop()


# --- calling from the loop ---------------------------------------------------------------------


async def called(function: Callable[[], _T]) -> _T:
    """Call a function that may wait, and return its result.

    It is called on the thread that waits for this task by ``LoopThread.run``; where none does, on a
    daemon thread, of which there are as many as such calls at once.
    """
    return await _called(function, "rageval-call", None)


async def computed(function: Callable[[], _T]) -> _T:
    """Call a function that computes, as ``called`` does, but on one thread for all tasks.

    So the loop stays free, and the functions do not contend for the interpreter.
    """
    return await _called(function, "rageval-compute", 1)


def is_async(function: object) -> bool:
    """Return whether a call of a function only makes a coroutine."""
    of_type = getattr(function, "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(of_type)


def is_cancelled(error: object) -> bool:
    """Return whether an error ends the running task, rather than code of a project raised it."""
    if not isinstance(error, asyncio.CancelledError):
        return False
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class _Threads:
    """Daemon threads that make calls for one loop, started on demand.

    Daemons, because a client that hangs must not keep the process from ending.
    """

    def __init__(self, name: str, most: int | None = None) -> None:
        self._name, self._most = name, most
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._n_started = 0
        self.n_under_way = 0
        """Calls that were put and are not settled."""

    def put(self, call: Callable[[], None]) -> None:
        self.n_under_way += 1
        if self._n_started < min(self.n_under_way, self._most or self.n_under_way):
            self._n_started += 1
            name = f"{self._name}-{self._n_started}"
            threading.Thread(target=_work, args=(self._calls,), name=name, daemon=True).start()
        self._calls.put(call)

    def stop(self) -> None:
        for _ in range(self._n_started):
            self._calls.put(None)


def _work(calls: SimpleQueue[Callable[[], None] | None]) -> None:
    while (call := calls.get()) is not None:
        call()
        del call  # a thread that waits must not keep the last case in memory


_threads: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _Threads]]] = (
    WeakKeyDictionary()
)


async def _called(function: Callable[[], _T], name: str, most: int | None) -> _T:
    caller = _caller.get()
    if caller is _here:
        return function()
    loop, context = asyncio.get_running_loop(), copy_context()
    threads = None
    if caller is None:
        threads = _threads.setdefault(loop, {}).setdefault(name, _Threads(name, most))
    done = loop.create_future()
    found: list[_T] = []
    raised: list[BaseException] = []

    def settle() -> None:
        if threads is not None:
            threads.n_under_way -= 1
        if not done.done():
            done.set_result(None)

    def call() -> None:
        try:
            found.append(context.run(function))
        except BaseException as error:
            raised.append(error)
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle)

    (caller or threads.put)(call)  # type: ignore[union-attr]
    await done
    if raised:
        raise raised.pop()
    return found.pop()
