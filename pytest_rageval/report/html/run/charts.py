"""Bars of a run: a mean on its scale, all cases by one property, and a project's own values.

Widths are percentages, so that one picture fits every window.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_rageval.report.html.markup import Element, element
from pytest_rageval.report.html.run.overview_values import CountRow, MetricView
from pytest_rageval.report.html.svg import NARROW, WIDE, circle, for_both_widths, label, line, rect
from pytest_rageval.support.text import counted, format_value


def mean_bar(row: MetricView) -> Element | None:
    """Draw a mean as a bar with its interval, its limits and the baseline.

    None: the metric has no bounded scale. The numbers stand beside it.
    """
    if row.places is None:
        return None
    low, mean, high = map(_percent, row.places)
    style = "bad" if row.failed else "mark"
    parts = [
        rect("0%", 8, "100%", 6, "track"),
        rect("0%", 8, mean, 6, f"fill {style}"),
        line(low, 11, high, 11, f"interval {style}"),
    ]
    limits = [_percent(limit.place) for limit in row.limits if limit.place is not None]
    parts += [line(place, 2, place, 20, "limit") for place in limits]
    parts.append(circle(mean, 11, 4, f"dot {style}"))
    if row.change is not None and row.change.place is not None:
        parts.append(circle(_percent(row.change.place), 11, 5, "base"))
    return element("svg", *parts, class_="mean-bar", height=22, aria_hidden="true")


def stacked_bar(rows: Sequence[CountRow], styles: Sequence[str]) -> Element:
    """Draw numbers of cases as linked parts of one bar; the same links stand below it as words."""
    whole = sum(row.n for row in rows) or 1
    parts, left = [], 0.0
    for row, style in zip(rows, styles, strict=True):
        share = row.n / whole
        name = f"{row.label}: {counted(row.n, 'case')}"
        part = rect(_percent(left), 0, _percent(share), 28, f"part {style}")
        drawn = [element("title", name), part]
        if share >= _LABELLED:
            drawn.append(label(_percent(left + share / 2), 19, str(row.n), style, "middle"))
        parts.append(element("a", *drawn, href=row.link, tabindex="-1"))
        left += share
    return element("svg", *parts, class_="stack", height=28, aria_hidden="true")


_LABELLED = 0.04
"""Share of a bar from which a number fits into a part."""


def _percent(share: float) -> str:
    return f"{share * 100:.4g}%"


# --- values of the project ------------------------------------------------------------------------


def value_bars(name: str, title: str, bars: Sequence[tuple[str, float]], unit: str) -> Element:
    """Draw a bar for each value, for wide and for narrow windows."""
    longest = max((value for _, value in bars), default=0.0) or 1.0
    text = "; ".join(f"{bar}: {format_value(value)} {unit}".strip() for bar, value in bars)
    charts = []
    for layout in (WIDE, NARROW):
        parts: list[Element] = []
        for number, (bar, value) in enumerate(bars):
            y = layout.middle(number, 4)
            parts.append(layout.name(y, bar))
            parts.append(rect(layout.left, y - 8, layout.plot * value / longest, 16, "p50"))
            shown = f"{format_value(value)} {unit}".strip()
            parts.append(label(layout.x(value / longest) + 8, y + 4, shown, "number"))
        charts.append(layout.picture(name, title, text, parts, layout.row * len(bars) + 8))
    return for_both_widths(charts)
