"""The figures of a run in one list, of whatever document they come from."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.analysis.trend import run_figures
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.runs.metrics_document import metrics_document
from pytest_rageval.values.config import NO_CONFIG, RunConfig
from pytest_rageval.values.json_documents import number, whole
from tests.build.records import changed, failed, hits

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)


def document(**fields: Any) -> dict[str, Any]:
    erred = changed(failed("c9", category="b"), metrics={"hit_at_k": None})
    records = [
        *hits(1, 0, 1, category="a", tags=("t",)),
        erred,
    ]
    return {**metrics_document(aggregate(records), NO_CONFIG), **fields}


def test_every_metric_stands_overall_and_in_every_group() -> None:
    found = {(f.scope, f.group, f.metric): f for f in run_figures(document(), NO_CONFIG)}
    assert found["overall", "", "hit_at_k"].value == 2 / 3
    assert found["overall", "", "hit_at_k"].n_error == 1
    assert found["category", "a", "hit_at_k"].n == 3
    assert found["category", "b", "hit_at_k"].value is None
    assert found["tag", "t", "hit_at_k"].value == 2 / 3
    assert {key for scope, _, key in found if scope == "overall"} >= set(BUILT_IN.cases)


def test_names_of_what_is_no_mean_are_those_of_thresholds() -> None:
    known = {*BUILT_IN.cases, *BUILT_IN.runs}
    figures = [f.metric for f in run_figures(document(), RunConfig(wall_s=3))]
    phases = [name for name in figures if name.startswith("latency_ms.") and name.count(".") > 1]
    assert set(figures) - set(phases) <= known
    assert {"suite_wall_s", "pass_rate", "error_rate", "latency_ms.p50"} <= set(figures)


def test_failure_stages_are_figures_also_those_that_no_case_has() -> None:
    def stages(**fields: Any) -> dict[str, float | None]:
        figures = run_figures(document(**fields), NO_CONFIG)
        return {f.metric: f.value for f in figures if f.metric.startswith("stage.")}

    found = stages(stages={"not_retrieved": 2})
    assert (found["stage.not_retrieved"], found["stage.incorrect"]) == (2, 0)
    older = document()
    del older["stages"]
    assert not any(f.metric.startswith("stage.") for f in run_figures(older, NO_CONFIG))


def test_phases_of_latency_have_names_of_their_own() -> None:
    latency = {"p95_ms": 9, "by_phase": {"retrieval": {"p95_ms": 4.5}, "total": {"p95_ms": 1}}}
    found = run_figures({"aggregate_metrics": {"latency": latency}}, NO_CONFIG)
    values = {figure.metric: figure.value for figure in found}
    assert values == {"latency_ms.p95": 9, "latency_ms.retrieval.p95": 4.5}


@given(JSON, JSON)
def test_any_document_gives_figures_or_none(inner: Any, other: Any) -> None:
    for key in ("statistics", "by_tag", "aggregate_metrics"):
        for found in run_figures({key: inner, "by_category": {"x": other}}, NO_CONFIG):
            told = [found.value, found.n, found.low]
            assert json.loads(json.dumps(told, allow_nan=False)) == told


def test_numbers_are_finite_and_counts_fit() -> None:
    assert [number(v) for v in (1, 0.5, True, "1", float("nan"), 10**400, None)] == [
        *(1.0, 0.5),
        *[None] * 5,
    ]
    assert [whole(v) for v in (3, 3.0, True, 2**63, -(2**62))] == [3, None, None, None, -(2**62)]
