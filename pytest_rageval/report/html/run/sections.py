"""Sections of a project on the page; every text in them is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_rageval.report.html.markup import Element, element
from pytest_rageval.report.html.run.charts import value_bars
from pytest_rageval.support.text import format_value
from pytest_rageval.values.section import Cell, ShownSection


def view_sections(sections: Iterable[ShownSection]) -> tuple[Element, ...]:
    """Return the markup of stored sections."""
    return tuple(
        element("section", element("h2", one.title), _content(place, one))
        for place, one in enumerate(sections)
    )


def _content(place: int, one: ShownSection) -> Element:
    if one.error:
        return element("p", f"This section could not be made: {one.error}", class_="legend")
    if one.bars:
        bars = [(str(name), float(number or 0)) for name, number in one.rows]
        return value_bars(f"own{place}", one.title, bars, one.unit)
    head = element("tr", *(element("th", name, scope="col") for name in one.columns))
    table = element(
        "table", element("thead", head), element("tbody", *(_row(row) for row in one.rows))
    )
    return element("div", table, class_="wide", tabindex="0", role="region", aria_label=one.title)


def _row(row: Sequence[Cell]) -> Element:
    cells = (
        element("td", cell_text(value), class_="num" if isinstance(value, int | float) else "text")
        for value in row
    )
    return element("tr", *cells)


def cell_text(value: Cell) -> str:
    """Return a cell of a stored table as text."""
    if value is None:
        return "-"
    return format_value(value) if isinstance(value, float) else str(value)
