from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.runs.metrics_document import metrics_document
from pytest_rageval.values.case import Case
from pytest_rageval.values.config import GitState, RunConfig
from pytest_rageval.values.record import CaseRecord
from tests.build.records import failed, hits, record

CONFIG = RunConfig(run_id="r1", timestamp="2026-01-01T00:00:00Z")


def document(
    records: list[CaseRecord], reliability: dict[str, Any] | None = None, **facts: Any
) -> dict[str, Any]:
    return metrics_document(
        aggregate(records), replace(CONFIG, **facts), judge_reliability=reliability
    )


def places(value: object, words: tuple[str, ...], path: str = "") -> list[str]:
    """Paths of the keys that hold one of the words."""
    if not isinstance(value, dict):
        return []
    found = [f"{path}.{key}" for key in value if any(word in str(key) for word in words)]
    return found + [p for k, v in value.items() for p in places(v, words, f"{path}.{k}")]


RUN = [
    *hits(1, 0, 1, latency={"total_ms": 5, "retrieval_ms": 2}, tags=("work",)),
    record("z", cost={"judge_prompt_tokens": 5, "judge_cost_usd": 0.1}, vaults=("v",)),
    failed("y", "timeout"),
]


def test_the_document_is_json_without_nan() -> None:
    for records in (RUN, []):
        text = json.dumps(document(records), allow_nan=False)
        assert json.loads(text)["run_id"] == "r1"


def test_means_carry_the_seed_names_and_their_aliases() -> None:
    means = document(RUN)["aggregate_metrics"]
    assert means["hit_at_k_avg"] == means["recall_any_at_k_avg"] == pytest.approx(2 / 3)
    for name in (
        "recall_at_k_avg",
        "recall_all_at_k_avg",
        "mrr_avg",
        "precision_at_k_avg",
        "ndcg_at_k_avg",
        "map_avg",
        "scope_miss_rate",
        "attribution_hit_rate",
        "groundedness_avg",
        "correctness_avg",
        "abstention_accuracy",
        "hallucination_rate_unanswerable",
        "judge_reliability",
    ):
        assert means[name] is None, name


def test_statistics_carry_plain_keys_with_counts_and_interval() -> None:
    found = document(RUN)["statistics"]["hit_at_k"]
    assert (found["n"], found["n_not_applicable"], found["n_error"]) == (3, 2, 0)
    assert found["method"] == "wilson"
    assert found["low"] < found["mean"] < found["high"]


def test_a_mean_that_is_missing_has_a_reason() -> None:
    found = document([failed("a", metrics={"mrr": None})])["statistics"]
    assert found["mrr"]["reason"] == "no case was scored (0 not applicable, 1 error)"
    assert found["map"]["reason"] == "no case was scored (1 not applicable, 0 errors)"


def test_times_stand_only_under_latency_and_money_only_under_cost() -> None:
    found = document(RUN)
    times = places(found, ("_ms", "_s_", "wall"))
    money = [
        place
        for place in places(found, ("usd", "token", "cost_"))
        if place.rpartition(".")[2].removesuffix("_avg") not in BUILT_IN.cases  # a context's tokens
    ]
    assert times
    assert money
    assert all(p.startswith(".aggregate_metrics.latency.") for p in times)
    assert all(p.startswith(".aggregate_metrics.cost.") for p in money)


def test_latency_cost_and_rates_have_their_places() -> None:
    found = document(RUN)["aggregate_metrics"]
    assert found["latency"]["p50_ms"] == 5
    assert found["latency"]["by_phase"]["retrieval"]["p50_ms"] == 2
    assert "sum_ms" not in {**found["latency"], **found["latency"]["by_phase"]["retrieval"]}
    assert found["cost"] == {"total_usd": 0.1, "uncached_usd": 0.1, "judge_tokens": 5}
    assert found["operational_metrics"] == {
        "error_rate": 0.2,
        "timeout_rate": 0.2,
        "empty_response_rate": 0.0,
        "coverage_by_doc_type": {},
    }


def test_groups_hold_their_size_means_and_counts() -> None:
    found = document(RUN)
    work = found["by_tag"]["work"]
    assert work["total_tests"] == 3
    assert work["hit_at_k_avg"] == pytest.approx(2 / 3)
    assert list(work["statistics"]) == ["hit_at_k"]
    assert found["by_vault"]["v"]["total_tests"] == 1
    assert found["by_category"]["general"]["total_tests"] == 5


def test_facts_of_the_run_stand_at_the_top() -> None:
    found = document(RUN, {"n": 2}, config_hash="c", dataset_hash="d", git=GitState(dirty=True))
    assert (found["schema_version"], found["config_hash"], found["dirty"]) == (1, "c", True)
    assert (found["total_tests"], found["answerable_tests"]) == (5, 5)
    assert found["aggregate_metrics"]["judge_reliability"] == {"n": 2}


def test_correctness_stands_apart_by_reference_with_its_counts() -> None:
    records = [
        record(name, {"correctness": score}, case=Case(id=name, question="?", expected_answer=text))
        for name, score, text in (("a", 2.0, "so"), ("b", 4.0, None))
    ]
    document = metrics_document(aggregate(records), CONFIG)
    apart = document["correctness_by_reference"]
    assert {name: (part["mean"], part["n"]) for name, part in apart.items()} == {
        "reference": (2.0, 1),
        "no_reference": (4.0, 1),
    }
    alike = metrics_document(aggregate(records[:1]), CONFIG)
    assert alike["correctness_by_reference"] is None
