"""Views in a terminal: blocks in, lines of text out, by rich.

rich is imported only when something is drawn. Every text is made harmless to a terminal here; rich
reads no markup, no emoji codes and no numbers in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pytest_rageval.report.view.blocks import (
    HEAD,
    Block,
    Cell,
    CellValue,
    Code,
    Command,
    Fact,
    Group,
    Line,
    Note,
    Status,
    Table,
    View,
    cell_text,
    indented,
    paragraph,
)
from pytest_rageval.support.text import clean, clean_lines, counted

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod, RenderableType
    from rich.text import Text

COLOURS: Final[Mapping[Status, str]] = {
    "good": "green",
    "bad": "red",
    "warn": "yellow",
    "strong": "bold",
    "weak": "dim",
}
"""Styles of rich for each status; those of a colour have the same name in pytest."""


def show(view: View, *, verbose: bool = False) -> Iterator[Block]:
    """Yield the blocks of a view, its title first.

    Args:
        view: to be shown.
        verbose: also show what is folded elsewhere, and texts of any length.
    """
    word, *rest = view.title
    yield Note((word,), tuple(rest))
    yield from _unfolded(view.blocks, verbose=verbose)


def _unfolded(blocks: Iterable[Block], *, verbose: bool) -> Iterator[Block]:
    for block in blocks:
        if isinstance(block, Table) and (block.more or verbose):
            more = block.more if verbose else ()
            yield replace(block, rows=(*block.rows, *more), wrap=block.wrap or verbose)
            if not verbose:
                yield paragraph(f"  and {counted(len(block.more), 'more row')} (-v)", "weak")
        elif not isinstance(block, Group):
            yield replace(block, lines=0) if verbose and isinstance(block, Fact) else block
        elif verbose or not block.folded:
            yield from [()] if block.folded else []
            yield replace(block, blocks=[*_unfolded(block.blocks, verbose=verbose)])


def draw(blocks: Iterable[Block], *, width: int = 80, colour: bool = False) -> Iterator[str]:
    """Yield the lines of blocks.

    Args:
        blocks: of a report.
        width: columns of the terminal.
        colour: whether to put the sequences of a terminal around styled text.
    """
    console = None
    for block in blocks:
        if isinstance(block, str):
            yield clean_lines(block)
        elif isinstance(block, Group):
            inside = (((block.title, "strong"),), *block.blocks)
            yield from draw(inside, width=width, colour=colour)
        elif isinstance(block, Code):
            lines = [indented(line) for line in block.text.splitlines()]
            yield from draw(lines, width=width, colour=colour)
        elif isinstance(block, Command):
            yield from draw(_command_lines(block, width), width=width, colour=colour)
        else:
            console = console or _console(width, colour=colour)
            for renderable in _renderables(block, width):
                with console.capture() as captured:
                    console.print(renderable)
                for line in captured.get().removesuffix("\n").split("\n"):
                    yield line.rstrip()


def _console(width: int, *, colour: bool) -> Console:
    from rich.console import Console

    return Console(
        width=width,
        height=100,  # of no consequence, but else looked up for each block
        color_system="standard" if colour else None,
        force_terminal=colour,
        force_jupyter=False,
        no_color=not colour,
        legacy_windows=False,
        _environ={},
    )


def columns_of(text: str) -> int:
    """Return the number of columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def cut_columns(text: str, width: int, end: str = "..") -> str:
    """Cut a text that is wider than some columns of a terminal, and mark its end.

    >>> cut_columns("a long answer", 8), cut_columns("\u65e5\u672c\u8a9e", 5)
    ('a long..', '\u65e5..')
    """
    from rich.cells import set_cell_size

    if columns_of(text) <= width:
        return text
    return set_cell_size(text, max(width - len(end), 0)).rstrip() + end[: max(width, 0)]


def wrap(text: str, width: int) -> list[str]:
    """Break a text into lines of at most some columns of a terminal."""
    return [*draw([paragraph(text)], width=width)]


def _text(cell: CellValue) -> Text:
    from rich.text import Text

    line: Line
    if isinstance(cell, tuple):
        line = cell
    else:
        line = ((cell_text(cell), cell.status if isinstance(cell, Cell) else ""),)
    return Text.assemble(
        *(
            (
                part if part == "\n" else " ".join(clean_lines(part).splitlines()),
                COLOURS.get(status, ""),
            )
            for part, status in line
        ),
        overflow="fold",
    )


def _one_line(part: str) -> str:
    return part if part == "\n" else " ".join(clean_lines(part).splitlines())


def _cut(text: Text, width: int) -> Text:
    if text.cell_len > width:
        text.truncate(max(width - 2, 0), overflow="crop")
        text.append("..")
    return text


def _renderables(block: Line | Fact | Note | Table, width: int) -> Iterator[RenderableType]:
    if isinstance(block, Fact):
        name: Line = ((f"{block.name:<{HEAD}}", block.name_status),)
        text = clean(block.text)
        if block.lines:
            text = _first_lines(text, block.lines, max(width - HEAD, 1))
        block = Note(name, ((text, block.status),))
    if isinstance(block, Note):
        head = _text(block.head)
        yield _row([head, _text(block.text)], [head.cell_len, max(width - head.cell_len, 1)])
    elif not isinstance(block, Table):
        yield _cut(_text(block), width)
    elif block.rows:
        yield from _table(block, width)


def _first_lines(text: str, most: int, width: int) -> str:
    """Return what fits some lines, with a mark where the rest is missing."""
    lines = wrap(text[: (most + 1) * width], width)  # the rest would cost time
    if len(lines) <= most:
        return text
    end = " .."
    return " ".join([*lines[: most - 1], cut_columns(lines[most - 1], width - len(end), "") + end])


def _row(
    cells: Sequence[Text], widths: Sequence[int], gap: int = 0, right: Sequence[int] = ()
) -> RenderableType:
    """Return texts side by side, each in a column of its width; one of width 0 is left out."""
    from rich.table import Table

    grid = Table.grid(padding=(0, gap, 0, 0))
    shown = [number for number, width in enumerate(widths) if width]
    for number in shown:
        justify: JustifyMethod = "right" if number in right else "left"
        grid.add_column(width=widths[number], overflow="fold", justify=justify)
    grid.add_row(*(cells[number] for number in shown))
    return grid


_NARROW: Final = 24
_NARROWEST: Final = 8
"""Columns that the widest column of texts keeps, before others are left out and after that."""


def _table(block: Table, width: int) -> Iterator[RenderableType]:
    names = [name.removeprefix(">") for name in block.columns]
    right = [number for number, name in enumerate(block.columns) if name.startswith(">")]
    rows = [row if isinstance(row, Note) else [*map(_text, row)] for row in block.rows]
    if any(names):
        rows.insert(0, [_text(((name, "weak"),)) for name in names])
    cells = [row for row in rows if isinstance(row, list)]
    widths = [w * (n not in block.wide) for w, n in zip(_natural_widths(cells), names, strict=True)]
    left = [number for number in range(len(names)) if number not in right]
    widest = max(left, key=widths.__getitem__)

    def spare(gap: int) -> int:
        return width - sum(widths) - gap * (sum(map(bool, widths)) - 1)

    gap = 1 if block.optional and spare(2) < 0 else 2
    natural = widths[widest]
    widths[widest] = min(natural, max(natural + spare(gap), _NARROW))
    for name in block.optional:
        if spare(gap) < 0:
            widths[names.index(name)] = 0
    widths[widest] = min(natural, widths[widest] + max(spare(gap), 0))
    while spare(gap) < 0 and widths[widest] > _NARROWEST:
        widths[widest] -= 1
        widest = max(left, key=widths.__getitem__)
    for texts in () if block.wrap else cells:
        for number in left:
            _cut(texts[number], widths[number])
    for row in rows:
        if isinstance(row, Note):
            yield from _renderables(row, width)
        else:
            yield _row(row, widths, gap, right)


def _natural_widths(rows: Sequence[Sequence[Text]]) -> list[int]:
    return [
        max(columns_of(part) for text in column for part in text.plain.split("\n"))
        for column in zip(*rows, strict=True)
    ]


_WORD: Final = re.compile(r"""(?:'[^']*'|"[^"]*"|\S)+""")


def _command_lines(block: Command, width: int) -> Iterator[Line]:
    command, head = clean(block.command), block.head
    reasoned = f"{command}   ({block.reason})" if block.reason else command
    if columns_of(reasoned) + HEAD <= width:
        command, words = "", [reasoned]
    else:
        words = _WORD.findall(command)
    part = words.pop(0)
    for word in words:
        if columns_of(f"{part} {word}") + HEAD + 2 > width:
            yield ((f"{head:<{HEAD}}", "strong"), (f"{part} \\", ""))
            head, part = "", word
        else:
            part = f"{part} {word}"
    yield ((f"{head:<{HEAD}}", "strong"), (part, ""))
