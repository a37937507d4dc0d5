"""Blocks that a result is shown as: plain values, the same for each face.

A view decides what is shown and in which order; a face only how it looks. A status repeats what the
words say, so that nothing is lost without colour.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pytest_rageval.support.text import Unit, clean, format_value

Status = Literal["", "good", "bad", "warn", "strong", "weak"]

Line = tuple[tuple[str, Status], ...]
"""Segments of one line, left to right; a terminal cuts it at its width."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a table, where a plain text or number does not say enough."""

    value: str | float | None
    """None: there is none."""
    unit: Unit = "score"
    """Of a number."""
    status: Status = ""
    public: str | None = None
    """Text for faces that leave this machine, if the value quotes a case or a document; None: it
    does not."""

    def text(self, *, public: bool = False) -> str:
        """Return the value as it is shown; ``-`` where there is none."""
        if public and self.public is not None:
            return self.public
        if isinstance(self.value, str):
            return self.value
        return format_value(self.value, self.unit)


CellValue = str | int | float | Line | Cell | None
"""Text, count, score or nothing (``-``); a segment ``\\n`` of its own begins another line."""

Row = Sequence[CellValue]


@dataclass(frozen=True, slots=True)
class Note:
    """Text that wraps beside the head of its first line."""

    head: Line
    text: Line


@dataclass(frozen=True, slots=True)
class Table:
    """Table, with notes of its whole width between rows."""

    columns: Sequence[str]
    """Headings, all empty for none; a ``>`` before one aligns its column at the right."""
    rows: Sequence[Row | Note]
    optional: Sequence[str] = ()
    """Headings of columns that a narrow terminal has no room for, the least important first."""
    wrap: bool = True
    """Whether a text that is too long is continued below; otherwise it is cut."""
    more: Sequence[Row] = ()
    """Rows that are folded, or shown on request only."""


@dataclass(frozen=True, slots=True)
class Command:
    """Command that can be copied, on lines that end between its words."""

    head: str
    command: str
    reason: str = ""
    """Left out where it does not fit beside the command."""


Block = str | Line | Note | Table | Command
"""Part of a view; a string is a line that is never cut, such as a path."""


@dataclass(frozen=True, slots=True)
class View:
    """A result as it is shown."""

    title: Line
    """The most important sentence."""
    blocks: Sequence[Block]


HEAD: Final = 9
"""Columns of the word that begins a note."""


def labelled(head: str, text: str, head_status: Status = "strong", status: Status = "") -> Note:
    """Return a text on one line, or as many as it takes, with a word before it."""
    return Note(((f"{head:<{HEAD}}", head_status),), ((clean(text), status),))


def labelled_lines(head: str, text: str) -> Iterator[Note]:
    """Yield a note for each line of a text."""
    for line in text.splitlines() or [""]:
        yield labelled(head, line)
        head = ""


def paragraph(text: str, status: Status = "") -> Note:
    """Return a text over the whole width."""
    return Note((), ((text, status),))


def indented(text: str, columns: int = HEAD) -> Line:
    """Return a line of code or output with its own indentation."""
    return ((" " * columns + text, ""),)
