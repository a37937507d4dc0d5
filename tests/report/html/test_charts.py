from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from pytest_rageval.report.html.charts import ChartPoint, forest_plot, latency_bars, trend_panel
from pytest_rageval.report.html.figures import view_metrics
from pytest_rageval.report.html.markup import element
from pytest_rageval.report.html.values import LatencyView
from tests.report.html.builders import HOSTILE, check, missed, passed, run


def phase(name: str, p50: float, p95: float) -> LatencyView:
    return LatencyView(phase=name, n=9, p50_ms=p50, p95_ms=p95, p50=f"{p50:g}", p95=f"{p95:g}")


def test_a_mean_lies_between_the_ends_of_its_interval_and_beside_its_limit() -> None:
    files = run([passed("a"), missed("b"), passed("c")])
    rows = [r for r in view_metrics(files.metrics, {"checks": [check("recall_at_k", "fail")]}, {})]

    plot = forest_plot([row for row in rows if row.key == "recall_at_k"])

    assert plot is not None
    svg = ET.fromstring(plot[0])
    (interval,) = [e for e in svg.iter("line") if "interval" in e.get("class", "")]
    (limit,) = [e for e in svg.iter("line") if e.get("class") == "limit"]
    (dot,) = [e for e in svg.iter("circle") if "dot" in e.get("class", "")]
    x = float(dot.get("cx", ""))
    assert float(interval.get("x1", "")) < x < float(interval.get("x2", ""))
    assert float(limit.get("x1", "")) > x  # 2/3 is below 0.75
    assert "FAIL" in "".join(svg.itertext())


def test_metrics_without_a_bounded_scale_are_left_to_the_table() -> None:
    rows = view_metrics({"statistics": {"own": {"n": 1, "mean": 3.0}}}, {}, {})

    assert len(rows) == 1
    assert forest_plot(rows) is None


def test_bars_are_as_long_as_their_times() -> None:
    chart = latency_bars([phase("total", 50.0, 100.0), phase("retrieval", 10.0, 25.0)])

    assert chart is not None
    bars = {
        (e.get("class"), e.get("y")): float(e.get("width", ""))
        for e in ET.fromstring(chart[0]).iter("rect")
    }
    (long, short) = [width for (style, _), width in bars.items() if style == "p95"]
    assert long == pytest.approx(4 * short, rel=0.01)


def test_no_time_draws_no_bars() -> None:
    assert latency_bars([]) is None
    assert latency_bars([phase("total", 0.0, 0.0)]) is None


@pytest.mark.parametrize("text", HOSTILE[:-1], ids=range(len(HOSTILE) - 1))
def test_hostile_names_stay_text_in_a_chart(text: str) -> None:
    point = ChartPoint(run_id=text, place=0.5, text=text, breaks=True, current=True)
    chart = trend_panel("t", text, [point, point])
    bars = latency_bars([phase(text, 1.0, 2.0)])

    assert bars is not None
    for svg in (chart, *bars):
        tags = {e.tag for e in ET.fromstring(svg).iter()}
        assert tags <= {"svg", "title", "desc", "text", "line", "circle", "rect", "polyline"}


def test_attributes_are_escaped_too() -> None:
    assert element("a", x='"><script>', y=1.0) == '<a x="&quot;&gt;&lt;script&gt;" y="1"/>'
