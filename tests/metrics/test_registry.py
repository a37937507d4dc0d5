from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_rageval.metrics.registry import (
    ALIASES,
    FIVE_WEIGHTS,
    METRICS,
    RUN_METRICS,
    metric_info,
    resolve_metric_key,
    unit_of,
)
from pytest_rageval.support.text import Unit


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("recall_any_at_k", "hit_at_k"),
        ("success_at_k", "hit_at_k"),
        ("doc_hit", "doc_hit_at_k"),
        ("doc_recall", "doc_recall_at_k"),
        ("doc_precision", "doc_precision_at_k"),
        ("doc_precision_returned", "doc_precision_returned_at_k"),
        ("doc_ndcg", "doc_ndcg_at_k"),
        ("doc_mrr", "doc_mrr"),
        ("mrr", "mrr"),
        ("latency_ms.p95", "latency_ms.p95"),
        ("recall", None),
        ("", None),
    ],
)
def test_names_and_aliases_resolve_to_one_key(name: str, key: str | None) -> None:
    assert resolve_metric_key(name) == key
    info = metric_info(name)
    assert (info.key if info else None) == key


def test_no_alias_hides_a_key() -> None:
    assert not ALIASES.keys() & (METRICS.keys() | RUN_METRICS.keys())
    assert not METRICS.keys() & RUN_METRICS.keys()


def test_every_metric_is_described() -> None:
    infos = [*METRICS.values(), *RUN_METRICS.values()]
    titles = [info.title for info in infos]
    assert len(set(titles)) == len(titles)
    assert all(info.title and info.population for info in infos)
    assert all(info.scale == (0.0, 1.0) for info in METRICS.values() if info.binary)


def test_only_judged_and_answer_metrics_judge_the_answer() -> None:
    answer_side = {key for key, info in METRICS.items() if info.answer_side}
    assert {"attribution_hit_rate", "over_abstention_rate", "groundedness"} <= answer_side
    assert not answer_side & {"hit_at_k", "doc_map", "negative_accuracy", "scope_miss_rate"}
    judged = {key for key, info in METRICS.items() if info.judged}
    assert "five.composite" in judged
    assert "abstention_accuracy" not in judged


@pytest.mark.parametrize(
    ("key", "worst"), [("mrr", 0), ("scope_miss_rate", 1), ("groundedness", 0)]
)
def test_the_worst_value_follows_the_direction(key: str, worst: float) -> None:
    assert METRICS[key].worst == worst


@pytest.mark.parametrize(
    ("key", "mean"),
    [
        ("recall_at_k", "recall_at_k_avg"),
        ("map", "map_avg"),
        ("groundedness", "groundedness_avg"),
        ("scope_miss_rate", "scope_miss_rate"),
        ("attribution_hit_rate", "attribution_hit_rate"),
        ("abstention_accuracy", "abstention_accuracy"),
        ("hallucination_rate_unanswerable", "hallucination_rate_unanswerable"),
        ("claim_support_rate", "claim_support_rate"),
        *((f"five.{name}", f"five.{name}_avg") for name in (*FIVE_WEIGHTS, "composite")),
    ],
)
def test_means_carry_the_customary_names(key: str, mean: str) -> None:
    assert METRICS[key].aggregate_key == mean


def test_the_weights_of_the_five_dimensions_sum_to_one() -> None:
    assert sum(FIVE_WEIGHTS.values()) == pytest.approx(1)
    assert {f"five.{name}" for name in FIVE_WEIGHTS} <= METRICS.keys()


def test_the_registry_imports_only_the_standard_library() -> None:
    code = (
        "import sys; import pytest_rageval.metrics.registry;"
        "foreign = {m.partition('.')[0] for m in sys.modules} - set(sys.stdlib_module_names);"
        "print(sorted(m for m in foreign if not m.startswith(('_', 'pytest_rageval'))))"
    )
    shown = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("metric", "unit"),
    [
        ("recall_at_k", "score"),
        ("error_rate", "score"),
        ("latency_ms.p95", "ms"),
        ("latency_ms.retrieval.p95", "ms"),
        ("cost_usd.total", "usd"),
        ("newly_missed", "count"),
        ("judge_tokens", "count"),
    ],
)
def test_unit_of_a_metric(metric: str, unit: Unit) -> None:
    assert unit_of(metric) == unit
