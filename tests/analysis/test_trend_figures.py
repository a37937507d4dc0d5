"""The figures of a run in one list, of whatever document they come from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.analysis.trend import run_figures
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.context import CONTEXT_CARRY
from pytest_rageval.values.numbers import Aggregate
from pytest_rageval.values.run import NO_CONFIG, RunConfig
from tests.build.records import changed, failed, hits


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
