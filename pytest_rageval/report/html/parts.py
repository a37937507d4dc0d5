"""Views as markup: blocks in, elements out, by the macros that every page uses.

Every text is escaped, and no element has a style or a handler of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType
from typing import Any, Final

from pytest_rageval.report.html.charts import scale_bar
from pytest_rageval.report.html.markup import Element
from pytest_rageval.report.view.blocks import (
    Block,
    Cell,
    Cells,
    CellValue,
    Code,
    Command,
    Fact,
    Group,
    Note,
    Row,
    Scale,
    Status,
    Table,
    View,
    cell_text,
    plain,
)

Links = Mapping[str, str]
"""Address by name of a case or a run that a page leads to."""
NO_LINKS: Final[Links] = MappingProxyType({})


_ATTRIBUTES: Final = re.compile(r"<([a-z]+) [^>]*>|<wbr>")


def render(view: View) -> Element:
    """Return a view below its title for a notebook: elements without any attribute."""
    # A text or an attribute has no < or > that is not escaped.
    html = draw([Note(view.title, ()), *view.blocks])
    return Element(_ATTRIBUTES.sub(lambda m: f"<{m[1]}>" if m[1] else "", html))


def draw(blocks: Iterable[Block], links: Links = NO_LINKS) -> Element:
    """Return blocks as elements; texts in cells that are names of ``links`` lead to them."""
    # Imported here, since jinja2 is slow to import.
    from pytest_rageval.report.html.templating import page_environment

    macros: Any = page_environment().get_template("parts.html.j2").module
    return Element(macros.blocks([*parts(blocks, links)]))


# --- blocks as the macros take them --------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One block, or several facts."""

    kind: str
    """Name of the macro."""
    title: str = ""
    text: str = ""
    status: Status = ""
    rows: Sequence[Any] = ()
    """Facts, rows of a table or parts of a group."""
    more: Sequence[Any] = ()
    """Folded rows of a table."""
    columns: Sequence[tuple[str, bool]] = ()
    """Name, and whether its values are aligned at the right."""
    folded: bool = False


_Notes = Sequence[Sequence[tuple[str, str, Status]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellPiece:
    """One value of a cell."""

    text: str
    status: Status = ""
    notes: _Notes = ()
    """Lines of small print: parts, each with its address and its status."""
    link: str = ""
    tone: str = ""
    drawn: Element | None = None


def parts(
    blocks: Iterable[Block], links: Links = NO_LINKS, title: str = "", *, public: bool = False
) -> Iterator[Part]:
    """Yield blocks as the macros take them; facts that follow each other are one list.

    Args:
        blocks: of a view.
        links: address by a text of a cell that leads somewhere.
        title: of tables that have none.
        public: leave out what quotes a case or a document.
    """
    for is_fact, found in groupby(blocks, key=lambda block: isinstance(block, Fact)):
        if is_fact:
            rows = [
                (one.name, [*linked(one.text, links)], one.status)
                for one in found
                if isinstance(one, Fact) and one.text
            ]
            yield Part(kind="facts", rows=rows)
            continue
        for block in found:
            yield _part(block, links, title, public)


_BETWEEN: Final = re.compile(r"(\brank [0-9]+|[\s,;:]+)")


def linked(text: str, links: Links = NO_LINKS) -> Iterator[tuple[str, str]]:
    """Yield the parts of a text, each with its address; empty: it leads nowhere."""
    if not links:
        yield text, ""
        return
    for is_link, found in groupby(_BETWEEN.split(text), key=lambda word: word in links):
        if is_link:
            yield from ((word, links[word]) for word in found)
        else:
            yield "".join(found), ""


def _part(block: Block, links: Links, title: str, public: bool) -> Part:
    match block:
        case Table():
            columns = [(name.removeprefix(">"), name.startswith(">")) for name in block.columns]
            rows, more = (
                [cells_of(row, links, public) for row in given]
                for given in (block.rows, block.more)
            )
            name = ": ".join([*filter(None, (title, *(name for name, _ in columns)))][:2])
            return Part(kind="table", title=name, columns=columns, rows=rows, more=more)
        case Command():
            return Part(kind="command", title=block.head, text=block.command)
        case Group():
            inside = [*parts(block.blocks, links, block.title, public=public)]
            return Part(kind="group", title=block.title, rows=inside, folded=block.folded)
        case Code():
            return Part(kind="code", text=block.text)
        case Note():
            line = (*block.head, *block.text)
        case tuple():
            line = block
        case _:
            line = ((str(block), ""),)
    statuses: list[Status] = [status for _, status in line if status]
    return Part(kind="note", text=plain(line), status=statuses[0] if statuses else "")


def _notes(line: Iterable[tuple[str, Status]], links: Links = NO_LINKS) -> _Notes:
    """Return the lines of a small print, each as parts with their addresses."""
    lines: list[list[tuple[str, str, Status]]] = [[]]
    for text, status in line:
        if text == "\n":
            lines.append([])
        else:
            lines[-1] += [(part, link, status) for part, link in linked(text, links) if part]
    return [one for one in lines if one]


def cells_of(
    row: Row | Note, links: Links = NO_LINKS, public: bool = False
) -> list[list[CellPiece]]:
    """Return the cells of a row as the macros take them."""
    if isinstance(row, Note):
        return [[CellPiece(text=plain(row))]]
    return [[*_pieces(value, links, public)] or [CellPiece(text="")] for value in row]


def _pieces(value: CellValue, links: Links, public: bool) -> Iterator[CellPiece]:
    match value:
        case Cells():
            for one in value.parts:
                yield from _pieces(one, links, public)
        case Scale():
            yield CellPiece(text="", drawn=scale_bar(value))
        case Cell():
            text = cell_text(value, public=public)
            yield CellPiece(
                text=text,
                status=value.status,
                notes=_notes(((value.note, ""),) if isinstance(value.note, str) else value.note),
                link=value.link or links.get(text, ""),
                tone=value.tone,
            )
        case tuple():
            first, *rest = value or (("", ""),)
            yield CellPiece(
                text=first[0].strip(),
                status=first[1],
                notes=_notes(rest, links),
                link=links.get(first[0], ""),
            )
        case _:
            text = cell_text(value).strip()
            yield CellPiece(text=text, link=links.get(text, ""))
