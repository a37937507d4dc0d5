"""Sections of a project on the page; every text in them is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_rageval.report.html.markup import Element, element
from pytest_rageval.report.html.run.charts import value_bars
from pytest_rageval.support.text import format_value
from pytest_rageval.values.json_documents import items, number, text


def view_sections(sections: Iterable[Mapping[str, Any]]) -> tuple[Element, ...]:
    """Return the markup of stored sections."""
    return tuple(
        element("section", element("h2", text(one, "title")), *_content(place, one))
        for place, one in enumerate(sections)
    )


def _content(place: int, one: Mapping[str, Any]) -> Iterator[Element]:
    if error := text(one, "error"):
        yield element("p", f"This section could not be made: {error}", class_="legend")
    elif text(one, "kind") == "bars":
        pairs = [pair for pair in items(one, "bars") if isinstance(pair, list) and len(pair) == 2]
        bars = [(str(name), n) for name, value in pairs if (n := number(value)) is not None]
        yield value_bars(f"own{place}", text(one, "title"), bars, text(one, "unit"))
    else:
        head = element(
            "tr", *(element("th", cell_text(c), scope="col") for c in items(one, "columns"))
        )
        body = (_row(row) for row in items(one, "rows") if isinstance(row, list))
        table = element("table", element("thead", head), element("tbody", *body))
        yield element(
            "div", table, class_="wide", tabindex="0", role="region", aria_label=text(one, "title")
        )


def _row(row: Sequence[object]) -> Element:
    cells = (
        element("td", cell_text(value), class_="num" if isinstance(value, int | float) else "text")
        for value in row
    )
    return element("tr", *cells)


def cell_text(value: object) -> str:
    """Return a cell of a stored table as text."""
    if value is None:
        return "-"
    return format_value(value) if isinstance(value, float) else str(value)
