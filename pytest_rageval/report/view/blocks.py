"""Blocks that a result is shown as: plain values, the same for each face.

A view decides what is shown and in which order; a face only how it looks. A status repeats what the
words say, so that nothing is lost without colour.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pytest_rageval.support.text import Unit, format_value

Status = Literal["", "good", "bad", "warn", "strong", "weak"]
GOOD: Final[Mapping[bool, Status]] = {True: "good", False: "warn"}
BAD: Final[Mapping[bool, Status]] = {True: "bad", False: ""}

Line = tuple[tuple[str, Status], ...]
"""Segments of one line, left to right; a terminal cuts it at its width."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a table, where a plain text or number does not say enough."""

    value: str | float | None
    """None if absent."""
    unit: Unit = "score"
    """Of a number."""
    status: Status = ""
    public: str | None = None
    """Text for faces that leave this machine, if the value quotes a case or a document; None: it
    does not."""
    note: str | Line = ""
    """Small print below it, on a page; a segment ``\\n`` of its own begins another line."""
    link: str = ""
    """Address that it leads to, on a page."""
    tone: str = ""
    """Class of its colour, on a page: ``h0`` (worst) to ``h6`` (best), ``hn`` for neither."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Several values of one place."""

    parts: Sequence[Cell]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A value on its scale, which a page draws; every place is a share of the scale."""

    value: float
    start: float = 0.0
    """Other end of the bar."""
    interval: tuple[float, float] | None = None
    limits: Sequence[float] = ()
    base: float | None = None
    """Value of the baseline."""
    failed: bool = False


CellValue = str | int | float | Line | Cell | Cells | Scale | None
"""Text, count, score, nothing (``-``) or a picture; a segment ``\\n`` of its own begins another
line."""

Row = Sequence[CellValue]


@dataclass(frozen=True, slots=True)
class Fact:
    """Text of any length with its name."""

    name: str
    """Empty: it continues the fact above."""
    text: str
    name_status: Status = "strong"
    status: Status = ""
    """Of the text."""
    lines: int = 0
    """Most lines that a terminal gives to it unless everything is asked for; 0: all it needs."""


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
    wide: Sequence[str] = ()
    """Headings of columns that no terminal has room for."""
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


@dataclass(frozen=True, slots=True)
class Code:
    """Lines that keep their indentation."""

    text: str


@dataclass(frozen=True, slots=True)
class Group:
    """Blocks below a title."""

    title: str
    blocks: Sequence[Block]
    folded: bool = False
    """Whether they are folded, or shown on request only."""


Block = str | Line | Fact | Note | Table | Command | Code | Group
"""Part of a view; a string is a line that is never cut, such as a path."""


@dataclass(frozen=True, slots=True)
class View:
    """A result as it is shown."""

    title: Line
    """The most important sentence."""
    blocks: Sequence[Block]


def plain(block: str | Line | Note | Code) -> str:
    """Return the text of a block without its statuses."""
    if isinstance(block, str | Code):
        return block if isinstance(block, str) else block.text
    line = (*block.head, *block.text) if isinstance(block, Note) else block
    return "".join("; " if part == "\n" else part for part, _ in line)


def cell_text(cell: CellValue, *, public: bool = False) -> str:
    """Return the text of a cell; ``-`` where it has no value.

    Args:
        cell: of a row.
        public: leave out what quotes a case or a document.
    """
    match cell:
        case Cell(public=str(text)) if public:
            return text
        case Cell():
            return (
                cell.value if isinstance(cell.value, str) else format_value(cell.value, cell.unit)
            )
        case Cells():
            return ", ".join([cell_text(one, public=public) for one in cell.parts])
        case Scale():
            return ""
        case tuple():
            return plain(cell)
        case str() | int():
            return str(cell)
        case _:
            return format_value(cell)


HEAD: Final = 9
"""Columns of the name of a fact."""


def labelled_lines(head: str, text: str) -> Iterator[Fact]:
    """Yield a fact for each line of a text."""
    for line in text.splitlines() or [""]:
        yield Fact(head, line)
        head = ""


def paragraph(text: str, status: Status = "") -> Note:
    """Return a text over the whole width."""
    return Note((), ((text, status),))


def indented(text: str, columns: int = HEAD) -> Line:
    """Return a line of code or output with its own indentation."""
    return ((" " * columns + text, ""),)
