"""One event loop on a thread of its own, for every coroutine this package awaits.

Whoever needs a result blocks on it from another thread. So it works beside any loop that
pytest-asyncio, anyio or a notebook runs, with no patching of asyncio, and clients keep their
connections from one case to the next, since those belong to the loop that opened them.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable
from concurrent.futures import Future
from functools import cache
from typing import TypeVar

_T = TypeVar("_T")
_JOIN_S = 5.0


class LoopThread:
    """An event loop on a daemon thread; it starts with the first coroutine.

    A daemon, because a target that hangs must not keep the process from ending.
    """

    def __init__(self, name: str = "rageval-loop") -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        """Whether the thread is up."""
        return self._thread is not None and self._thread.is_alive()

    def submit(self, awaitable: Awaitable[_T]) -> Future[_T]:
        """Start awaiting on the loop and return at once."""
        return asyncio.run_coroutine_threadsafe(_awaited(awaitable), self._started())

    def run(self, awaitable: Awaitable[_T]) -> _T:
        """Await on the loop and return the result, or raise what was raised there.

        Should the wait itself be interrupted (Ctrl-C), the coroutine is cancelled.

        Raises:
            RuntimeError: called from the loop's own thread, which would wait for itself.
        """
        if threading.current_thread() is self._thread:
            _discard(awaitable)
            raise RuntimeError("a coroutine on this loop must await, not block on the loop")
        future = self.submit(awaitable)
        try:
            return future.result()
        finally:
            future.cancel()

    def stop(self) -> None:
        """Cancel what runs, close the loop and end the thread; it may be started again."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_JOIN_S)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_serve, args=(self._loop,), name=self._name, daemon=True
                )
                self._thread.start()
            return self._loop


@cache
def session_loop() -> LoopThread:
    """The loop of this process: every async client of a session lives on it."""
    return LoopThread()


async def _awaited(awaitable: Awaitable[_T]) -> _T:
    return await awaitable


def _discard(awaitable: object) -> None:
    # A coroutine that is never awaited would warn, and warnings may be errors.
    if asyncio.iscoroutine(awaitable):
        awaitable.close()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()
