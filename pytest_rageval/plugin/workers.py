"""Records of pytest-xdist's workers on their way to the controller, and the stop on the way back.

A worker sends each record over a channel of its own once the case is finished, on whatever thread:
the reports, which carry the outcomes, wait for the cases before theirs and for the controller's
main thread, and an interrupt drops those that wait.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from pytest_rageval.engine.run_state import Breaker, Spent
from pytest_rageval.runs.documents import record_line, record_of_line
from pytest_rageval.values.record import CaseRecord

INPUT: Final = "rageval_channel"
"""Name of the channel among the input of a worker."""
_END_S: Final = 25.0
"""Seconds in which interrupted workers finish what has been answered; more than they take."""
_INTERRUPTED_S: Final = 0.5
"""Seconds in which a worker that has got the signal of its controller leaves its cases."""
_STOP: Final = "stop"


class Workers:
    """Channels of the controller to its workers.

    Args:
        add: takes node id, record and line of each finished case.
        breaker: that of the run; once its budget is used up, no worker asks any more.
    """

    def __init__(self, add: Callable[[str, CaseRecord, bytes], None], breaker: Breaker) -> None:
        self._add = add
        self._breaker = breaker
        self._open: list[tuple[Any, Any, threading.Event]] = []
        self._came: deque[tuple[str, bytes]] = deque()

    def channel(self, node: Any) -> Any:
        """Return the channel that the worker of a node of xdist gets as input."""
        channel, ended = node.gateway.newchannel(), threading.Event()
        self._open.append((node, channel, ended))
        channel.setcallback(lambda sent: self._take(sent, ended), endmarker=None)
        if self._breaker.open:
            channel.send(self._breaker.reason)
        return channel

    def _take(self, sent: tuple[str, bytes, Spent] | None, ended: threading.Event) -> None:
        # No more on this thread, which is execnet's: what stores a record imports and compiles
        # code, which has crashed Python 3.11 there.
        if sent is None:
            ended.set()
            return
        nodeid, line, spent = sent
        self._came.append((nodeid, line))
        if self._breaker.spend(spent):
            self._send(self._breaker.reason)

    def _send(self, text: str) -> None:
        for _, channel, _ in self._open:
            with suppress(OSError):  # it has ended
                channel.send(text)

    def store(self) -> None:
        """Add the records that have come so far.

        Raises:
            StorageError: the run folder cannot be written.
        """
        while self._came:
            nodeid, line = self._came[0]
            self._add(nodeid, record_of_line(line), line)
            self._came.popleft()  # not before: an interrupt would lose it

    def stop(self) -> None:
        """Interrupt the workers, and wait until what they were answered has come."""
        self._send(_STOP)
        end = time.monotonic() + _END_S
        for node, _, ended in self._open:
            # One that Ctrl-C ended while it imported pytest has never had its end of the channel.
            while not (ended.wait(0.1) or node.channel.isclosed() or time.monotonic() > end):
                pass


class WorkerEnd:
    """End of the channel in a worker, which gives up where the controller says so."""

    def __init__(self, channel: Any, breaker: Breaker) -> None:
        self._channel = channel
        self._breaker = breaker
        self._over = threading.Event()

    def deliver(self, nodeid: str, record: CaseRecord) -> None:
        """Send a finished case."""
        with suppress(OSError):  # the controller has ended, and this process will
            spent = self._breaker.budget.spent_on(record)
            self._channel.send((nodeid, record_line(record), spent))

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Let the controller interrupt the block."""
        self._channel.setcallback(self._heard)
        try:
            yield
        finally:
            self._over.set()

    def close(self) -> None:
        """Let the controller know that nothing more comes."""
        with suppress(OSError):
            self._channel.close()

    def _heard(self, sent: str) -> None:
        if sent == _STOP:
            self._interrupt()
        else:
            self._breaker.opened_elsewhere(sent)

    def _interrupt(self) -> None:
        # A terminal interrupts workers as well. One interrupt may be lost, such as in a finalizer.
        for _ in range(20):
            if self._over.wait(_INTERRUPTED_S):
                return
            if os.name == "posix":  # ends the waiting of the main thread, too
                ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # as in background jobs
                os.kill(os.getpid(), signal.SIGTERM if ignored else signal.SIGINT)
            else:
                signal.raise_signal(signal.SIGINT)
