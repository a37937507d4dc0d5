from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.report.html.run.figures import (
    place_on_scale,
    view_checks,
    view_cost,
    view_latency,
    view_metrics,
)
from pytest_rageval.values.gate import Check
from pytest_rageval.values.numbers import LatencySummary, MetricSummary
from tests.build.runs import numbers_with
from tests.report.html.builders import check, config, errored, missed, passed, run


def metrics(*records: Any) -> Any:
    return run([*records]).aggregate


def test_a_mean_stands_with_counts_interval_and_limit() -> None:
    checks = [check("recall_at_k", "fail")]

    found = {
        row.key: row
        for row in view_metrics(metrics(passed("a"), missed("b"), errored("c")), checks, {})
    }

    recall = found["recall_at_k"]
    assert (recall.n, recall.n_error, recall.value) == (2, 1, "0.500")
    assert [(limit.text, limit.status, limit.place) for limit in recall.limits] == [
        (">= 0.75", "fail", 0.75)
    ]
    assert recall.places is not None
    low, mean, high = recall.places
    assert low < mean == 0.5 < high
    assert found["mrr"].limits == ()


def test_a_limit_on_a_difference_has_no_place_on_the_scale() -> None:
    checks = [check("mrr", check=Check(metric="mrr", kind="max_drop", limit=0.03))]

    row = next(r for r in view_metrics(metrics(passed("a")), checks, {}) if r.key == "mrr")

    assert [(limit.text, limit.place) for limit in row.limits] == [("drop <= 0.03", None)]


def test_a_value_short_of_its_limit_never_looks_like_it() -> None:
    document = numbers_with(metrics={"mrr": MetricSummary(n=9, mean=0.74996)})

    (row,) = view_metrics(document, [check("mrr", "fail")], {})

    assert row.value == "0.74996"


def test_metrics_that_no_case_could_have_are_left_out() -> None:
    keys = {row.key for row in view_metrics(metrics(passed("a")), (), {})}

    assert "mrr" in keys
    assert "groundedness" not in keys


def test_a_scale_that_does_not_end_at_1_says_where_it_ends() -> None:
    record = passed("a", metrics={"groundedness": 4.5, "mrr": 1.0})
    shown = view_metrics(metrics(record), (), {})
    scales = {row.key: row.scale for row in shown}

    assert (scales["groundedness"], scales["mrr"]) == ("of 5", "")


@pytest.mark.parametrize(
    ("key", "value", "place"),
    [
        ("mrr", 0.25, 0.25),
        ("groundedness", 2.5, 0.5),
        ("similarity_margin", 0.0, 0.5),
        ("mrr", 1.5, 1.0),
        ("mrr", None, None),
        ("unheard_of", 0.5, None),
    ],
)
def test_values_are_placed_on_the_scale_of_their_metric(
    key: str, value: float | None, place: float | None
) -> None:
    assert place_on_scale(value, BUILT_IN.cases.get(key)) == place


def test_failed_checks_are_apart_and_warnings_before_what_passed() -> None:
    checks = [
        check("a"),
        check("b", "warn"),
        check("c", "fail", missed_cases=("x", "y")),
        check("d", "skip", n=None, low=None),
    ]

    failed, others = view_checks(checks, {"x": "case-x"})

    assert [(one.name, one.cases) for one in failed] == [("c", (("x", "case-x"), ("y", "")))]
    assert [one.name for one in others] == ["b", "d", "a"]
    assert (others[1].n, others[1].interval) == ("-", "-")


def test_failed_checks_with_a_figure_stand_before_those_without_data() -> None:
    checks = [check("a", "fail", estimate=None), check("b", "fail", estimate=1.0)]
    assert [one.name for one in view_checks(checks, {})[0]] == ["b", "a"]


def test_phases_show_their_percentiles_and_whether_they_are_bounds() -> None:
    latency = LatencySummary(n=3, p50_ms=20.0, p95_ms=60_000.0, p95_censored=True)
    phases = {
        "retrieval": LatencySummary(n=3, p50_ms=5.0, p95_ms=9.5),
        "rerank": LatencySummary(n=3, p50_ms=0.0, p95_ms=0.0),
    }

    rows = view_latency(numbers_with(latency=latency, latency_by_phase=phases))

    assert [(row.phase, row.p50, row.p95) for row in rows] == [
        ("total", "20", ">= 60000"),
        ("retrieval", "5.0", "9.5"),
    ]


def test_costs_stand_beside_those_of_the_baseline_and_an_unknown_price_is_not_nothing() -> None:
    old, new = (
        run([passed("a")], name, aggregate=numbers_with(**numbers), config=config(wall_s=wall))
        for name, numbers, wall in (
            ("old", {"cost_usd": 0.01, "cost_usd_uncached": 0.01, "judge_tokens": 9_000}, 2.25),
            ("new", {"cost_usd": None, "cost_usd_uncached": 0.0123, "judge_tokens": 12_000}, 1.25),
        )
    )

    found = {name: rest for name, *rest in view_cost(new, old)}

    assert found["Judge, this run"] == ["price unknown", "$0.0100", ""]
    assert found["Judge, without its cache"] == ["$0.0123", "$0.0100", "+$0.0023"]
    assert found["Judge tokens"] == ["12,000", "9,000", "+3,000"]
    assert found["Wall time"] == ["1.2 s", "2.2 s", "-1.0 s"]
    assert [row[2:] for row in view_cost(new, None)] == [("", "")] * 4
