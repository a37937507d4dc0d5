"""The charts, drawn as SVG on a coordinate system of pixels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_rageval.report.numbers import format_value
from pytest_rageval.report_html.markup import Element, element
from pytest_rageval.report_html.svg import circle, label, line, picture, rect
from pytest_rageval.report_html.values import MetricView

_ROW: Final = 26
_LEFT: Final = 265
_RIGHT: Final = 130
_PLOT: Final = 415
_WIDTH: Final = _LEFT + _PLOT + _RIGHT
_NAME_CHARS: Final = 32


def forest_plot(rows: Sequence[MetricView], *, baseline: str = "") -> Element | None:
    """Draw each mean with its interval, its limits and the baseline, on the metric's own scale.

    Args:
        rows: those without a bounded scale are left to the table.
        baseline: name of the run behind the hollow dots; empty: there is none.
    """
    shown = [row for row in rows if row.places is not None]
    if not shown:
        return None
    height = 30 + _ROW * len(shown) + 8
    parts = [*_axis(height)]
    for number, row in enumerate(shown):
        parts += _forest_row(row, 30 + _ROW * number + _ROW / 2)
    other = f"; hollow dot: {baseline}" if baseline else ""
    described = "; ".join(f"{row.key} {row.value}, interval {row.interval}" for row in shown)
    return picture(
        "forest",
        f"Means with their intervals, each on its own scale; bar: limit{other}",
        described,
        parts,
        width=_WIDTH,
        height=height,
    )


def _axis(height: int) -> Iterator[Element]:
    for share, name in ((0.0, "lowest"), (0.25, ""), (0.5, "half"), (0.75, ""), (1.0, "highest")):
        x = _LEFT + _PLOT * share
        yield line(x, 22, x, height - 4, "grid")
        yield label(x, 14, name, "axis", "middle")


def _forest_row(row: MetricView, y: float) -> Iterator[Element]:
    assert row.places is not None
    low, mean, high = (_LEFT + _PLOT * place for place in row.places)
    failed = any(limit.status == "fail" for limit in row.limits)
    style = "bad" if failed else "mark"
    yield label(_LEFT - 10, y + 4, _short(row.key), "name", "end")
    yield line(low, y, high, y, f"interval {style}")
    for limit in row.limits:
        if limit.place is not None:
            x = _LEFT + _PLOT * limit.place
            yield line(x, y - 9, x, y + 9, "limit")
    if row.change is not None and row.change.place is not None:
        yield circle(_LEFT + _PLOT * row.change.place, y, 5, "base")
    yield circle(mean, y, 4.5, f"dot {style}")
    word = "  FAIL" if failed else ""
    yield label(_LEFT + _PLOT + 12, y + 4, f"{row.value}{word}", f"number {style}")


def _short(name: str) -> str:
    return name if len(name) <= _NAME_CHARS else f"{name[: _NAME_CHARS - 3]}..."


# --- latency -----------------------------------------------------------------------------------


def latency_bars(rows: Sequence[tuple[str, float, float, int]]) -> Element | None:
    """Draw median and 95th percentile of each phase as bars.

    Args:
        rows: name, p50 and p95 in milliseconds, and count.
    """
    longest = max((p95 for _, _, p95, _ in rows), default=0.0)
    if longest <= 0:
        return None
    height = _ROW * len(rows) + 8
    parts: list[Element] = []
    for number, (name, p50, p95, _) in enumerate(rows):
        y = 4 + _ROW * number
        parts.append(label(_LEFT - 10, y + 17, _short(name), "name", "end"))
        parts.append(rect(_LEFT, y + 4, _PLOT * p95 / longest, 16, "p95"))
        parts.append(rect(_LEFT, y + 4, _PLOT * p50 / longest, 16, "p50"))
        shown = f"{format_value(p50, 'ms')} / {format_value(p95, 'ms')} ms"
        parts.append(label(_LEFT + _PLOT * p95 / longest + 8, y + 17, shown, "number"))
    described = "; ".join(
        f"{name}: p50 {format_value(p50, 'ms')} ms, p95 {format_value(p95, 'ms')} ms"
        for name, p50, p95, _ in rows
    )
    return picture(
        "latency",
        "Time by phase: median (dark) and 95th percentile (light)",
        described,
        parts,
        width=_WIDTH,
        height=height,
    )


# --- trend -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPoint:
    """One run's mean of one metric."""

    run_id: str
    place: float | None
    """Share of the scale; None: no data."""
    text: str
    breaks: bool
    """Whether figures before it are of another kind."""
    current: bool


_PANEL: Final = (300, 110)
_MARGIN: Final = (10, 26, 60, 14)
"""Left, top, right, bottom."""


def trend_panel(name: str, key: str, points: Sequence[TrendPoint]) -> Element:
    """Draw one metric over the runs, oldest first; the line breaks where the invariants changed.

    Args:
        name: id within the page.
        key: of the metric.
        points: one per run.
    """
    width, height = _PANEL
    left, top, right, bottom = _MARGIN
    wide, high = width - left - right, height - top - bottom
    step = wide / max(len(points) - 1, 1)
    parts = [
        label(left, 14, key, "name"),
        line(left, top, left + wide, top, "grid"),
        line(left, top + high, left + wide, top + high, "grid"),
    ]
    track: list[tuple[float, float]] = []
    last: tuple[float, float, str] | None = None
    for number, point in enumerate(points):
        x = left + step * number
        if point.breaks:
            parts += _polyline(track)
            track = []
            parts.append(line(x - step / 2, top - 4, x - step / 2, top + high + 4, "break"))
        if point.place is None:
            continue
        y = top + high * (1 - point.place)
        track.append((x, y))
        parts.append(circle(x, y, 4 if point.current else 2.5, "dot mark"))
        last = (x, y, point.text)
    parts += _polyline(track)
    if last is not None:
        parts.append(label(last[0] + 8, last[1] + 4, last[2], "number"))
    described = ", ".join(
        f"{'(changed) ' if point.breaks else ''}{point.run_id} {point.text}" for point in points
    )
    return picture(
        name,
        f"{key} over the last {len(points)} runs",
        described,
        parts,
        width=width,
        height=height,
    )


def _polyline(track: Sequence[tuple[float, float]]) -> list[Element]:
    if len(track) < 2:
        return []
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in track)
    return [element("polyline", points=points, class_="trend")]
