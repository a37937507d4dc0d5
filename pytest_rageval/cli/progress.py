"""Progress of a command that asks, on stderr: a live line on a terminal, else lines of a log."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import repeat
from typing import Final

import click

from pytest_rageval.support.closing import Closing
from pytest_rageval.support.terminal import is_steerable, log_pauses
from pytest_rageval.support.text import clean, cut_columns

_INTERVAL_S: Final = 0.2
_ERASE: Final = "\r\x1b[K"


class ProgressOnStderr(Closing):
    """Shows a line that is computed anew, until it is closed; usable as a context manager.

    Args:
        source: returns the line for a width; called on another thread. None: nothing to show.
    """

    def __init__(self, source: Callable[[int | None], str | None]) -> None:
        self._source = source
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        try:
            self._live = is_steerable(sys.stderr.fileno())
        except (OSError, ValueError):  # not a real file
            self._live = False
        self._thread = threading.Thread(target=self._run, name="rageval-progress", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Remove the live line, and stop."""
        self._stopped.set()
        self._thread.join()
        self._write(_ERASE if self._live else "")

    def say(self, text: str) -> None:
        """Write lines that stay."""
        lines = "\n".join(clean(line) for line in text.splitlines())
        self._write(f"{_ERASE if self._live else ''}{lines}\n")

    def _run(self) -> None:
        for pause_s in repeat(_INTERVAL_S) if self._live else log_pauses():
            if self._stopped.wait(pause_s):
                return
            width = shutil.get_terminal_size().columns - 1 if self._live else None
            text = self._source(width)
            if text is not None:
                text = text if width is None else cut_columns(text, width, end="")
                self._write(f"{_ERASE}{text}" if self._live else f"rageval: {text}\n")

    def _write(self, text: str) -> None:
        with self._lock, suppress(OSError):  # the reader has gone
            click.echo(text, nl=False, err=True)
