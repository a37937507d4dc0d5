"""Views as Markdown for GitHub: blocks in, text out, in which every text is inert.

It leaves this machine as a comment or an artifact, so that quotes of cases and documents are left
out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from pytest_rageval.report.view.blocks import (
    Block,
    Code,
    Command,
    Fact,
    Group,
    Note,
    Row,
    Scale,
    Table,
    View,
    cell_text,
    plain,
)
from pytest_rageval.support.text import clean, clean_lines, counted

_ROWS: Final = 200
"""Maximum rows of a table: a comment of a pull request has a size limit."""


def render(view: View) -> str:
    """Return a view below a heading of the second level."""
    title = f"## rageval: {escape(plain(view.title))}"
    return "\n".join([title, *lines_of(view.blocks)]) + "\n"


def lines_of(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield the lines of blocks, with an empty one before each; facts are items of lists."""
    in_list = False
    for block in blocks:
        lines = [*_lines(block)]
        is_item = isinstance(block, Fact | Command)
        if lines and not (in_list and is_item):
            yield ""
        if in_list and isinstance(block, Code):
            yield from ("<!-- -->", "")  # within an item, its indentation would be none
        yield from lines
        in_list = is_item


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Table():
            yield from _table(block)
        case Command():
            yield f"- {escape(block.head)}: {code(block.command)}"
        case Fact():
            name = escape(block.name)
            shown = f"**{name}** " if name and block.name_status != "good" else f"{name} "
            yield f"- {shown.lstrip()}{escape(block.text)}"
        case Group(folded=True):
            yield f"<details><summary>{escape(block.title)}</summary>"
            yield from (*lines_of(block.blocks), "", "</details>")
        case Group():
            yield from (f"### {escape(block.title)}", *lines_of(block.blocks))
        case Code():
            # Indented, since a fence of backticks could be closed by the text.
            yield from (f"    {line}" for line in clean_lines(block.text).splitlines())
        case _:
            yield escape(plain(block))


def _table(table: Table) -> Iterator[str]:
    rows = [row for row in table.rows if not isinstance(row, Note)]
    yield from _rows(table.columns, rows[:_ROWS])
    left = max(_ROWS - len(rows), 0)
    if folded := table.more[:left]:
        summary = counted(len(table.more), "more row")
        yield from ("", f"<details><summary>{summary}</summary>", "")
        yield from _rows(table.columns, folded)
        yield from ("", "</details>")
    if hidden := len(rows[_ROWS:]) + len(table.more[left:]):
        yield from ("", f"And {hidden} more.")


def _rows(columns: Sequence[str], rows: Sequence[Row]) -> Iterator[str]:
    if rows:
        kept = [n for n in range(len(columns)) if not any(isinstance(r[n], Scale) for r in rows)]
        columns, rows = [columns[n] for n in kept], [[row[n] for n in kept] for row in rows]
        yield _row([name.removeprefix(">") for name in columns])
        yield f"|{'|'.join('---:' if name.startswith('>') else '---' for name in columns)}|"
        yield from map(_row, rows)


def _row(cells: Row) -> str:
    return f"| {' | '.join(escape(cell_text(one, public=True)) for one in cells)} |"


def code(text: str) -> str:
    """Return text as a span of code; a backtick would end it."""
    return f"`{clean(text).replace('`', chr(39))}`"


def link(text: str, address: str) -> str:
    """Return a line with a link that can be followed; empty: the address is not one of the web."""
    return f"[{escape(text)}](<{address}>)" if _ADDRESS.fullmatch(address) else ""


def escape(text: str) -> str:
    """Escape text for Markdown: no markup, HTML, table cells, links or mentions.

    GitHub looks for names, issues and addresses in the rendered text, where backslashes are gone; a
    zero-width space within them remains.
    """
    return _LINKED.sub(rf"\g<0>{_GAP}", clean(text).translate(_MARKUP))


_ADDRESS: Final = re.compile(r"https?://[!-;=?-\[\]-~]+")
_MARKUP: Final = {ord(character): f"\\{character}" for character in "\\`*_{}[]<>#|!&~$"}
_GAP: Final = "&#8203;"
_LINKED: Final = re.compile(r"@|#(?=\d)|(?i:\bGH-)(?=\d)|:(?=//)|(?i:\bwww)(?=\.)")
"""Prefixes of a name, an issue number or an address."""
