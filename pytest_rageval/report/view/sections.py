"""Sections of a project's own code, as tables below their titles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from pytest_rageval.report.view.blocks import Block, Group, Row, Scale, Table, paragraph
from pytest_rageval.support.text import format_value
from pytest_rageval.values.own_code import Cell, ShownSection

_ROWS: Final = 30


def section_groups(sections: Iterable[ShownSection]) -> Iterator[Group]:
    """Yield stored sections; most rows of a long table are folded."""
    for one in sections:
        yield Group(one.title, [*_blocks(one)])


def _blocks(one: ShownSection) -> Iterator[Block]:
    if one.error:
        yield paragraph(f"This section could not be made: {one.error}")
        return
    columns, rows = one.columns, one.rows
    number = [any(_is_number(row[at]) for row in rows) for at in range(len(columns))]
    head = [f">{name}" if of else name for name, of in zip(columns, number, strict=True)]
    shown: list[Row] = [tuple(map(_text, row)) for row in rows]
    if one.bars:
        values = [float(value or 0) for _, value in rows]
        longest = max(values, default=0.0) or 1.0
        head = ["name", ">value", "bar"]
        shown = [
            (str(name), f"{format_value(value)} {one.unit}".strip(), Scale(value=value / longest))
            for (name, _), value in zip(rows, values, strict=True)
        ]
    yield Table(head, shown[:_ROWS], more=shown[_ROWS:])


def _is_number(value: Cell) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: Cell) -> str:
    return format_value(value) if value is None or isinstance(value, float) else str(value)
