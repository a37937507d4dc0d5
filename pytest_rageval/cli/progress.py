"""Progress of a command that asks, on stderr: a live line on a terminal, else lines of a log."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from pytest_rageval.support.closing import Closing
from pytest_rageval.support.terminal import is_steerable, log_pauses
from pytest_rageval.support.text import clean

if TYPE_CHECKING:
    from rich.progress import Progress, Task
    from rich.text import Text

Source = Callable[[], str | None]
"""Function that describes the progress, on any thread; None: nothing to show."""


class ProgressOnStderr(Closing):
    """Shows a line that is computed anew, until it is closed; usable as a context manager."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._log, name="rageval-progress", daemon=True)
        self._live: Progress | None = None
        with suppress(OSError, ValueError):  # not a real file
            if is_steerable(sys.stderr.fileno()):
                self._live = _live(source)
        (self._live or self._thread).start()

    def close(self) -> None:
        """Remove the live line, and stop."""
        self._stopped.set()
        if self._live is None:
            self._thread.join()
        else:
            self._live.stop()

    def say(self, text: str) -> None:
        """Write lines that stay."""
        for line in map(clean, text.splitlines()):
            if self._live is None:
                _write(line)
            else:
                self._live.console.print(line)

    def _log(self) -> None:
        for pause_s in log_pauses():
            if self._stopped.wait(pause_s):
                return
            if (text := self._source()) is not None:
                _write(f"rageval: {text}")


def _write(line: str) -> None:
    with suppress(OSError):  # the reader has gone
        click.echo(line, err=True)


def _live(source: Source) -> Progress:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn, SpinnerColumn, TimeElapsedColumn
    from rich.table import Column
    from rich.text import Text

    class Counts(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(clean(source() or ""))

    shown = Progress(
        SpinnerColumn("line"),
        TimeElapsedColumn(),
        Counts(Column(no_wrap=True, overflow="crop")),
        console=Console(stderr=True, markup=False, emoji=False, highlight=False, soft_wrap=True),
        refresh_per_second=5,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    shown.add_task("", total=None)
    return shown
