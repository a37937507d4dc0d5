"""Breaks in the line of a trend."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.analysis.compare.settings import compared_config
from pytest_rageval.analysis.trend import (
    RunFigure,
    TrendPoint,
    TrendQuery,
    TrendRun,
    count_left_out,
    make_trend,
    run_figures,
)
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.context import CONTEXT_CARRY
from pytest_rageval.values.numbers import Aggregate
from pytest_rageval.values.run import NO_CONFIG, RunConfig
from tests.build.records import changed, failed, hits
from tests.build.runs import config_from

START = datetime(2026, 1, 1, tzinfo=UTC)
SETTINGS: dict[str, Any] = {"k": 5, "judge": "offline", "judging": {"rubrics": ["groundedness"]}}


def run(
    day: int, value: float | None = 0.5, metric: str = "recall_at_k", **fields: Any
) -> TrendRun:
    figure = RunFigure(scope="overall", group="", metric=metric, value=value, n=10)
    settings = {**SETTINGS, **fields.pop("settings", {})}
    config = {"settings": settings, "concurrency": 8, **fields.pop("config", {})}
    given: dict[str, Any] = {"dataset_hash": "d1", "config_hash": "c1", **fields}
    return TrendRun(
        run_id=f"r{day}",
        ran_at=START + timedelta(days=day),
        figure=figure,
        config=compared_config(config_from(**config)),
        **given,
    )


def trend(*runs: TrendRun, metric: str = "recall_at_k", **query: Any) -> list[TrendPoint]:
    return make_trend(runs, TrendQuery(metric=metric, **query))


def test_runs_stand_oldest_first_with_the_difference_to_the_one_before() -> None:
    found = trend(run(3, 0.9), run(1, 0.5), run(2, 0.75))
    assert [point.run.run_id for point in found] == ["r1", "r2", "r3"]
    assert [point.delta for point in found] == [None, 0.25, pytest.approx(0.15)]


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"dataset_hash": "d2"}, "dataset"),
        ({"settings": {"k": 9}}, "k"),
        ({"settings": {"params": {"top": 3}}}, "payload.top"),
        ({"settings": {"path_case": "insensitive"}}, "matching.path_case"),
        ({"config": {"metric_definitions_version": 2}}, "metric_definitions_version"),
    ],
)
def test_what_all_figures_depend_on_breaks_the_line(changes: dict[str, Any], name: str) -> None:
    _, now = trend(run(1), run(2, **changes))
    assert [one.name for one in now.breaks] == [name]
    assert now.delta is None


@pytest.mark.parametrize(
    ("metric", "breaks"),
    [
        ("groundedness", True),
        ("pass_rate", True),
        ("cost_usd.total", True),
        ("abstention_accuracy", True),
        ("five.composite", True),
        ("recall_at_k", False),
        ("latency_ms.p95", False),
        ("error_rate", False),
    ],
)
def test_another_judge_breaks_only_what_a_judge_has_a_part_in(metric: str, breaks: bool) -> None:
    other: dict[str, Any] = {"settings": {"judge": "gpt-x"}}
    _, now = trend(run(1, metric=metric), run(2, metric=metric, **other), metric=metric)
    assert bool(now.breaks) == breaks


def test_partial_runs_are_left_out_and_counted_unless_asked_for() -> None:
    part: dict[str, Any] = {"partial": True, "dataset_hash": "part"}
    runs = (run(1, 0.5), run(2, 0.9, **part), run(3, 0.75), run(4, **part))
    found = trend(*runs)
    assert [(p.run.run_id, p.delta, p.breaks) for p in found] == [
        ("r1", None, ()),
        ("r3", 0.25, ()),
    ]
    query = TrendQuery(metric="recall_at_k")
    assert count_left_out(runs, query, found) == 2
    everything = replace(query, partial=True)
    assert count_left_out(runs, everything, make_trend(runs, everything)) == 0
    names = [[one.name for one in point.breaks] for point in make_trend(runs, everything)]
    assert names == [[], ["selection"], ["selection"], ["selection"]]


def test_the_line_breaks_at_a_run_that_stopped_before_the_end_of_its_set() -> None:
    runs = (run(1), run(2, partial=True), run(3, partial=True), run(4))
    points = make_trend(runs, TrendQuery(metric="recall_at_k", partial=True))
    assert [[(one.name, one.base, one.new) for one in point.breaks] for point in points] == [
        [],
        [("selection", "complete", "incomplete")],
        [],
        [("selection", "incomplete", "complete")],
    ]


@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from(["d1", "d2"])), max_size=12))
def test_the_line_breaks_exactly_where_the_set_changes(days: list[tuple[int, str]]) -> None:
    found = trend(*(run(day, dataset_hash=dataset) for day, dataset in days))
    hashes = [point.run.dataset_hash for point in found]
    breaks = [bool(point.breaks) for point in found]
    assert breaks == [i > 0 and hashes[i] != hashes[i - 1] for i in range(len(hashes))]


def test_another_concurrency_breaks_the_line_of_latency_alone() -> None:
    def runs(metric: str) -> list[TrendRun]:
        return [run(day, metric=metric, config={"concurrency": day}) for day in (1, 2)]

    for metric, names in (("latency_ms.p95", ["concurrency"]), ("recall_at_k", [])):
        _, now = trend(*runs(metric), metric=metric)
        assert [one.name for one in now.breaks] == names


def test_another_number_of_repeats_breaks_the_line_of_figures_of_outcomes() -> None:
    def runs(metric: str) -> list[TrendRun]:
        return [run(day, metric=metric, settings={"repeats": day}) for day in (1, 3)]

    for metric in ("pass_hat_k", "flaky_rate", "stage.not_retrieved"):
        _, now = trend(*runs(metric), metric=metric)
        assert [(one.name, one.base, one.new) for one in now.breaks] == [("repeats", 1, 3)]
        assert (now.delta, now.changed) == (None, ())
    _, now = trend(*runs("recall_at_k"))
    assert (now.breaks, now.delta, now.changed) == ((), 0.0, ("repeats",))


# --- the figures of a run in one list, of whatever document they come from


def numbers(**fields: Any) -> Aggregate:
    erred = changed(failed("c9", category="b"), metrics={"hit_at_k": None})
    records = [*hits(1, 0, 1, category="a", tags=("t",)), erred]
    return replace(aggregate(records), **fields)


def test_every_metric_stands_overall_and_in_every_group() -> None:
    found = {(f.scope, f.group, f.metric): f for f in run_figures(numbers(), NO_CONFIG)}
    assert found["overall", "", "hit_at_k"].value == 2 / 3
    assert found["overall", "", "hit_at_k"].n_error == 1
    assert found["category", "a", "hit_at_k"].n == 3
    assert found["category", "b", "hit_at_k"].value is None
    assert found["tag", "t", "hit_at_k"].value == 2 / 3
    overall = {key for scope, _, key in found if scope == "overall"}
    assert overall >= {*BUILT_IN.cases} - {CONTEXT_CARRY}


def test_names_of_what_is_no_mean_are_those_of_thresholds() -> None:
    known = {*BUILT_IN.cases, *BUILT_IN.runs}
    figures = [f.metric for f in run_figures(numbers(), RunConfig(wall_s=3))]
    phases = [name for name in figures if name.startswith("latency_ms.") and name.count(".") > 1]
    assert set(figures) - set(phases) <= known
    assert {"suite_wall_s", "pass_rate", "error_rate", "latency_ms.p50"} <= set(figures)


def test_failure_stages_are_figures_also_those_that_no_case_has() -> None:
    def stages(**fields: Any) -> dict[str, float | None]:
        figures = run_figures(numbers(**fields), NO_CONFIG)
        return {f.metric: f.value for f in figures if f.metric.startswith("stage.")}

    found = stages(stages={"not_retrieved": 2})
    assert (found["stage.not_retrieved"], found["stage.incorrect"]) == (2, 0)
