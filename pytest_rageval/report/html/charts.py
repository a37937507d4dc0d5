"""Charts as SVG, with pixel coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from pytest_rageval.report.html.markup import Element, element
from pytest_rageval.report.html.values import LatencyView, MetricView
from pytest_rageval.support.text import cut, format_value
from pytest_rageval.values.dataclass import dataclass

_NAME_CHARS: Final = 34


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Positions of names, bars and numbers, in pixels."""

    suffix: str
    left: int
    plot: int
    right: int
    row: int
    above: bool
    """Whether names are above their rows instead of before them."""

    @property
    def width(self) -> int:
        """Width of the picture."""
        return self.left + self.plot + self.right

    def x(self, share: float) -> float:
        """Return x of a share of the plot."""
        return self.left + self.plot * share

    def name(self, y: float, text: str) -> Element:
        """Return the name of the row whose middle is at y."""
        short = cut(text, _NAME_CHARS)
        if self.above:
            return label(self.left, y - 14, short, "name")
        return label(self.left - 10, y + 4, short, "name", "end")

    def middle(self, number: int, top: float = 0.0) -> float:
        """Return y of the middle of a row."""
        return top + self.row * number + (self.row - 12 if self.above else self.row / 2)


WIDE: Final = Layout(suffix="", left=265, plot=415, right=130, row=26, above=False)
NARROW: Final = Layout(suffix="-narrow", left=8, plot=240, right=110, row=44, above=True)


def forest_plot(
    rows: Sequence[MetricView], *, baseline: str = ""
) -> tuple[Element, Element] | None:
    """Draw each mean with its interval, its limits and the baseline, on the metric's own scale.

    Two charts, for wide and for narrow windows, because a scaled-down chart is unreadable.

    Args:
        rows: metrics; those without a bounded scale are shown only in the table.
        baseline: name of the run of the hollow dots; empty: there is none.
    """
    shown = [row for row in rows if row.places is not None]
    if not shown:
        return None
    return _forest(shown, baseline, WIDE), _forest(shown, baseline, NARROW)


def _forest(shown: Sequence[MetricView], baseline: str, layout: Layout) -> Element:
    height = 30 + layout.row * len(shown) + 8
    parts = [*_axis(height, layout)]
    for number, row in enumerate(shown):
        parts += _forest_row(row, layout.middle(number, 30), layout)
    other = f"; hollow dot: {baseline}" if baseline else ""
    described = "; ".join(f"{row.key} {row.value}, interval {row.interval}" for row in shown)
    return picture(
        f"forest{layout.suffix}",
        f"Means with their intervals, each on its own scale; bar: limit{other}",
        described,
        parts,
        width=layout.width,
        height=height,
    )


def _axis(height: int, layout: Layout) -> Iterator[Element]:
    for share, name in ((0.0, "lowest"), (0.25, ""), (0.5, "half"), (0.75, ""), (1.0, "highest")):
        x = layout.x(share)
        yield line(x, 22, x, height - 4, "grid")
        anchor = "start" if layout.above and not share else "middle"
        yield label(x, 14, name, "axis", anchor)


def _forest_row(row: MetricView, y: float, layout: Layout) -> Iterator[Element]:
    assert row.places is not None
    low, mean, high = map(layout.x, row.places)
    failed = any(limit.status == "fail" for limit in row.limits)
    style = "bad" if failed else "mark"
    yield layout.name(y, row.key)
    yield line(low, y, high, y, f"interval {style}")
    for limit in row.limits:
        if limit.place is not None:
            x = layout.x(limit.place)
            yield line(x, y - 9, x, y + 9, "limit")
    if row.change is not None and row.change.place is not None:
        yield circle(layout.x(row.change.place), y, 5, "base")
    yield circle(mean, y, 4.5, f"dot {style}")
    word = "  FAIL" if failed else ""
    yield label(layout.x(1) + 12, y + 4, f"{row.value}{word}", f"number {style}")


# --- latency -----------------------------------------------------------------------------------


def latency_bars(rows: Sequence[LatencyView]) -> tuple[Element, Element] | None:
    """Draw median and 95th percentile of each phase as bars, for wide and for narrow windows."""
    longest = max((row.p95_ms for row in rows), default=0.0)
    if longest <= 0:
        return None
    return _latency(rows, longest, WIDE), _latency(rows, longest, NARROW)


def _latency(rows: Sequence[LatencyView], longest: float, layout: Layout) -> Element:
    parts: list[Element] = []
    described = []
    for number, row in enumerate(rows):
        y = layout.middle(number, 4)
        parts.append(layout.name(y, row.phase))
        parts.append(rect(layout.left, y - 8, layout.plot * row.p95_ms / longest, 16, "p95"))
        parts.append(rect(layout.left, y - 8, layout.plot * row.p50_ms / longest, 16, "p50"))
        p50, p95 = format_value(row.p50_ms, "ms"), format_value(row.p95_ms, "ms")
        end = layout.x(row.p95_ms / longest)
        parts.append(label(end + 8, y + 4, f"{p50} / {p95} ms", "number"))
        described.append(f"{row.phase}: p50 {p50} ms, p95 {p95} ms")
    return picture(
        f"latency{layout.suffix}",
        "Time by phase: median (strong) and 95th percentile (pale)",
        "; ".join(described),
        parts,
        width=layout.width,
        height=layout.row * len(rows) + 8,
    )


# --- values of the project ------------------------------------------------------------------------


def value_bars(
    name: str, title: str, bars: Sequence[tuple[str, float]], unit: str
) -> Iterator[Element]:
    """Draw a bar for each value, for wide and for narrow windows."""
    longest = max((value for _, value in bars), default=0.0) or 1.0
    for layout in (WIDE, NARROW):
        parts: list[Element] = []
        for number, (bar, value) in enumerate(bars):
            y = layout.middle(number, 4)
            parts.append(layout.name(y, bar))
            parts.append(rect(layout.left, y - 8, layout.plot * value / longest, 16, "p50"))
            shown = f"{format_value(value)} {unit}".strip()
            parts.append(label(layout.x(value / longest) + 8, y + 4, shown, "number"))
        chart = picture(
            f"{name}{layout.suffix}",
            title,
            "; ".join(f"{bar}: {format_value(value)} {unit}".strip() for bar, value in bars),
            parts,
            width=layout.width,
            height=layout.row * len(bars) + 8,
        )
        yield element("div", chart, class_=f"wide {'narrow' if layout.above else 'wide'}-only")


# --- trend -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartPoint:
    """One run's mean of one metric."""

    run_id: str
    place: float | None
    """Share of the scale; None: no data."""
    text: str
    breaks: bool
    """Whether earlier figures are not comparable."""
    current: bool


_PANEL: Final = (300, 110)
_MARGIN: Final = (10, 26, 60, 14)
"""Left, top, right, bottom."""


def trend_panel(name: str, key: str, points: Sequence[ChartPoint]) -> Element:
    """Draw one metric over the runs, oldest first; the line breaks where the invariants changed."""
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


def picture(
    name: str, title: str, description: str, parts: Iterable[Element], *, width: int, height: int
) -> Element:
    """Return an SVG with its text alternatives."""
    return element(
        "svg",
        element("title", title, id=f"{name}-title"),
        element("desc", description, id=f"{name}-desc"),
        *parts,
        role="img",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        aria_labelledby=f"{name}-title {name}-desc",
        class_="chart",
    )


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> Element:
    """Return a straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=style)


def rect(x: float, y: float, width: float, height: float, style: str) -> Element:
    """Return a rectangle."""
    return element("rect", x=x, y=y, width=width, height=height, class_=style)


def circle(x: float, y: float, r: float, style: str) -> Element:
    """Return a circle."""
    return element("circle", cx=x, cy=y, r=r, class_=style)


def label(x: float, y: float, text: str, style: str = "", anchor: str = "start") -> Element:
    """Return a text that starts (``start``), is centred or ends (``end``) at x."""
    return element("text", text, x=x, y=y, class_=style, text_anchor=anchor)
