from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from pytest_rageval.report.html.markup import element
from pytest_rageval.report.html.run.charts import mean_bar, stacked_bar
from pytest_rageval.report.html.run.figures import numbers_of, view_metrics
from pytest_rageval.report.html.run.overview_values import ChangeView, CountRow
from pytest_rageval.values.gate import Check, CheckResult
from pytest_rageval.values.numbers import MetricSummary
from tests.build.runs import numbers_with
from tests.report.html.builders import HOSTILE, check, missed, passed, run


def share(part: ET.Element, name: str) -> float:
    return float(part.get(name, "").removesuffix("%")) / 100


def recall_bar(*checks: CheckResult, change: ChangeView | None = None) -> ET.Element:
    files = run([passed("a"), missed("b"), passed("c")])
    changes = {} if change is None else {"recall_at_k": change}
    rows = view_metrics(numbers_of(files), checks, changes)
    drawn = mean_bar(next(row for row in rows if row.key == "recall_at_k"))
    assert drawn is not None
    return ET.fromstring(drawn)


def test_a_mean_lies_between_the_ends_of_its_interval_and_beside_its_limit() -> None:
    svg = recall_bar(check("recall_at_k", "fail"))

    (interval,) = [e for e in svg.iter("line") if "interval" in e.get("class", "")]
    (limit,) = [e for e in svg.iter("line") if e.get("class") == "limit"]
    (dot,) = [e for e in svg.iter("circle") if "dot" in e.get("class", "")]
    x = share(dot, "cx")
    assert share(interval, "x1") < x < share(interval, "x2")
    assert share(limit, "x1") == 0.75 > x  # 2/3
    assert "bad" in dot.get("class", "")


def test_a_change_past_its_limit_does_not_paint_the_mean() -> None:
    drop = Check(metric="recall_at_k", kind="max_drop", limit=0.03)
    change = ChangeView(
        base="0.900", delta="-0.233", interval="-", p="-", verdict="worse", n=3, place=0.9
    )

    svg = recall_bar(check("recall_at_k", "fail", check=drop), change=change)

    assert not [e for e in svg.iter() if "bad" in e.get("class", "")]
    (base,) = [e for e in svg.iter("circle") if e.get("class") == "base"]
    assert share(base, "cx") == 0.9


def test_metrics_without_a_bounded_scale_have_no_bar() -> None:
    (row,) = view_metrics(numbers_with(metrics={"own": MetricSummary(n=1, mean=3.0)}), (), {})

    assert mean_bar(row) is None


def test_parts_of_a_bar_fill_it_in_their_proportions() -> None:
    rows = [CountRow(label=str(n), n=n, share="", link=f"#stage={n}") for n in (1, 3, 96)]

    svg = ET.fromstring(stacked_bar(rows, ["a", "b", "c"]))

    parts = [*svg.iter("rect")]
    assert [share(part, "x") for part in parts] == pytest.approx([0, 0.01, 0.04])
    assert [share(part, "width") for part in parts] == pytest.approx([0.01, 0.03, 0.96])
    assert [one.get("href") for one in svg.iter("a")] == ["#stage=1", "#stage=3", "#stage=96"]
    assert [one.text for one in svg.iter("text")] == ["96"]


@pytest.mark.parametrize("text", HOSTILE[:-1], ids=range(len(HOSTILE) - 1))
def test_hostile_names_stay_text_in_a_chart(text: str) -> None:
    row = CountRow(label=text, n=1, share="", link="#x")

    tags = {one.tag for one in ET.fromstring(stacked_bar([row], [text])).iter()}

    assert tags == {"svg", "a", "title", "rect", "text"}


def test_attributes_are_escaped_too() -> None:
    assert element("a", x='"><script>', y=1.0) == '<a x="&#34;&gt;&lt;script&gt;" y="1"/>'
