"""One thread that works off jobs in their order: a slow target holds up no other request.

It is a daemon, so that whoever ends the command does not wait for a target that says nothing.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class Worker:
    """Runs every job on the same thread; the first one begins it."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="rageval-label-web", daemon=True)

    def submit(self, job: Callable[[], _Result]) -> Future[_Result]:
        """Put a job in the queue; what it raises is raised by the future."""
        future: Future[_Result] = Future()
        if self._thread.ident is None:
            self._thread.start()
        self._jobs.put((job, future))
        return future

    def _work(self) -> None:
        while True:
            job, future = self._jobs.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = job()
            except BaseException as error:  # whoever asked for the job is told
                future.set_exception(error)
            else:
                future.set_result(result)
