"""Progress of a run while it asks: a live line on a terminal, now and then a line in a log."""

from __future__ import annotations

import os
import re
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import repeat
from typing import Any, Final

import pytest

from pytest_rageval.plugin.private import (
    forget_current_line,
    is_own_reporter,
    terminal_stream,
    terminal_writer,
)
from pytest_rageval.report.faces.terminal import columns_of
from pytest_rageval.report.view.blocks import Status
from pytest_rageval.report.view.progress import Progress, progress_line
from pytest_rageval.support.text import is_steerable, log_pauses

_MARKUP: Final[dict[Status, dict[str, bool]]] = {
    "": {},
    "good": {"green": True},
    "bad": {"red": True},
    "warn": {"yellow": True},
    "strong": {"bold": True},
    "weak": {"light": True},
}
"""Arguments of pytest for each style of a line."""

Source = Callable[[], Progress | None]
"""Function that counts, on any thread; None: there is nothing to show so far."""


@contextmanager
def progress_shown(config: pytest.Config, source: Source) -> Iterator[None]:
    """Show the progress, in the way that the standard output of the session allows."""
    display = _display(config, source)
    if display is None:
        yield
        return
    config.pluginmanager.register(display, "rageval-progress")
    display.start()
    try:
        yield
    finally:
        display.stop()
        config.pluginmanager.unregister(display)


def _display(config: pytest.Config, source: Source) -> _Display | None:
    reporter = config.pluginmanager.getplugin("terminalreporter")
    # A plugin that draws progress of its own puts its reporter in the place of pytest's.
    if not is_own_reporter(reporter) or config.option.verbose <= -2:
        return None
    try:
        number = terminal_stream(reporter).fileno()
    except (AttributeError, OSError, ValueError):
        return None  # not a real file
    return (LiveLine if is_steerable(number) else LogLines)(reporter, source)


class _Display(ABC):
    """Writer of the progress from a thread, past pytest's capturing."""

    def __init__(self, reporter: pytest.TerminalReporter, source: Source) -> None:
        self._reporter = reporter
        self._source = source
        self._stopped = threading.Event()
        self._paused = False
        self._thread: threading.Thread | None = None
        self._fd = -1

    def start(self) -> None:
        """Start the thread."""
        # A copy made before capturing still reaches the terminal while a case runs.
        self._fd = os.dup(terminal_stream(self._reporter).fileno())
        self._thread = threading.Thread(target=self._run, name="rageval-progress", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop and release the copied file descriptor."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
            os.close(self._fd)

    def pytest_enter_pdb(self) -> None:
        """Leave the terminal to a debugger."""
        self._paused = True

    def pytest_leave_pdb(self) -> None:
        """Continue after a debugger."""
        self._paused = False

    def _run(self) -> None:
        for pause_s in self._pauses():
            if self._stopped.wait(pause_s):
                return
            progress = None if self._paused else self._source()
            if progress is not None:
                with suppress(OSError):  # the reader has gone
                    self._show(progress)

    @abstractmethod
    def _pauses(self) -> Iterator[float]:
        """Yield the seconds before each showing."""

    @abstractmethod
    def _show(self, progress: Progress) -> None: ...


class LogLines(_Display):
    """Lines of their own, often at first and then rarer."""

    def _pauses(self) -> Iterator[float]:
        return log_pauses()

    def _show(self, progress: Progress) -> None:
        text = "".join(part for part, _ in progress_line(progress))
        # Letters go on below it. A line of ``-v`` is begun again, with the name of its test.
        end = "\n" if forget_current_line(self._reporter) else ""
        os.write(self._fd, f"{end}rageval: {text}\n".encode("ascii", "replace"))
        if self._reporter.showlongtestinfo:
            self._reporter.currentfspath = None


_INTERVAL_S: Final = 0.2
# All movements are relative to the cursor, and nothing is switched on that would have to be
# switched off: a session that is killed leaves at most the text of the line behind.
_MAKE_ROOM: Final = "\x1bD\x1b[A"  # scrolls if the cursor is in the last row of the screen
_BELOW: Final = "\x1b7\x1b[B\r"
_BACK: Final = "\x1b[J\x1b8"
_COLOUR: Final = re.compile(r"\x1b\[[\d;]*m")
_SEQUENCE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)")


class LiveLine(_Display):
    """One line, redrawn below the line that pytest writes.

    It goes away before anything is written that could reach it, and is drawn again after that.
    """

    def __init__(self, reporter: pytest.TerminalReporter, source: Source) -> None:
        super().__init__(reporter, source)
        # A signal handler may print while its thread holds the lock.
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._streams: dict[Any, Any] = {}
        self._column = 0
        self._width = 0
        self._text = ""
        self._drawn = False

    def start(self) -> None:
        """Watch the streams of the terminal, and start the thread."""
        self._column = terminal_writer(self._reporter).width_of_current_line
        streams: set[Any] = {terminal_stream(self._reporter), sys.stdout, sys.stderr}
        for stream in streams:
            if stream.isatty() and hasattr(stream, "__dict__"):
                self._streams[stream] = vars(stream).get("write")
                stream.write = partial(self._write, stream, stream.write)
        super().start()

    def stop(self) -> None:
        """Remove the line, and stop."""
        try:
            with self._lock, suppress(OSError):
                self._stopped.set()
                self._clear()
        finally:
            for stream, before in self._streams.items():
                if before is None:
                    del stream.write
                else:
                    stream.write = before
            self._streams.clear()
            super().stop()

    def pytest_enter_pdb(self) -> None:
        """Remove the line while a debugger runs."""
        with self._lock:
            super().pytest_enter_pdb()
            self._clear()

    def _pauses(self) -> Iterator[float]:
        return repeat(_INTERVAL_S)

    def _show(self, progress: Progress) -> None:
        size = os.get_terminal_size(self._fd)
        writer = terminal_writer(self._reporter)
        width = size.columns or writer.fullwidth
        line = progress_line(progress, width - 1)
        with self._lock:
            self._width = width
            self._text = "".join(writer.markup(text, **_MARKUP[style]) for text, style in line)
            self._draw()

    def _write(self, stream: Any, write: Callable[[str], int], text: str) -> int:
        """Write a text of pytest or of a test function to a stream of the terminal."""
        if os.getpid() != self._process or self._stopped.is_set():
            return write(text)
        with self._lock:
            shown = _COLOUR.sub("", text)
            self._column, before = _column_after(self._column, shown), self._column
            if shown.isprintable() and before < self._column < self._width:
                return write(text)  # it ends before the end of its row
            with suppress(OSError):
                self._clear()
            written = write(text)
            stream.flush()
            with suppress(OSError):
                self._draw()
            return written

    def _draw(self) -> None:
        # After a character in the last column, a terminal waits with the cursor on it for the next
        # one, and forgets that when the cursor moves.
        row_is_full = self._column > 0 and self._width > 0 and self._column % self._width == 0
        if self._text and not (row_is_full or self._paused or self._stopped.is_set()):
            self._drawn = True
            _write_all(self._fd, _MAKE_ROOM + _BELOW + self._text + _BACK)

    def _clear(self) -> None:
        if self._drawn:
            # The window may have lost its last row meanwhile.
            _write_all(self._fd, _MAKE_ROOM + _BELOW + _BACK)
            self._drawn = False


def _write_all(fd: int, text: str) -> None:
    rest = text.encode("ascii", "replace")
    while rest:
        rest = rest[os.write(fd, rest) :]


def _column_after(column: int, text: str) -> int:
    """Return the column of the cursor, from 0, after a text; rows that are full count on."""
    _, line_break, rest = _SEQUENCE.sub("", text).expandtabs().rpartition("\n")
    _, carriage_return, rest = rest.rpartition("\r")
    return (0 if line_break or carriage_return else column) + columns_of(rest)
