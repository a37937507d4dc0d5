"""Views as markup: blocks in, elements out, with every text escaped and no style or script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pytest_rageval.report.html.markup import Element, element
from pytest_rageval.report.view.blocks import (
    Block,
    Code,
    Command,
    Fact,
    Group,
    Note,
    Row,
    Table,
    View,
    cell_text,
    plain,
)
from pytest_rageval.support.text import counted


def render(view: View) -> Element:
    """Return a view below its title."""
    title = element("p", element("b", plain(view.title)))
    return element("div", title, *elements_of(view.blocks))


def elements_of(blocks: Iterable[Block]) -> Iterator[Element]:
    """Yield the elements of blocks."""
    for block in blocks:
        match block:
            case Table():
                yield from _table(block)
            case Command():
                yield element("p", element("b", block.head), f" {block.command}")
            case Fact():
                name = [element("b", block.name), " "] if block.name else []
                yield element("p", *name, block.text)
            case Group():
                title = element("summary" if block.folded else "b", block.title)
                inside = elements_of(block.blocks)
                yield element("details" if block.folded else "div", title, *inside)
            case Code():
                yield element("pre", block.text)
            case _:
                yield element("p", plain(block))


def _table(table: Table) -> Iterator[Element]:
    yield from _rows(table.columns, table.rows)
    if table.more:
        summary = element("summary", counted(len(table.more), "more row"))
        yield element("details", summary, *_rows(table.columns, table.more))


def _rows(columns: Sequence[str], rows: Sequence[Row | Note]) -> Iterator[Element]:
    if rows:
        names = (element("th", name.removeprefix(">")) for name in columns)
        head = element("thead", element("tr", *names))
        yield element("table", head, element("tbody", *map(_row, rows)))


def _row(row: Row | Note) -> Element:
    cells = [plain(row)] if isinstance(row, Note) else map(cell_text, row)
    return element("tr", *(element("td", cell) for cell in cells))
