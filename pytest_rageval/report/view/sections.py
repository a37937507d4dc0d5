"""Sections of a project, as tables below their titles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pytest_rageval.report.view.blocks import Block, Group, Table, paragraph
from pytest_rageval.values.json_documents import items, text

_ROWS: Final = 30


def section_groups(sections: Iterable[Mapping[str, Any]]) -> Iterator[Group]:
    """Yield stored sections, long ones folded."""
    for one in sections:
        yield Group(text(one, "title"), [*_blocks(one)])


def _blocks(one: Mapping[str, Any]) -> Iterator[Block]:
    if error := text(one, "error"):
        yield paragraph(f"This section could not be made: {error}")
        return
    columns = items(one, "columns") or ["", text(one, "unit") or "value"]
    rows = [row for row in items(one, "rows") or items(one, "bars") if isinstance(row, list)]
    yield Table(columns, rows[:_ROWS], more=rows[_ROWS:])
