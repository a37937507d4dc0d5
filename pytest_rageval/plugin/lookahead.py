"""Concurrent asking of the next cases while pytest reports one after the other.

pytest runs items strictly in order. The first case starts itself and the next ones on the session's
loop, and waits only for its own record; when pytest runs the others, their records are finished or
in progress. Clients come from fixtures, so only cases that are certain to get the same values are
asked ahead of their turn.

pytest attributes all output to the item that it runs. Output of a case asked ahead is held back,
and released when its item waits for it.
"""

from __future__ import annotations

import io
import logging
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Final

import pytest

from pytest_rageval.engine.case import Clients
from pytest_rageval.plugin import default_case
from pytest_rageval.plugin.client_fixtures import (
    asked_one_by_one,
    client_definitions,
    client_parameters,
    same_clients,
)
from pytest_rageval.plugin.items import CaseItem
from pytest_rageval.plugin.private import WorkerQueue, live_log_handler, log_handlers
from pytest_rageval.plugin.state import CaseOutput, Evaluated
from pytest_rageval.support.in_flight import AHEAD, GRACE_S, Asker, Slots
from pytest_rageval.support.process import CoreUse
from pytest_rageval.support.threads import result_of, session_loop
from pytest_rageval.values.record import CaseRecord


class _Task:
    """A case that is asked ahead of its turn, and can be withdrawn."""

    def __init__(self, item: CaseItem, clients: Clients) -> None:
        self.clients = clients
        self.future: Future[Evaluated]
        self.output = CaseOutput()
        self._item = item
        self._lock = threading.Lock()
        self._wanted = True

    async def run(self) -> Evaluated:
        with held_back(self.output):
            return await self._item.evaluate(self.clients, self._deliver)

    def withdraw(self) -> None:
        """Deliver nothing from now on, and end it."""
        with self._lock:
            self._wanted = False
        self.future.cancel()

    def _deliver(self, record: CaseRecord) -> None:
        with self._lock:
            if self._wanted:
                self._item.deliver(record)


class Lookahead:
    """Keeps cases in flight ahead of their turn, with at least two slots."""

    def __init__(self, session: pytest.Session, slots: Slots) -> None:
        self._slots = slots
        self.output = OutputKeeper(session.config)
        self._asker = Asker(slots)
        self._window = slots.limit * AHEAD
        if session.config.getoption("maxfail", 0):
            # Cases after the last allowed failure would be asked in vain.
            self._window = slots.limit
        worker = hasattr(session.config, "workerinput")
        self._queue = _WorkerOrder(session) if worker else _SessionOrder(session.items)
        self._cores = CoreUse()
        self._tasks: dict[CaseItem, _Task] = {}

    def note_next(self, nextitem: pytest.Item | None) -> None:
        """Store the item that pytest runs after the current one."""
        self._queue.note_next(nextitem)

    def measure(self, item: CaseItem, clients: Clients) -> Evaluated:
        """Return the records of a case, and start those that come next."""
        if asked_one_by_one(item):
            item.state.concurrency = item.state.concurrency or 1
            # On this thread: a connection of its fixtures may be bound to it.
            return session_loop().run(item.evaluate(clients))
        self.output.watch_streams()
        # It stays among the tasks until its teardown: an interrupt may come at any moment.
        task = self._tasks.get(item)
        if task is not None and not task.clients.are(clients):
            self.forget(item)
            task = None
        self._withdraw_lost(item)
        ready = list(dict.fromkeys(self._ready(item)))
        # Before the case is started: its record is stored with it.
        self._note_concurrency(item, ready)
        if task is None:
            task = self._tasks[item] = self._start(item, clients, urgent=True)
        for ahead in ready:
            self._tasks[ahead] = self._start(ahead, clients)
        try:
            self.output.show_live(task.output, task.future)
            evaluated = result_of(task.future)
        except KeyboardInterrupt:  # it is finished with the others
            raise
        except BaseException:  # of the case, or raised here as by pytest-timeout
            task.withdraw()
            raise
        self.output.let_out(task.output)
        item.state.cores_needed = self._cores.needed()
        return evaluated

    def _note_concurrency(self, item: CaseItem, ready: Sequence[CaseItem]) -> None:
        """Store the number of cases that can be in flight; the last one alone does not show it."""
        if ready or self._tasks.keys() - {item}:
            item.state.concurrency = self._slots.limit

    def forget(self, item: CaseItem) -> None:
        """Withdraw a case that ended, or that was asked ahead and does not run."""
        if (task := self._tasks.pop(item, None)) is not None:
            task.withdraw()

    def _withdraw_lost(self, current: CaseItem) -> None:
        """Withdraw cases that another process took over."""
        if (given := self._queue.given()) is not None:
            for item in self._tasks.keys() - given - {current}:
                self.forget(item)

    def stop(self, grace_s: float = GRACE_S) -> None:
        """Start no more cases, record those that have been answered, and abandon the others.

        Args:
            grace_s: seconds in which requests in flight may finish.
        """
        try:
            if self._tasks:
                self._asker.stop(grace_s)
        finally:
            for task in self._tasks.values():
                task.withdraw()
            self._tasks.clear()

    def _start(self, item: CaseItem, clients: Clients, *, urgent: bool = False) -> _Task:
        task = _Task(item, clients)
        task.future = self._asker.start(task.run, urgent=urgent)
        return task

    def _ready(self, item: CaseItem) -> Iterator[CaseItem]:
        """Yield the next cases that may be asked ahead, up to the size of the window."""
        room = self._window - len(self._tasks)
        wanted = client_definitions(item)
        scopes = {one.scope for one in wanted if one is not None}
        # Values that last to the end; all others may be torn down between two cases.
        lasting = scopes <= {"session"} and not client_parameters(item)
        for other in self._queue.after(item, wanted, limit=self._window):
            # A test may freeze the time or replace sockets while it runs, for all threads.
            if room <= 0 or not isinstance(other, CaseItem):
                return
            if _same_values(item, other, lasting=lasting):
                if other not in self._tasks and _measures(other):
                    yield other
                    room -= 1
            elif not lasting:
                return


def _same_values(item: CaseItem, other: CaseItem, *, lasting: bool) -> bool:
    if not same_clients(item, other):
        return False
    if lasting:
        return not client_parameters(other)
    return item.parent is other.parent and client_parameters(item) == client_parameters(other)


def _measures(item: CaseItem) -> bool:
    """Return whether a case is expected to be asked when pytest runs it."""
    if len(item.finished) == item.state.settings.most_repeats:
        return False
    if any(mark.name in {"skip", "skipif", "xfail"} for mark in item.iter_markers()):
        return False
    return item.function is default_case.test_case or "eval_record" in item.fixturenames


# --- order of items ------------------------------------------------------------------------------


class _SessionOrder:
    """Items of a session that runs all of them in this process."""

    def __init__(self, items: Sequence[pytest.Item]) -> None:
        self._items = items
        self._places: dict[pytest.Item, int] | None = None
        self._looked_for: Any = None
        self._looked_at = 0

    def note_next(self, nextitem: pytest.Item | None) -> None:
        """Do nothing: the order is known."""

    def given(self) -> None:
        """Return None: other processes do not take items."""

    def after(self, item: CaseItem, wanted: object, *, limit: int) -> Iterator[pytest.Item]:
        """Yield items after one, without those already yielded for the same fixtures."""
        if self._places is None:
            self._places = {one: place for place, one in enumerate(self._items)}
        if self._looked_for != wanted:
            self._looked_for, self._looked_at = wanted, 0
        here = self._places.get(item, -1) + 1
        for place in range(max(here, self._looked_at), min(here + limit, len(self._items))):
            yield self._items[place]
            self._looked_at = place + 1


class _WorkerOrder:
    """Items that an xdist worker was given so far; without xdist's queue, only the next one."""

    def __init__(self, session: pytest.Session) -> None:
        self._queue = WorkerQueue(session)
        self._next: pytest.Item | None = None

    def note_next(self, nextitem: pytest.Item | None) -> None:
        """Store the next item."""
        self._next = nextitem

    def given(self) -> set[pytest.Item]:
        """Return the remaining items of the worker."""
        return set(self.after())

    def after(self, *_: object, limit: int | None = None) -> Iterator[pytest.Item]:
        """Yield the remaining items of the worker, in order."""
        if self._next is not None:
            yield self._next
        yield from self._queue.items(limit)


# --- output of cases on threads ------------------------------------------------------------------


STREAMS: Final = ("stdout", "stderr")
_LIVE_S: Final = 0.05
"""Seconds between two looks at the log of a case that runs."""
_current: ContextVar[CaseOutput | None] = ContextVar("rageval_case_output", default=None)


@contextmanager
def held_back(output: CaseOutput) -> Iterator[None]:
    """Collect the output of this thread and of the coroutines that it awaits."""
    token = _current.set(output)
    try:
        yield
    finally:
        _current.reset(token)


class OutputKeeper:
    """Keeper of the output of threads while pytest runs items.

    Args:
        config: configuration of the session; printed text is held back only if pytest captures.
    """

    def __init__(self, config: pytest.Config) -> None:
        # Log files receive records at once.
        self._log_handlers, self._level = log_handlers(config)
        self._live = live_log_handler(config)
        self._captures = config.getoption("capture", "no") != "no"
        self._streams: list[Any] = []

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Hold back the output of cases on threads."""
        root, collector = logging.getLogger(), _Collector()
        before = root.level
        if self._level is not None:  # pytest sets it while it runs an item, not in between
            root.setLevel(min(before, self._level))
        if self._log_handlers:
            root.addHandler(collector)
        handlers = [*self._log_handlers, *([self._live] if self._live else [])]
        for handler in handlers:
            handler.addFilter(_is_of_no_case)
        self.watch_streams()
        stop_here = sys.breakpointhook
        sys.breakpointhook = partial(_breakpoint, stop_here)
        try:
            yield
        finally:
            sys.breakpointhook = stop_here
            for stream in self._streams:
                del stream.write
            for handler in handlers:
                handler.removeFilter(_is_of_no_case)
            root.removeHandler(collector)
            root.setLevel(before)

    def watch_streams(self) -> None:
        """Hold back text that cases print to the current streams.

        pytest has others while it runs an item, and fixtures such as ``capsys`` have their own.
        """
        for name in STREAMS if self._captures else ():
            stream = getattr(sys, name)
            if "write" not in getattr(stream, "__dict__", {"write": "cannot be set"}):
                stream.write = partial(_write, name, stream.write)
                self._streams.append(stream)

    def show_live(self, output: CaseOutput, running: Future[Any]) -> None:
        """Show the log records of a case while it runs, if pytest shows any live.

        On pytest's own thread: its handler suspends the capturing, and heads the records with the
        item that pytest runs.
        """
        while self._live is not None:
            done, _ = wait([running], timeout=_LIVE_S)
            for record in output.records[output.n_live :]:
                output.n_live += 1
                if record.levelno >= self._live.level:
                    self._live.handle(record)
            if done:
                return

    def let_out(self, output: CaseOutput) -> None:
        """Pass the output of a case to pytest, on its own thread."""
        # Copies: a case that a time limit ended may go on, and log without a pause.
        for record in tuple(output.records):
            for handler in self._log_handlers:
                if record.levelno >= handler.level:
                    handler.handle(record)
        for name, text in tuple(output.printed.items()):
            getattr(sys, name).write(text.getvalue())


class _Collector(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        output = _current.get()
        if output is not None:
            output.records.append(record)


def _is_of_no_case(record: logging.LogRecord) -> bool:
    return _current.get() is None


def _breakpoint(stop_here: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    # The debugger would read the keyboard on a thread, while pytest captures what it prints.
    if _current.get() is not None:
        raise RuntimeError("breakpoint() in a client needs --rageval-concurrency 1")
    return stop_here(*arguments, **named)


def _write(name: str, write: Callable[[str], int], text: str) -> int:
    output = _current.get()
    if output is None:
        return write(text)
    return output.printed.setdefault(name, io.StringIO()).write(text)
