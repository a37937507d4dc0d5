"""Lines over runs: a panel with intervals and links, and a line the size of a word."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_rageval.report.html.markup import Element, element
from pytest_rageval.report.html.svg import Area, circle, label, line
from pytest_rageval.support.text import format_value


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPoint:
    """One run's mean of one metric."""

    run_id: str
    link: str
    """Address of the run's page; empty: it is this one."""
    value: float | None
    """None: no data."""
    low: float | None
    high: float | None
    text: str
    interval: str
    breaks: tuple[str, ...]
    """Differences from the previous run that make figures incomparable."""
    current: bool


_PANEL: Final = Area(width=360, height=138, left=42, top=28, right=20, bottom=16)
_SPARK: Final = (84, 24)


def trend_panel(
    name: str, key: str, points: Sequence[TrendPoint], scale: tuple[float, float]
) -> Element:
    """Draw one metric over the runs, oldest first; the line breaks where figures do not compare.

    The scale is the lowest and the highest possible value.
    """
    left, top, base = _PANEL.left, _PANEL.top, _PANEL.base
    low, high = _ends(points, scale)

    def at(value: float) -> float:
        return _PANEL.y((value - low) / (high - low))

    xs = [_PANEL.x(place / max(len(points) - 1, 1)) for place in range(len(points))]
    parts = [
        label(left, 14, key, "name"),
        label(left - 6, top + 4, format_value(high)[:5], "axis", "end"),
        label(left - 6, base + 4, format_value(low)[:5], "axis", "end"),
        line(left, top, _PANEL.x(1), top, "grid"),
        line(left, base, _PANEL.x(1), base, "grid"),
    ]
    for x, before, point in zip(xs[1:], xs, points[1:], strict=False):
        if point.breaks:
            parts.append(line((x + before) / 2, top - 4, (x + before) / 2, base + 4, "break"))
    for track in _tracks(points):
        drawn = [(xs[place], at(value)) for place, value in track]
        shape = " ".join(f"{x:.1f},{y:.1f}" for x, y in drawn)
        parts.append(element("polyline", points=shape, class_="trend"))
    for x, point in zip(xs, points, strict=True):
        if point.value is not None:
            parts.append(_dot(point, x, at))
    newest = "no data" if points[-1].value is None else points[-1].text
    parts.append(label(_PANEL.x(1), 14, newest, "number strong", "end"))
    described = ", ".join(
        f"{'(changed) ' if point.breaks else ''}{point.run_id} {point.text}" for point in points
    )
    title = f"{key} over the last {len(points)} runs"
    return _PANEL.picture(name, title, described, parts)


def _dot(point: TrendPoint, x: float, at: Callable[[float], float]) -> Element:
    place = at(point.value or 0.0)
    parts = []
    if point.low is not None and point.high is not None:
        parts.append(line(x, at(point.low), x, at(point.high), "interval mark"))
    parts.append(circle(x, place, 5 if point.current else 3.5, "dot mark"))
    name = f"{point.run_id}: {point.text}, interval {point.interval}"
    title = element("title", name)
    if not point.link:
        return element("g", title, *parts)
    hit = circle(x, place, 10, "hit")
    return element("a", title, hit, *parts, href=point.link, aria_label=name)


def _ends(points: Sequence[TrendPoint], scale: tuple[float, float]) -> tuple[float, float]:
    """Return the ends of the axis: all values and intervals with a tenth of room on the scale."""
    seen = [v for one in points for v in (one.value, one.low, one.high) if v is not None]
    if not seen:
        return 0.0, 1.0
    low, high = min(seen), max(seen)
    room = (high - low) * 0.1 or max(abs(high) * 0.1, 0.01)
    return (
        max(low - room, scale[0]) if low >= scale[0] else low - room,
        min(high + room, scale[1]) if high <= scale[1] else high + room,
    )


def _tracks(points: Sequence[TrendPoint]) -> Iterator[list[tuple[int, float]]]:
    """Yield the stretches of comparable values, as places and values."""
    track: list[tuple[int, float]] = []
    for place, point in enumerate(points):
        if point.breaks and track:
            yield track
            track = []
        if point.value is not None:
            track.append((place, point.value))
    if track:
        yield track


def sparkline(points: Sequence[TrendPoint]) -> Element | None:
    """Draw the values as a small line without numbers, which stand beside it and in the trend.

    None: no two runs that compare have a value.
    """
    values = [point.value for point in points if point.value is not None]
    if all(len(track) < 2 for track in _tracks(points)):
        return None
    width, height = _SPARK
    # Intervals are part of the scale, so that noise looks flat.
    seen = [*values, *(v for one in points for v in (one.low, one.high) if v is not None)]
    low, high = min(seen), max(seen)
    parts = []
    x = y = 0.0
    for track in _tracks(points):
        drawn = []
        for place, value in track:
            x = 3 + (width - 6) * place / max(len(points) - 1, 1)
            y = height / 2 if high == low else 3 + (height - 6) * (1 - (value - low) / (high - low))
            drawn.append(f"{x:.1f},{y:.1f}")
        parts.append(element("polyline", points=" ".join(drawn), class_="trend"))
        if len(track) == 1:
            parts.append(circle(x, y, 1.5, "dot"))
    parts.append(circle(x, y, 2.5, "dot"))
    return element(
        "svg", *parts, class_="spark", viewBox=f"0 0 {width} {height}", width=width, height=height,
        aria_hidden="true",
    )  # fmt: skip
