"""Charts: what they draw of their series, and that a name stays a text in them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.report.html.charts import (
    CountRow,
    Histogram,
    Ranked,
    ScatterPoint,
    Trend,
    TrendPoint,
    beside,
    histogram,
    phase_bar,
    rank_moves,
    scale_bar,
    scatter,
    sparkline,
    stacked_bar,
    trend_chart,
)
from pytest_rageval.report.html.markup import element
from pytest_rageval.report.view.blocks import Scale
from tests.report.html.builders import HOSTILE


def share(part: ET.Element, name: str) -> float:
    return float(part.get(name, "").removesuffix("%")) / 100


def of_class(svg: ET.Element, tag: str, name: str) -> list[ET.Element]:
    return [one for one in svg.iter(tag) if name in one.get("class", "").split()]


# --- bars in percent ---------------------------------------------------------------------------


def test_a_value_lies_between_the_ends_of_its_interval_and_beside_its_limit() -> None:
    bar = Scale(value=0.6, interval=(0.5, 0.8), limits=(0.75,), base=0.9, failed=True)
    svg = ET.fromstring(scale_bar(bar))

    (interval,), (limit,) = of_class(svg, "line", "interval"), of_class(svg, "line", "limit")
    (dot,), (base,) = of_class(svg, "circle", "dot"), of_class(svg, "circle", "base")
    assert (share(interval, "x1"), share(dot, "cx"), share(interval, "x2")) == (0.5, 0.6, 0.8)
    assert (share(limit, "x1"), share(base, "cx")) == (0.75, 0.9)
    assert "bad" in dot.get("class", "")
    assert "bad" not in scale_bar(Scale(value=0.6))


@pytest.mark.parametrize("value", [0.2, 0.8])
def test_a_bar_may_begin_in_the_middle(value: float) -> None:
    (fill,) = of_class(ET.fromstring(scale_bar(Scale(value=value, start=0.5))), "rect", "fill")
    assert (share(fill, "x"), share(fill, "width")) == pytest.approx((min(value, 0.5), 0.3))


def test_parts_of_a_bar_fill_it_in_their_proportions() -> None:
    rows = [CountRow(label=str(n), n=n, share="", link=f"#stage={n}") for n in (1, 3, 96)]

    svg = ET.fromstring(stacked_bar(rows))

    parts = [*svg.iter("rect")]
    assert [share(part, "x") for part in parts] == pytest.approx([0, 0.01, 0.04])
    assert [share(part, "width") for part in parts] == pytest.approx([0.01, 0.03, 0.96])
    assert [one.get("href") for one in svg.iter("a")] == ["#stage=1", "#stage=3", "#stage=96"]
    assert [one.text for one in svg.iter("text")] == ["96"]


def widths(html: str) -> list[float]:
    return [float(width) for width in re.findall(r'width="([\d.]+)"[^>]*class="p', html)]


def test_phases_share_the_bar_by_their_time() -> None:
    html = phase_bar([("retrieval", 30.0), ("rerank", 0.0), ("generation", 60.0)], 120.0)
    assert widths(html) == [150.0, 300.0]
    assert re.sub(r"<[^>]*>", "", html) == "retrieval 30 msgeneration 60 ms total 120 ms"


def test_phases_longer_than_the_total_still_fit_the_bar() -> None:
    assert sum(widths(phase_bar([("a", 30.0), ("b", 90.0)], 60.0))) == pytest.approx(600.0)


@pytest.mark.parametrize("phases", [[], [("a", 0.0)]])
def test_without_a_phase_the_total_is_said(phases: list[tuple[str, float]]) -> None:
    assert phase_bar(phases, 5.0) == '<p class="numbers">total 5.0 ms</p>'


# --- histograms --------------------------------------------------------------------------------


def bars(*counts: int, **fields: Any) -> Histogram:
    rows = [
        CountRow(label=f"{n}", n=count, share="", link=f"#ms={n}") for n, count in enumerate(counts)
    ]
    given = {"name": "h", "title": "Times", "unit": "case", "ticks": [(0.0, "0"), (1.0, "9 ms")]}
    return Histogram(rows=rows, **{**given, **fields})


def test_bars_are_as_high_as_their_numbers_and_lead_to_their_cases() -> None:
    svg = ET.fromstring(histogram(bars(2, 0, 4)))

    low, high = of_class(svg, "rect", "bar")
    assert float(high.get("height", "")) == 2 * float(low.get("height", ""))
    assert [one.get("href") for one in svg.iter("a")] == ["#ms=0", "#ms=2"]
    assert "9 ms" in [one.text for one in svg.iter("text")]


def test_nothing_strikes_through_a_number_above_a_bar() -> None:
    marks = [(0.5, "p50"), (0.9, "p95")]
    for drawn in (
        histogram(bars(1, 3, marks=marks)),
        histogram(bars(3, 1, curve=[(0.2, 0.5), (0.7, 1.0)])),
    ):
        crossing = 'class="curve"' if "curve" in drawn else 'class="mean"'
        before, *after = drawn.split(crossing)
        assert "count" not in before, "what comes later in an SVG is drawn over what came before"
        assert "".join(after).count("axis count") == 2
    svg = ET.fromstring(histogram(bars(1, 3, marks=marks)))
    names = [one for one in svg.iter("text") if one.text in {"p50", "p95"}]
    counts = of_class(svg, "text", "count")
    lowest = max(float(one.get("y", "")) for one in names)
    assert lowest < min(float(one.get("y", "")) for one in counts) - 8


# --- trends ------------------------------------------------------------------------------------

SCALE = (0.0, 1.0)


def point(value: float | None, **fields: Any) -> TrendPoint:
    given = {
        "run_id": "r", "name": "r", "link": "", "low": None, "high": None, "text": "-",
        "interval": "-", "breaks": (), "current": False, **fields,
    }  # fmt: skip
    return TrendPoint(value=value, **given)


def trend(*points: TrendPoint, **fields: Any) -> ET.Element:
    given = {"key": "mrr", "title": "mrr", "scale": SCALE, **fields}
    return ET.fromstring(trend_chart("t", Trend(points=points, **given)))


@given(st.lists(st.none() | st.floats(-1e6, 1e6), min_size=1, max_size=12))
def test_every_value_is_one_point_within_the_chart(values: list[float | None]) -> None:
    svg = trend(*(point(value) for value in values))

    dots = of_class(svg, "circle", "dot")
    assert len(dots) == sum(value is not None for value in values)
    assert all(26 <= float(dot.get("cy", "")) <= 108 for dot in dots)


def test_the_line_ends_where_figures_do_not_compare() -> None:
    points = [point(0.1), point(0.2), point(0.3, breaks=("k",)), point(0.4)]

    svg = trend(*points)

    assert len(of_class(svg, "line", "break")) == 1
    assert len(of_class(svg, "polyline", "trend")) == 2
    drawn = sparkline(points)
    assert drawn is not None
    assert drawn.count('class="trend"') == 2


def test_limits_are_lines_and_belong_to_the_axis() -> None:
    svg = trend(point(0.5), point(0.6), limits=(0.9,))
    (limit,) = of_class(svg, "line", "limit-line")
    assert (
        26
        < float(limit.get("y1", ""))
        < min(float(dot.get("cy", "")) for dot in of_class(svg, "circle", "dot"))
    )


def test_a_run_that_failed_has_another_shape_and_the_baseline_a_ring_and_its_name() -> None:
    svg = trend(
        point(0.5, base=True, name="main"), point(0.4, failed=True, name="x"), point(0.6, name="y")
    )
    assert len(of_class(svg, "rect", "dot")) == 1
    assert len(of_class(svg, "circle", "base")) == 1
    names = [one.text for one in of_class(svg, "text", "to-mid")]
    assert sorted(map(str, names)) == ["main", "x", "y"]


def test_names_of_many_runs_do_not_overlap() -> None:
    svg = trend(*(point(0.5, name=f"nightly-{n}") for n in range(20)))
    names = of_class(svg, "text", "to-mid")
    places = sorted(float(one.get("x", "")) for one in names)
    assert 1 < len(names) < 20
    assert all(b - a > 6.7 * 9 for a, b in pairwise(places))


def test_the_axis_ends_where_the_scale_of_the_metric_ends() -> None:
    svg = trend(point(0.02), point(0.99))

    axis = [one.text for one in of_class(svg, "text", "to-end") if "axis" in one.get("class", "")]
    assert [float(text or "") for text in axis] == [1.0, 0.0]


def test_one_value_has_no_sparkline() -> None:
    assert sparkline([point(0.5), point(None)]) is None


# --- two figures -------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.floats(0, 60), st.floats(0, 60)), max_size=30))
def test_labels_of_points_overlap_neither_points_nor_labels(
    places: list[tuple[float, float]],
) -> None:
    dots = [(x, y, str(n)) for n, (x, y) in enumerate(places, start=1)]
    boxes = [(x - 4, y - 4, x + 4, y + 4) for x, y, _ in dots]
    found = list(beside(dots))
    for x, y, text, anchor in found:
        left = x if anchor == "start" else x - 7 * len(text)
        box = (left, y - 10, left + 7 * len(text), y)
        assert not any(
            box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
            for other in boxes
        )
        boxes.append((box[0] - 4, box[1], box[2] + 4, box[3]))  # 1 beside 7 would read 17
    alone = [(100.0 * n, 0.0, str(n)) for n in range(5)]
    assert [text for _, _, text, _ in beside(alone)] == ["0", "1", "2", "3", "4"]


# --- ranks -------------------------------------------------------------------------------------


def chunk(rank: int, elsewhere: int | None, *, gold: bool = False) -> Ranked:
    return Ranked(rank=rank, elsewhere=elsewhere, gold=gold)


def test_moves_are_drawn_and_said() -> None:
    old = [chunk(1, 2), chunk(2, 1, gold=True), chunk(3, None)]
    new = [chunk(1, 2, gold=True), chunk(2, 1), chunk(3, None)]

    html = rank_moves(old, new)

    words = "rank 1 is now rank 2; rank 2 is now rank 1; rank 3 is gone; rank 3 is new"
    assert f"<title>Ranks of the chunks in the baseline and now: {words}</title>" in html
    assert html.count("<line") == 2
    assert html.count('class="move gold"') == 1
    assert [html.count(f">{word}</text>") for word in ("gone", "new")] == [1, 1]


def test_a_chunk_that_comes_twice_moves_to_its_first_place() -> None:
    html = rank_moves([chunk(1, 2)], [chunk(1, None), chunk(2, 1), chunk(3, 1)])
    assert "rank 1 is now rank 2; rank 1 is new" in html


# --- hostile names -----------------------------------------------------------------------------


@pytest.mark.parametrize("text", HOSTILE[:-1], ids=range(len(HOSTILE) - 1))
def test_hostile_names_stay_text_in_every_chart(text: str) -> None:
    row = CountRow(label=text, n=1, share=text, link=text, style=text)
    points = [
        point(0.5, run_id=text, name=text, text=text, link=text, breaks=(text,), low=0.4, high=0.6)
    ] * 2
    spot = ScatterPoint(name=text, x=1.0, y=2.0, text=text, filled=True)
    drawn = (
        stacked_bar([row]),
        histogram(bars(1, name="n", title=text, ticks=[(0.5, text)], marks=[(0.5, text)])),
        trend_chart("t", Trend(key=text, title=text, points=points, scale=SCALE)),
        scatter("s", text, [spot], (text, text), (lambda v: text, lambda v: text)),
    )
    svg = {"svg", "title", "desc", "text", "line", "circle", "polyline", "a", "g", "rect"}
    for one in drawn:
        assert {part.tag for part in ET.fromstring(one).iter()} <= svg


def test_attributes_are_escaped_too() -> None:
    assert element("a", x='"><script>', y=1.0) == '<a x="&#34;&gt;&lt;script&gt;" y="1"/>'
