"""Daemon threads that work off tasks, the most urgent first.

Not a ``ThreadPoolExecutor``, whose threads are joined when the process exits: a target that
hangs must not keep a run from ending.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, Generic, TypeVar

Result = TypeVar("Result")


class CaseThreads(Generic[Result]):
    """Runs tasks on threads that are started as tasks come.

    Args:
        size: threads at most, from 1.
        name: beginning of their names.
    """

    def __init__(self, size: int, *, name: str = "rageval-case") -> None:
        self._size: Final = size
        self._name = name
        self._tasks: deque[tuple[Callable[[], Result], Future[Result]]] = deque()
        self._changed = threading.Condition()
        self._started = 0
        self._idle = 0
        self._stopped = False

    def submit(self, task: Callable[[], Result], *, urgent: bool = False) -> Future[Result]:
        """Have a task done and return what will hold its result.

        Args:
            task: called on one of the threads.
            urgent: whether somebody waits for it already: it goes before all others.

        Raises:
            RuntimeError: the threads were stopped.
        """
        future: Future[Result] = Future()
        with self._changed:
            if self._stopped:
                raise RuntimeError("the threads were stopped")
            if urgent:
                self._tasks.appendleft((task, future))
            else:
                self._tasks.append((task, future))
            if self._idle >= len(self._tasks):
                self._changed.notify()
            elif self._started < self._size:
                self._started += 1
                name = f"{self._name}-{self._started}"
                threading.Thread(target=self._work, name=name, daemon=True).start()
        return future

    def stop(self) -> None:
        """Start no further task; those that run are left to themselves."""
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
            # A thread that waits must not keep the last case in memory.
            del found, task, future

    def _next(self) -> tuple[Callable[[], Result], Future[Result]] | None:
        with self._changed:
            self._idle += 1
            while not self._tasks and not self._stopped:
                self._changed.wait()
            self._idle -= 1
            return None if self._stopped else self._tasks.popleft()
