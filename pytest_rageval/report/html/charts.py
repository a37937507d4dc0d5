"""All charts of the pages, each drawn from its series as SVG.

A chart with axes has pixel coordinates and scales as a whole; bars on a scale have widths in
percent, so that one picture fits every window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_rageval.report.html.markup import Element, element, harmless
from pytest_rageval.report.view.blocks import Scale
from pytest_rageval.support.text import counted, format_value, part
from pytest_rageval.values.words import ANCHOR, GOLD

Length = float | str
"""Pixels, or a percentage of the picture such as ``40%``."""
_ANCHORS: Final = {"start": "", "middle": "to-mid", "end": "to-end"}
"""Classes of the common style sheet: a page has hundreds of labels."""


def line(x1: Length, y1: Length, x2: Length, y2: Length, style: str) -> Element:
    """Return a straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=style)


def rect(x: Length, y: Length, width: Length, height: Length, style: str) -> Element:
    """Return a rectangle."""
    return element("rect", x=x, y=y, width=width, height=height, class_=style)


def circle(x: Length, y: Length, r: float, style: str) -> Element:
    """Return a circle."""
    return element("circle", cx=x, cy=y, r=r, class_=style)


def label(x: Length, y: Length, text: str, style: str = "", anchor: str = "start") -> Element:
    """Return a text that starts (``start``), is centred or ends (``end``) at x."""
    classes = f"{style} {_ANCHORS[anchor]}".strip()
    return element("text", text, x=x, y=y, **({"class_": classes} if classes else {}))


def polyline(points: Iterable[tuple[float, float]], style: str) -> Element:
    """Return a line through several points."""
    return element("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_=style)


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """Size of a chart with axes, in pixels; the plot lies between the margins."""

    width: int
    height: int
    left: int
    top: int
    right: int
    bottom: int

    @property
    def plot(self) -> int:
        """Width between the margins."""
        return self.width - self.left - self.right

    @property
    def base(self) -> int:
        """Y of the lower end of the plot."""
        return self.height - self.bottom

    def x(self, share: float) -> float:
        """Return x of a share of the plot, from the left."""
        return self.left + self.plot * share

    def y(self, share: float) -> float:
        """Return y of a share of the plot, from below."""
        return self.base - (self.base - self.top) * share

    def picture(self, name: str, title: str, text: str, parts: Iterable[Element]) -> Element:
        """Return an SVG with its text alternatives; one with links is a group to enter."""
        drawn = tuple(parts)
        return element(
            "svg",
            element("title", title, id=f"{name}-title"),
            element("desc", text, id=f"{name}-desc"),
            *drawn,
            role="group" if any("<a " in part for part in drawn) else "img",
            viewBox=f"0 0 {self.width} {self.height}",
            width=self.width,
            height=self.height,
            aria_labelledby=f"{name}-title {name}-desc",
            class_="chart",
        )


# --- bars in percent ---------------------------------------------------------------------------


def _percent(share: float) -> str:
    return f"{share * 100:.4g}%"


def scale_bar(one: Scale) -> Element:
    """Draw a value as a bar with its interval, its limits and the baseline."""
    style = "bad" if one.failed else "mark"
    start, end = sorted((one.start, one.value))
    parts = [
        rect("0%", 8, "100%", 6, "track"),
        rect(_percent(start), 8, _percent(end - start), 6, f"fill {style}"),
    ]
    if one.interval is not None:
        low, high = map(_percent, one.interval)
        parts.append(line(low, 11, high, 11, f"interval {style}"))
    parts += [line(at, 2, at, 20, "limit") for at in map(_percent, one.limits)]
    parts.append(circle(_percent(one.value), 11, 4, f"dot {style}"))
    if one.base is not None:
        parts.append(circle(_percent(one.base), 11, 5, "base"))
    return element("svg", *parts, class_="mean-bar", height=22, aria_hidden="true")


@dataclass(frozen=True, slots=True, kw_only=True)
class CountRow:
    """A number of cases with the link to them."""

    label: str
    n: int
    share: str
    link: str
    style: str = ""
    """Class of its colour."""


_LABELLED: Final = 0.04
"""Share of a bar from which a number fits into a part."""


def stacked_bar(rows: Sequence[CountRow]) -> Element:
    """Draw numbers of cases as linked parts of one bar; the same links stand below it as words."""
    whole = sum(row.n for row in rows) or 1
    parts, left = [], 0.0
    for row in rows:
        share = row.n / whole
        name = f"{row.label}: {counted(row.n, 'case')}"
        part = rect(_percent(left), 0, _percent(share), 28, f"part {row.style}")
        drawn = [element("title", name), part]
        if share >= _LABELLED:
            middle = _percent(left + share / 2)
            drawn.append(label(middle, 19, str(row.n), row.style, "middle"))
        parts.append(element("a", *drawn, href=row.link, tabindex="-1"))
        left += share
    return element("svg", *parts, class_="stack", height=28, aria_hidden="true")


_BAR: Final = 600
_HUES: Final = 5


def phase_bar(phases: Sequence[tuple[str, float]], total_ms: float | None) -> Element:
    """Draw the phases of an answer one after the other, and say them in words.

    Args:
        phases: name and milliseconds; they may overlap in truth, and are drawn in sequence.
        total_ms: of the whole request at the client; None: unknown.
    """
    spent = [(name, ms) for name, ms in phases if ms > 0]
    total = part("total {} ms", total_ms and format_value(total_ms, "ms"))
    longest = max(total_ms or 0.0, sum(ms for _, ms in spent))
    if not spent:
        return element("p", total, class_="numbers")
    x, bars, keys = 0, "", ""
    for number, (name, ms) in enumerate(spent):
        hue, width = number % _HUES, max(round(_BAR * ms / longest), 1)
        bars += f'<rect x="{x}" width="{width}" height="12" class="p{hue}"/>'
        keys += f'<span class="k{hue}">{harmless(name)} {format_value(ms, "ms")} ms</span>'
        x += width
    # The words under the chart say the same. Written out, as a page has thousands.
    chart = f'<svg aria-hidden="true" viewBox="0 0 {_BAR} 12">{bars}</svg>'
    return Element(f'<div class="times">{chart}<p class="numbers">{keys} {total}</p></div>')


# --- histograms --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Numbers of cases by a property, in order; places are shares of the axis, from the left."""

    name: str
    title: str
    rows: Sequence[CountRow]
    unit: str
    """``case`` or ``repeat``."""
    ticks: Sequence[tuple[float, str]]
    """Place and text of each label below the axis."""
    marks: Sequence[tuple[float, str]] = ()
    """Place and name of values that are drawn as lines across it."""
    curve: Sequence[tuple[float, float]] = ()
    """Points of a line, the second coordinate as a share of the height."""


_HISTOGRAM: Final = Area(width=360, height=132, left=8, top=20, right=8, bottom=20)
_MARK_ROW: Final = 13
"""Height of a line of names of marks."""
_AXIS_CHAR: Final = 6.7
"""Width of a character of ``.chart .axis``: 11 px of a monospaced font."""


def histogram(one: Histogram) -> Element:
    """Draw bars that lead to their cases, with the marks above, and the numbers drawn last."""
    area = _HISTOGRAM
    if any(name for _, name in one.marks):
        more = _MARK_ROW * len(one.marks)
        area = Area(width=360, height=132 + more, left=8, top=20 + more, right=8, bottom=20)
    most = max((row.n for row in one.rows), default=0) or 1
    wide = area.plot / max(len(one.rows), 1)
    parts, counts = [], []
    for place, row in enumerate(one.rows):
        if row.n:
            left, top = area.left + wide * place, area.y(row.n / most)
            bar = rect(
                left + 1, top, max(wide - 2, 1), area.base - top, f"bar {row.style}".rstrip()
            )
            title = element("title", f"{row.label}: {counted(row.n, one.unit)}")
            column = rect(left, area.top, wide, area.base - area.top, "hit")
            parts.append(element("a", title, column, bar, href=row.link))
            # A number that is clearly wider than its bar would touch the next one.
            if len(str(row.n)) * _AXIS_CHAR <= wide + 4:
                middle = left + wide / 2
                counts.append(label(middle, top - 4, str(row.n), "axis count", "middle"))
    parts.append(line(area.left, area.base, area.x(1), area.base, "grid"))
    for share, text in one.ticks:
        anchor = "start" if share <= 0 else "end" if share >= 1 else "middle"
        parts.append(label(area.x(share), area.height - 5, text, "axis", anchor))
    for number, (share, name) in enumerate(one.marks):
        # Its name stands above all bars, so that the line need not cross a number.
        y = 10 + _MARK_ROW * number
        parts.append(line(area.x(share), y + 3 if name else area.top, area.x(share), area.base,
                          "mean"))  # fmt: skip
        if name:
            right = share > 0.6
            x = area.x(share) + (-4 if right else 4)
            parts.append(label(x, y, name, "axis strong", ANCHOR[right]))
    if len(one.curve) > 1:
        track = [(area.x(x), area.y(y)) for x, y in one.curve]
        parts.append(polyline(track, "curve"))
        parts += (circle(x, y, 2.5, "curve-dot") for x, y in track)
    text = "; ".join(f"{row.label}: {row.n}, {row.share}" for row in one.rows if row.n)
    return area.picture(one.name, one.title, text, [*parts, *counts])


# --- lines over runs ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartPoint:
    """One run's figure."""

    run_id: str
    name: str
    """Tag of the run, or the end of its id."""
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
    failed: bool = False
    """Whether the gate failed."""
    base: bool = False
    """Whether the newest run is compared with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """One figure over the runs, oldest first."""

    key: str
    title: str
    points: Sequence[ChartPoint]
    scale: tuple[float, float]
    """Lowest and highest possible value."""
    limits: Sequence[float] = ()


_TREND: Final = Area(width=300, height=136, left=46, top=26, right=12, bottom=28)
_SPARK: Final = (84, 24)


def trend_chart(name: str, one: Trend) -> Element:
    """Draw one figure over the runs; the line breaks where figures do not compare."""
    points, left, top, base = one.points, _TREND.left, _TREND.top, _TREND.base
    low, high = _ends(one)

    def at(value: float) -> float:
        return _TREND.y((value - low) / (high - low))

    xs = [_TREND.x((place + 0.5) / len(points)) for place in range(len(points))]
    parts = [
        label(2, 14, one.title, "name"),
        label(left - 6, top + 4, _short(high), "axis", "end"),
        label(left - 6, base + 4, _short(low), "axis", "end"),
        line(left, top, _TREND.x(1), top, "grid"),
        line(left, base, _TREND.x(1), base, "grid"),
    ]
    for limit in one.limits:
        if low <= limit <= high:
            parts.append(line(left, at(limit), _TREND.x(1), at(limit), "limit-line"))
    for x, before, point in zip(xs[1:], xs, points[1:], strict=False):
        if point.breaks:
            parts.append(line((x + before) / 2, top - 4, (x + before) / 2, base + 4, "break"))
    for track in _tracks(points):
        parts.append(polyline([(xs[place], at(value)) for place, value in track], "trend"))
    parts += [
        _dot(point, x, at) for x, point in zip(xs, points, strict=True) if point.value is not None
    ]
    parts += _names(points, xs)
    newest = "no data" if points[-1].value is None else points[-1].text
    parts.append(label(_TREND.x(1), 14, newest, "number strong", "end"))
    limits = "".join(f"; limit {limit:g}" for limit in one.limits)
    described = ", ".join(_described(point) for point in points)
    return _TREND.picture(
        name, f"{one.key} over the last {len(points)} runs", f"{described}{limits}", parts
    )


def _short(value: float) -> str:
    return format_value(value, "ms" if value >= 100 else "score")[:6].removesuffix(".")


def _described(point: ChartPoint) -> str:
    marks = ["changed"] * bool(point.breaks) + ["failed"] * point.failed + ["baseline"] * point.base
    return f"{' '.join([*marks, point.run_id])} {point.text}"


def _names(points: Sequence[ChartPoint], xs: Sequence[float]) -> Iterator[Element]:
    """Yield the names of runs below the axis, as many as fit; the last and the baseline first."""
    order = sorted(range(len(points)), key=lambda n: (not points[n].base, -n))
    taken: list[tuple[float, float]] = []
    for number in order:
        name = points[number].name[:10]
        half = len(name) * _AXIS_CHAR / 2
        x = min(max(xs[number], half), _TREND.width - half)
        if all(x + half + 6 < left or x - half - 6 > right for left, right in taken):
            taken.append((x - half, x + half))
            style = "axis strong" if points[number].base else "axis"
            yield label(x, _TREND.height - 8, name, style, "middle")


def _dot(point: ChartPoint, x: float, at: Callable[[float], float]) -> Element:
    place = at(point.value or 0.0)
    parts = []
    if point.low is not None and point.high is not None:
        parts.append(line(x, at(point.low), x, at(point.high), "interval mark"))
    if point.base:
        parts.append(circle(x, place, 7, "base"))
    size = 5.0 if point.current else 3.5
    if point.failed:  # another shape, too, since colour alone says nothing to many
        parts.append(rect(x - size, place - size, 2 * size, 2 * size, "dot bad"))
    else:
        parts.append(circle(x, place, size, "dot mark"))
    gate = ", gate failed" if point.failed else ""
    name = f"{point.run_id}: {point.text}, interval {point.interval}{gate}"
    title = element("title", name)
    if not point.link:
        return element("g", title, *parts)
    hit = circle(x, place, 10, "hit")
    return element("a", title, hit, *parts, href=point.link, aria_label=name)


def _ends(one: Trend) -> tuple[float, float]:
    """Return the ends of the axis: all values, intervals and limits with a tenth of room."""
    seen = [v for p in one.points for v in (p.value, p.low, p.high) if v is not None]
    if not seen:
        return 0.0, 1.0
    seen += one.limits
    low, high = min(seen), max(seen)
    room = (high - low) * 0.1 or max(abs(high) * 0.1, 0.01)
    least, most = one.scale
    return (
        max(low - room, least) if low >= least else low - room,
        min(high + room, most) if high <= most else high + room,
    )


def _tracks(points: Sequence[ChartPoint]) -> Iterator[list[tuple[int, float]]]:
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


def sparkline(points: Sequence[ChartPoint]) -> Element | None:
    """Draw the values as a small line without numbers, which stand beside it and in the trend.

    None: no two runs that compare have a value.
    """
    tracks = [*_tracks(points)]
    if all(len(track) < 2 for track in tracks):
        return None
    width, height = _SPARK
    # Intervals are part of the scale, so that noise looks flat.
    seen = [v for one in points for v in (one.value, one.low, one.high) if v is not None]
    low, high = min(seen), max(seen)
    parts: list[Element] = []
    x = y = 0.0
    for track in tracks:
        drawn = []
        for place, value in track:
            x = 3 + (width - 6) * place / max(len(points) - 1, 1)
            y = height / 2 if high == low else 3 + (height - 6) * (1 - (value - low) / (high - low))
            drawn.append((x, y))
        parts.append(polyline(drawn, "trend"))
        if len(track) == 1:
            parts.append(circle(x, y, 1.5, "dot"))
    parts.append(circle(x, y, 2.5, "dot"))
    size = f"0 0 {width} {height}"
    return element(
        "svg", *parts, class_="spark", viewBox=size, width=width, height=height, aria_hidden="true"
    )


# --- two figures against each other ------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterPoint:
    """One thing with two figures."""

    name: str
    x: float
    y: float
    text: str
    """Both figures in words."""
    filled: bool


_SCATTER: Final = Area(width=340, height=280, left=64, top=20, right=24, bottom=48)
Dot = tuple[float, float, str]
"""Place of a point in pixels, and its label."""
_Box = tuple[float, float, float, float]
"""Left, top, right and bottom in pixels."""
_APART: Final = 5
"""Pixels between two labels."""


def scatter(
    name: str,
    title: str,
    points: Sequence[ScatterPoint],
    axes: tuple[str, str],
    show: tuple[Callable[[float], str], Callable[[float], str]],
) -> Element:
    """Draw points with two figures; a name is left out where there is no room.

    Args:
        name: unique on the page.
        title: of the picture.
        points: at least one.
        axes: names of both figures, x first.
        show: texts of values of both.
    """
    x_low, x_high = _around([one.x for one in points])
    y_low, y_high = _around([one.y for one in points])
    left, top, right, base = _SCATTER.left, _SCATTER.top, _SCATTER.x(1), _SCATTER.base
    parts = [
        line(left, base, right, base, "grid"),
        line(left, top, left, base, "grid"),
        label(left, 12, axes[1], "axis"),
        label(right, _SCATTER.height - 6, axes[0], "axis", "end"),
        label(left, base + 16, show[0](x_low), "axis"),
        label(right, base + 16, show[0](x_high), "axis", "end"),
        label(left - 6, top + 10, show[1](y_high), "axis", "end"),
        label(left - 6, base, show[1](y_low), "axis", "end"),
    ]
    dots: list[Dot] = []
    for one in points:
        at = _SCATTER.x((one.x - x_low) / (x_high - x_low))
        up = _SCATTER.y((one.y - y_low) / (y_high - y_low))
        dots.append((at, up, one.name))
        parts.append(circle(at, up, 4.5, "dot mark" if one.filled else "base"))
    parts += [label(x, y, text, "axis", anchor) for x, y, text, anchor in beside(dots)]
    return _SCATTER.picture(name, title, "; ".join(one.text for one in points), parts)


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
                yield x + right, y + down, text, ANCHOR[right <= 0]
                break


def _overlap(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _around(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of a scale that has the values within, with some space and never empty."""
    low, high = min(values), max(values)
    space = 0.05 * (high - low) or 0.5
    return low - space, high + space


# --- ranks of one case in two runs -------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedChunk:
    """One chunk of a list."""

    rank: int
    elsewhere: int | None
    """Rank in the other list; None: not there."""
    gold: bool


_ROW: Final = 18
_MOVES: Final = (34, 200)
"""X of the two columns of ranks."""


def rank_moves(old: Sequence[RankedChunk], new: Sequence[RankedChunk]) -> Element:
    """Draw a line from the rank of each chunk in the baseline to its rank now."""
    height = _ROW * max(len(old), len(new), 1) + 24
    left, right = _MOVES
    parts = [
        label(left, 12, "baseline", "axis", "middle"),
        label(right, 12, "now", "axis", "middle"),
    ]
    moved = []
    for one in old:
        parts += _end(one, left, -10, "" if one.elsewhere else "gone", 10)
        if one.elsewhere:
            style = f"move {GOLD[one.gold]}"
            parts.append(line(left + 5, _y(one.rank), right - 5, _y(one.elsewhere), style))
        if one.elsewhere != one.rank:
            now = f"now rank {one.elsewhere}" if one.elsewhere else "gone"
            moved.append(f"rank {one.rank} is {now}")
    for one in new:
        parts += _end(one, right, 10, "" if one.elsewhere else "new", 34)
    moved += [f"rank {one.rank} is new" for one in new if not one.elsewhere]
    words = "; ".join(moved) or "the same"
    title = element("title", f"Ranks of the chunks in the baseline and now: {words}")
    return element(
        "svg", title, *parts, role="img", viewBox=f"0 0 290 {height}", width=290, height=height,
        class_="chart moves",
    )  # fmt: skip


def _y(rank: int) -> float:
    return 30.0 + _ROW * (rank - 1)


def _end(one: RankedChunk, x: int, aside: int, word: str, at: int) -> Iterator[Element]:
    """Yield the end of a line: a dot, its rank, and a word."""
    y = _y(one.rank)
    yield circle(x, y, 4, f"end {GOLD[one.gold]}")
    yield label(x + aside, y + 4, str(one.rank), "axis", ANCHOR[aside < 0])
    if word:
        yield label(x + at, y + 4, word, "axis")
