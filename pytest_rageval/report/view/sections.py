"""Sections of a project, as tables below their titles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from pytest_rageval.report.view.blocks import Block, Group, Table, paragraph
from pytest_rageval.values.section import ShownSection

_ROWS: Final = 30


def section_groups(sections: Iterable[ShownSection]) -> Iterator[Group]:
    """Yield stored sections, long ones folded."""
    for one in sections:
        yield Group(one.title, [*_blocks(one)])


def _blocks(one: ShownSection) -> Iterator[Block]:
    if one.error:
        yield paragraph(f"This section could not be made: {one.error}")
        return
    yield Table(one.columns, one.rows[:_ROWS], more=one.rows[_ROWS:])
