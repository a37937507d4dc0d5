"""A terminal of a fixed size, and what is left on it of all that was sent."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TextIO

import pytest

fcntl: Any = pytest.importorskip("fcntl", reason="needs pseudo terminals")
termios: Any = pytest.importorskip("termios", reason="needs pseudo terminals")

WAIT_S = 120.0
_TOKEN = re.compile(r"\x1b(?:\[([\d;]*)([A-Za-z])|([78D]))|\r|\n|[^\x00-\x1f\x7f]", re.DOTALL)


class Screen:
    """Rows of characters, of which those that scroll off the top are kept too.

    Like a real terminal it waits in the last column after a character there, and wraps before the
    next one unless the cursor has moved. An unknown sequence is an error.
    """

    def __init__(self, columns: int, rows: int) -> None:
        self.columns = columns
        self.rows = [""] * rows
        self.history: list[str] = []
        self.row = self.column = 0
        self._saved = (0, 0)
        self._rest = ""

    def feed(self, text: str) -> None:
        """Take what was sent, which may end within a sequence."""
        text = self._rest + text
        place = 0
        while place < len(text):
            found = _TOKEN.match(text, place)
            if found is None:
                assert text[place] == "\x1b", ascii(text[place : place + 20])
                assert len(text) - place < 20, ascii(text[place : place + 20])
                break
            self._take(found)
            place = found.end()
        self._rest = text[place:]

    def text(self) -> str:
        """Return all that was written and is left, from the beginning."""
        return "\n".join(row.rstrip() for row in [*self.history, *self.rows]).rstrip()

    def shown(self) -> list[str]:
        """Return the rows on the screen, without those that are empty."""
        return [row.rstrip() for row in self.rows if row.strip()]

    def lose_rows(self, count: int) -> None:
        """Make the window lower: rows below the cursor go first, then those at the top."""
        for _ in range(count):
            if self.row < len(self.rows) - 1:
                self.rows.pop()
            else:
                self.history.append(self.rows.pop(0))
                self.row -= 1

    def _take(self, found: re.Match[str]) -> None:
        parameters, final, short = found.groups()
        if found[0] == "\r":
            self.column = 0
        elif found[0] == "\n" or short == "D":
            self._down()
        elif short == "7":
            self._saved = self.row, self.column
        elif short == "8":
            self.row, self.column = self._saved
        elif final is None:
            self._put(found[0])
        elif final == "A":
            self.row, self.column = max(self.row - 1, 0), min(self.column, self.columns - 1)
        elif final == "B":
            self.row = min(self.row + 1, len(self.rows) - 1)
            self.column = min(self.column, self.columns - 1)
        elif final == "J":
            assert parameters == ""
            self.rows[self.row] = self.rows[self.row][: self.column]
            self.rows[self.row + 1 :] = [""] * (len(self.rows) - self.row - 1)
        else:
            assert final == "m", ascii(found[0])

    def _down(self) -> None:
        if self.row == len(self.rows) - 1:
            self.history.append(self.rows.pop(0))
            self.rows.append("")
        else:
            self.row += 1

    def _put(self, character: str) -> None:
        if self.column == self.columns:
            self._down()
            self.column = 0
        row = self.rows[self.row].ljust(self.column)
        self.rows[self.row] = row[: self.column] + character + row[self.column + 1 :]
        self.column += 1


class Terminal:
    """A real terminal of the system, and what it shows."""

    def __init__(self, columns: int, rows: int) -> None:
        self._reading, self.number = os.openpty()
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self.number, termios.TIOCSWINSZ, size)
        self.screen = Screen(columns, rows)
        self._sent: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        # A terminal that is not read from blocks its writers.
        self._thread = threading.Thread(target=self._receive, daemon=True)
        self._thread.start()

    def _receive(self) -> None:
        with contextlib.suppress(OSError):  # the other end is closed
            while sent := os.read(self._reading, 65536):
                self._sent.put(sent)

    def wait_for(self, true: Callable[[Screen], bool]) -> None:
        end = time.monotonic() + WAIT_S
        while not true(self.screen):
            assert time.monotonic() < end, self.screen.text()
            with contextlib.suppress(queue.Empty):
                self.screen.feed(self._sent.get(timeout=0.1).decode())

    def show(self) -> None:
        """Show all that was received."""
        while not self._sent.empty():
            self.screen.feed(self._sent.get().decode())

    def close(self) -> None:
        """Show all that was sent before the other end was closed."""
        self._thread.join(WAIT_S)
        os.close(self._reading)
        self.show()


@contextlib.contextmanager
def opened(terminal: Terminal) -> Iterator[TextIO]:
    with open(terminal.number, "w", encoding="utf-8") as file:
        yield file
    terminal.close()
