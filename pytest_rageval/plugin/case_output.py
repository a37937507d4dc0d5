"""Output of cases on threads, kept until pytest runs the item.

pytest takes whatever is logged or printed for that of the item it runs just then. What comes from
a case that was asked ahead of its turn is held back here, and let out when its item waits for it.
"""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Final

import pytest

from pytest_rageval.plugin.private import log_handlers
from pytest_rageval.plugin.state import CaseOutput

STREAMS: Final = ("stdout", "stderr")


_current: ContextVar[CaseOutput | None] = ContextVar("rageval_case_output", default=None)


@contextmanager
def held_back() -> Iterator[CaseOutput]:
    """Collect what this thread, and what it awaits on a loop, logs and prints."""
    output = CaseOutput()
    token = _current.set(output)
    try:
        yield output
    finally:
        _current.reset(token)


class OutputKeeper:
    """Takes the output of threads out of pytest's way while it runs items.

    Args:
        config: of the session; where pytest captures nothing, nothing printed is held back.
    """

    def __init__(self, config: pytest.Config) -> None:
        # Live logs and log files take in records as they come.
        self._log_handlers, self._level = log_handlers(config)
        self._captures = config.getoption("capture", "no") != "no"
        self._streams: list[Any] = []

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Hold back what cases on threads log and print."""
        root, collector = logging.getLogger(), _Collector()
        before = root.level
        if self._level is not None:  # pytest sets it while it runs an item, not in between
            root.setLevel(min(before, self._level))
        if self._log_handlers:
            root.addHandler(collector)
        for handler in self._log_handlers:
            handler.addFilter(_is_of_no_case)
        self.watch_streams()
        try:
            yield
        finally:
            for stream in self._streams:
                del stream.write
            for handler in self._log_handlers:
                handler.removeFilter(_is_of_no_case)
            root.removeHandler(collector)
            root.setLevel(before)

    def watch_streams(self) -> None:
        """Hold back what cases print to the streams that are in use just now.

        pytest has others while it runs an item, and fixtures such as ``capsys`` have their own.
        """
        for name in STREAMS if self._captures else ():
            stream = getattr(sys, name)
            if "write" not in getattr(stream, "__dict__", {"write": "cannot be set"}):
                stream.write = partial(_write, name, stream.write)
                self._streams.append(stream)

    def let_out(self, output: CaseOutput) -> None:
        """Give pytest, on its own thread, what a case logged and printed."""
        for record in output.records:
            for handler in self._log_handlers:
                if record.levelno >= handler.level:
                    handler.handle(record)
        for name, text in output.printed.items():
            getattr(sys, name).write(text.getvalue())


class _Collector(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        output = _current.get()
        if output is not None:
            output.records.append(record)


def _is_of_no_case(record: logging.LogRecord) -> bool:
    return _current.get() is None


def _write(name: str, write: Callable[[str], int], text: str) -> int:
    output = _current.get()
    if output is None:
        return write(text)
    return output.printed.setdefault(name, io.StringIO()).write(text)
