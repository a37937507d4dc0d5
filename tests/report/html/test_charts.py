"""Charts: what they draw of their series, and that a name stays a text in them."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.report.html.charts import (
    ChartPoint,
    CountRow,
    Histogram,
    ScatterPoint,
    Trend,
    histogram,
    scale_bar,
    scatter,
    sparkline,
    stacked_bar,
    trend_chart,
)
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


# --- trends ------------------------------------------------------------------------------------

SCALE = (0.0, 1.0)


def point(value: float | None, **fields: Any) -> ChartPoint:
    given = {
        "run_id": "r", "name": "r", "link": "", "low": None, "high": None, "text": "-",
        "interval": "-", "breaks": (), "current": False, **fields,
    }  # fmt: skip
    return ChartPoint(value=value, **given)


def trend(*points: ChartPoint, **fields: Any) -> ET.Element:
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


# --- two figures -------------------------------------------------------------------------------


# --- ranks -------------------------------------------------------------------------------------


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
