"""Sections of a project in ``summary.md``; every text in them is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pytest_rageval.report.faces.markdown import escape
from pytest_rageval.support.text import format_value
from pytest_rageval.values.json_documents import items, text

_ROWS: Final = 30


def render_sections(sections: Iterable[Mapping[str, Any]]) -> str:
    """Render stored sections as tables, long ones cut; empty: there are none."""
    lines = [line for one in sections for line in _lines(one)]
    return "\n".join([*lines, ""]) if lines else ""


def _lines(one: Mapping[str, Any]) -> Iterator[str]:
    yield from ("", f"### {escape(text(one, 'title'))}", "")
    if error := text(one, "error"):
        yield f"This section could not be made: {escape(error)}"
        return
    unit = text(one, "unit")
    columns = items(one, "columns") or ["", unit or "value"]
    rows = [row for row in items(one, "rows") or items(one, "bars") if isinstance(row, list)]
    yield _row(columns)
    yield "|" + "---|" * len(columns)
    yield from (_row(row) for row in rows[:_ROWS])
    if len(rows) > _ROWS:
        yield from ("", f"And {len(rows) - _ROWS} more.")


def _row(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return format_value(value) if isinstance(value, float) else escape(str(value))
