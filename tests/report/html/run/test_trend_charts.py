from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.report.html.run.trend_charts import TrendPoint, sparkline, trend_panel
from tests.report.html.builders import HOSTILE

SCALE = (0.0, 1.0)


def point(value: float | None, **fields: Any) -> TrendPoint:
    given = {
        "run_id": "r", "link": "", "low": None, "high": None, "text": "-", "interval": "-",
        "breaks": (), "current": False, **fields,
    }  # fmt: skip
    return TrendPoint(value=value, **given)


@given(st.lists(st.none() | st.floats(-1e6, 1e6), min_size=1, max_size=12))
def test_every_value_is_one_point_within_the_chart(values: list[float | None]) -> None:
    svg = ET.fromstring(trend_panel("t", "mrr", [point(value) for value in values], SCALE))

    dots = [one for one in svg.iter("circle") if "dot" in one.get("class", "")]
    assert len(dots) == sum(value is not None for value in values)
    assert all(28 <= float(dot.get("cy", "")) <= 122 for dot in dots)


def test_the_line_ends_where_figures_do_not_compare() -> None:
    points = [point(0.1), point(0.2), point(0.3, breaks=("k",)), point(0.4)]

    svg = trend_panel("t", "mrr", points, SCALE)

    assert svg.count('class="break"') == 1
    assert svg.count('class="trend"') == 2
    drawn = sparkline(points)
    assert drawn is not None
    assert drawn.count('class="trend"') == 2


def test_the_axis_ends_where_the_scale_of_the_metric_ends() -> None:
    svg = ET.fromstring(trend_panel("t", "mrr", [point(0.02), point(0.99)], SCALE))

    axis = [one.text for one in svg.iter("text") if one.get("class", "").split()[0] == "axis"]
    assert [float(text or "") for text in axis] == [1.0, 0.0]


def test_one_value_has_no_sparkline() -> None:
    assert sparkline([point(0.5), point(None)]) is None


@pytest.mark.parametrize("text", HOSTILE[:-1], ids=range(len(HOSTILE) - 1))
def test_hostile_names_stay_text_in_a_trend(text: str) -> None:
    points = [point(0.5, run_id=text, text=text, link=text, breaks=(text,), low=0.4, high=0.6)] * 2

    tags = {one.tag for one in ET.fromstring(trend_panel("t", text, points, SCALE)).iter()}

    assert tags <= {"svg", "title", "desc", "text", "line", "circle", "polyline", "a", "g"}
