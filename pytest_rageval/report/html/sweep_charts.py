"""Charts of a sweep as SVG: the ranking, the objectives against each other, the effects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from pytest_rageval.analysis.sweep.configurations import value_text
from pytest_rageval.analysis.sweep.outcome import Ranked, SweepOutcome
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.registry import unit_of
from pytest_rageval.report.html.markup import Element
from pytest_rageval.report.html.svg import NARROW, WIDE, Area, Layout, circle, label, line, rect
from pytest_rageval.report.view.summary import change_text
from pytest_rageval.report.view.sweep import main_text
from pytest_rageval.support.text import format_value

Dot = tuple[float, float, str]
"""Place of a point in pixels, and its label."""
_Box = tuple[float, float, float, float]
"""Left, top, right and bottom in pixels."""
_APART: Final = 5
"""Pixels between two labels."""
_RANKING: Final = replace(WIDE, left=450, plot=280)
"""Room for the values of several parameters."""
_ROWS: Final = 40
"""Most rows of a chart; the tables have all."""
_SCATTER: Final = Area(width=340, height=280, left=64, top=20, right=24, bottom=48)


def ranking_chart(outcome: SweepOutcome) -> tuple[Element, ...]:
    """Draw the main objective with its interval for each configuration, for both widths."""
    rows = [row for row in outcome.ranking if row.objective is not None][:_ROWS]
    ends = [v for row in rows for v in (row.objective, *row.interval) if v is not None]
    if not ends:
        return ()
    info = BUILT_IN.info(outcome.objectives[0].key)
    least, most = (0.0, 1.0) if info is None else info.bounds
    low, high = _around(ends)
    # The scale of a metric ends where its values do.
    low, high = max(low, min(least, *ends)), min(high, max(most, *ends))
    return tuple(_ranking(outcome, rows, low, high, layout) for layout in (_RANKING, NARROW))


def _ranking(
    outcome: SweepOutcome, rows: Sequence[Ranked], low: float, high: float, layout: Layout
) -> Element:
    unit = unit_of(outcome.objectives[0].key)
    height = 30 + layout.row * len(rows) + 8
    parts: list[Element] = []
    for share in (0.0, 0.5, 1.0):
        x = layout.x(share)
        parts.append(line(x, 22, x, height - 4, "grid"))
        anchor = "start" if layout.above and not share else "middle"
        text = format_value(low + share * (high - low), unit)
        parts.append(label(x, 14, text, "axis", anchor))
    described = []
    for number, row in enumerate(rows):
        y = layout.middle(number, 30)
        value, interval = main_text(outcome, row)
        left, right = row.interval
        parts.append(layout.name(y, f"{number + 1} {row.name}"))
        if left is not None and right is not None:
            x1, x2 = (layout.x((end - low) / (high - low)) for end in (left, right))
            parts.append(line(x1, y, x2, y, "interval mark"))
        x = layout.x(((row.objective or 0.0) - low) / (high - low))
        parts.append(circle(x, y, 4.5, "base" if row.cut else "dot mark"))
        parts.append(label(layout.x(1) + 12, y + 4, value, "number mark"))
        described.append(f"{number + 1} {row.name}: {value}, interval {interval or 'unknown'}")
    title = f"{outcome.objectives[0].key} with intervals; hollow: cut earlier, over fewer cases"
    return layout.picture("ranking", title, "; ".join(described), parts, height)


def pareto_charts(outcome: SweepOutcome) -> tuple[Element, ...]:
    """Draw the main objective against each other one; numbers are ranks, front points filled.

    A number is left out where there is no room.
    """
    charts = (_scatter(outcome, number) for number in range(1, len(outcome.objectives)))
    return tuple(filter(None, charts))


def _scatter(outcome: SweepOutcome, number: int) -> Element | None:
    main, other = outcome.objectives[0].key, outcome.objectives[number].key
    points = [
        (rank, row, x, y)
        for rank, row in enumerate(outcome.ranking, start=1)
        if (x := row.figures.get(other)) is not None and (y := row.figures.get(main)) is not None
    ]
    if not points:
        return None
    x_low, x_high = _around([x for _, _, x, _ in points])
    y_low, y_high = _around([y for _, _, _, y in points])
    left, top, right, base = _SCATTER.left, _SCATTER.top, _SCATTER.x(1), _SCATTER.base
    parts = [
        line(left, base, right, base, "grid"),
        line(left, top, left, base, "grid"),
        label(left, 12, main, "axis"),
        label(right, _SCATTER.height - 6, other, "axis", "end"),
        label(left, base + 16, _tick(x_low, unit_of(other)), "axis"),
        label(right, base + 16, _tick(x_high, unit_of(other)), "axis", "end"),
        label(left - 6, top + 10, format_value(y_high, unit_of(main)), "axis", "end"),
        label(left - 6, base, format_value(y_low, unit_of(main)), "axis", "end"),
    ]
    described = []
    dots: list[Dot] = []
    for rank, row, x, y in points:
        at = _SCATTER.x((x - x_low) / (x_high - x_low))
        up = _SCATTER.y((y - y_low) / (y_high - y_low))
        dots.append((at, up, str(rank)))
        parts.append(circle(at, up, 4.5, "dot mark" if row.on_front else "base"))
        figures = f"{main} {format_value(y)}, {other} {format_value(x, unit_of(other))}"
        described.append(f"{rank}{' (front)' if row.on_front else ''}: {figures}")
    parts += [label(x, y, text, "axis", anchor) for x, y, text, anchor in beside(dots)]
    title = f"{main} against {other}; filled: on the Pareto front"
    return _SCATTER.picture(f"pareto-{number}", title, "; ".join(described), parts)


def beside(dots: Sequence[Dot]) -> Iterator[tuple[float, float, str, str]]:
    """Yield place, text and anchor of the labels of dots where no other dot or label is.

    Those that do not fit anywhere are left out, the last ones first.
    """
    points = [(x - 5, y - 5, x + 5, y + 5) for x, y, _ in dots]
    texts: list[_Box] = []
    for x, y, text in dots:
        wide = 7.0 * len(text)
        for right, down in ((7, -5), (7, 13), (-7, -5), (-7, 13)):
            start = x + right if right > 0 else x + right - wide
            box = (start, y + down - 10, start + wide, y + down)
            # Side by side, 1 and 7 would read 17.
            apart = (box[0] - _APART, box[1], box[2] + _APART, box[3])
            if not any(_overlap(box, one) for one in points) and not any(
                _overlap(apart, one) for one in texts
            ):
                texts.append(box)
                yield x + right, y + down, text, "start" if right > 0 else "end"
                break


def _overlap(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _tick(value: float, unit: str) -> str:
    return f"{value:.0f}" if unit in {"ms", "count"} else f"{value:.3f}"


def effect_charts(outcome: SweepOutcome) -> tuple[Element, ...]:
    """Draw the difference of each value from the mean of all configurations, for both widths."""
    rows = outcome.effects[:_ROWS]
    longest = max((abs(one.difference) for one in rows), default=0.0)
    if not longest:
        return ()
    found = []
    for layout in (WIDE, NARROW):
        height = layout.row * len(rows) + 12
        parts = [line(layout.x(0.5), 2, layout.x(0.5), height - 2, "grid")]
        described = []
        for number, one in enumerate(rows):
            y = layout.middle(number, 4)
            share = 0.5 * one.difference / longest
            start = layout.x(0.5 + min(share, 0.0))
            name = f"{one.parameter}={value_text(one.value)}"
            parts.append(layout.name(y, name))
            parts.append(rect(start, y - 8, layout.plot * abs(share), 16, "p50"))
            change = change_text(outcome.objectives[0].key, one.difference)
            parts.append(label(layout.x(1) + 12, y + 4, change, "number"))
            described.append(f"{name} {change}")
        title = "Difference of each value from the mean of all configurations"
        found.append(layout.picture("effects", title, "; ".join(described), parts, height))
    return tuple(found)


def _around(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of a scale that holds the values, with some space and never empty."""
    low, high = min(values), max(values)
    space = 0.05 * (high - low) or 0.5
    return low - space, high + space
