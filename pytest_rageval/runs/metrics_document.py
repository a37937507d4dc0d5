"""The metrics.json of a run.

Times stand only under ``latency``, money and tokens only under ``cost``, so that every other
number is equal between serial and parallel runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from pytest_rageval.metrics.registry import METRICS
from pytest_rageval.support.text import counted
from pytest_rageval.values.documents import value
from pytest_rageval.values.numbers import (
    Aggregate,
    LatencySummary,
    MetricSummary,
    RepeatSummary,
    no_data_reason,
)
from pytest_rageval.values.record import SCHEMA_VERSION

_ALIASES = {"recall_any_at_k_avg": "hit_at_k_avg"}
_OPERATIONAL = ("error_rate", "timeout_rate", "empty_response_rate")


def aggregate_key(key: str) -> str:
    """The name of a metric's mean in ``aggregate_metrics`` and ``by_*``."""
    info = METRICS.get(key)
    return info.aggregate_key if info is not None else f"{key}_avg"


def means_document(metrics: Mapping[str, MetricSummary]) -> dict[str, float | None]:
    """Means under the names of ``aggregate_metrics``, with their aliases."""
    means = {aggregate_key(key): summary.mean for key, summary in metrics.items()}
    aliases = {alias: means[name] for alias, name in _ALIASES.items() if name in means}
    return {**means, **aliases}


def _summary_document(summary: MetricSummary) -> dict[str, Any]:
    document: dict[str, Any] = {
        "n": summary.n,
        "n_not_applicable": summary.n_not_applicable,
        "n_error": summary.n_error,
        "mean": summary.mean,
        "median": summary.median,
        "mean_errors_as_worst": summary.mean_errors_as_worst,
        "low": summary.low,
        "high": summary.high,
        "se": summary.se,
        "method": summary.method,
        "clusters": summary.clusters,
    }
    if summary.mean is None:
        document["reason"] = no_data_reason(summary)
    return document


def statistics_document(metrics: Mapping[str, MetricSummary]) -> dict[str, dict[str, Any]]:
    """Each mean with its counts and interval, by plain metric key."""
    return {key: _summary_document(summary) for key, summary in metrics.items()}


def _group_document(metrics: Mapping[str, MetricSummary]) -> dict[str, Any]:
    # A group leaves out what none of its cases could have had: tags would be mostly nulls.
    known = {key: s for key, s in metrics.items() if s.n or s.n_error}
    counts = next(iter(metrics.values()), MetricSummary(n=0))
    return {
        "total_tests": counts.n + counts.n_not_applicable + counts.n_error,
        **means_document(known),
        "statistics": statistics_document(known),
    }


def _latency_document(latency: LatencySummary) -> dict[str, Any]:
    return {
        "n": latency.n,
        "n_excluded": latency.n_excluded,
        "n_cached": latency.n_cached,
        "n_censored": latency.n_censored,
        "p50_ms": latency.p50_ms,
        "p95_ms": latency.p95_ms,
        "p50_censored": latency.p50_censored,
        "p95_censored": latency.p95_censored,
        "total_ms": latency.sum_ms,
    }


def aggregate_document(
    aggregate: Aggregate, *, judge_reliability: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The ``aggregate_metrics`` of metrics.json."""
    by_type = aggregate.indexing.get("coverage_by_doc_type", {})
    return {
        **means_document(aggregate.metrics),
        "pass_rate": aggregate.rates.get("pass_rate"),
        "cross_lingual_consistency": aggregate.cross_lingual.get("mean"),
        "judge_reliability": dict(judge_reliability) if judge_reliability is not None else None,
        "latency": {
            **_latency_document(aggregate.latency),
            "by_phase": {
                name: _latency_document(phase) for name, phase in aggregate.latency_by_phase.items()
            },
        },
        "cost": {
            "total_usd": aggregate.cost_usd,
            "uncached_usd": aggregate.cost_usd_uncached,
            "judge_tokens": aggregate.judge_tokens,
        },
        "indexing_coverage": _indexing_document(aggregate.indexing),
        "operational_metrics": {
            **{key: aggregate.rates.get(key) for key in _OPERATIONAL},
            **{k: v for k, v in aggregate.rates.items() if k not in {*_OPERATIONAL, "pass_rate"}},
            "coverage_by_doc_type": by_type,
        },
    }


def metrics_document(
    aggregate: Aggregate,
    config: Mapping[str, Any],
    *,
    judge_reliability: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the whole metrics.json as plain JSON values, without NaN.

    Args:
        aggregate: the run's numbers.
        config: its config.json, of which the name, time and hashes are repeated.
        judge_reliability: findings of a spot check of the judge; None: there was none.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": config["run_id"],
        "timestamp": config["timestamp"],
        "config_hash": config.get("config_hash"),
        "dataset_hash": config.get("dataset_hash"),
        # For information only: the content hashes decide.
        "eval_set_commit_hash": value(config, "git", "eval_set_commit"),
        "dirty": value(config, "git", "dirty"),
        "total_tests": aggregate.total,
        "answerable_tests": aggregate.answerable,
        "unanswerable_tests": aggregate.unanswerable,
        "passed": aggregate.passed,
        "missed": aggregate.missed,
        "errored": aggregate.errored,
        "unchecked": aggregate.unchecked,
        "aggregate_metrics": aggregate_document(aggregate, judge_reliability=judge_reliability),
        "statistics": statistics_document(aggregate.metrics),
        **groups_document(aggregate),
        **analyses_document(aggregate),
        "warnings": [*aggregate.warnings, *_told_elsewhere(aggregate)],
    }


def _indexing_document(indexing: Mapping[str, Any]) -> dict[str, Any] | None:
    # What the target says in words may quote its documents, and this file goes into git.
    if not indexing:
        return None
    told = indexing.get("target_warnings", ())
    numbers = {key: value for key, value in indexing.items() if key != "target_warnings"}
    return {**numbers, "n_target_warnings": len(told)}


def _told_elsewhere(aggregate: Aggregate) -> Iterator[str]:
    n = len(aggregate.target_warnings)
    if n:
        lines = counted(n, "line")
        yield f"indexing coverage: the target warns in {lines}, which results.jsonl holds"


def groups_document(aggregate: Aggregate) -> dict[str, Any]:
    """Means and statistics by tag, category, difficulty, answerable and vault."""
    breakdowns = {
        "by_tag": aggregate.by_tag,
        "by_category": aggregate.by_category,
        "by_difficulty": aggregate.by_difficulty,
        "by_answerable": aggregate.by_answerable,
        "by_vault": aggregate.by_vault,
    }
    return {
        name: {group: _group_document(metrics) for group, metrics in breakdown.items()}
        for name, breakdown in breakdowns.items()
    }


def analyses_document(aggregate: Aggregate) -> dict[str, Any]:
    """What a run tells beside its means; None: the run holds nothing to tell it from."""
    repeats = aggregate.repeats
    return {
        "abstention": {name: dict(counts) for name, counts in aggregate.abstention.items()},
        "rerank": {key: asdict(found) for key, found in aggregate.rerank.items()} or None,
        "repeats": None if repeats is None else _repeats_document(repeats),
        "cross_lingual_consistency": dict(aggregate.cross_lingual) or None,
        "correctness_by_reference": statistics_document(aggregate.correctness_by_reference) or None,
    }


def _repeats_document(found: RepeatSummary) -> dict[str, Any]:
    return {
        "repeats": found.repeats,
        "n": found.n,
        "flaky_rate": found.flaky_rate,
        "flip_probability": found.flip_probability,
        "pass_at_k": {str(k): value for k, value in found.pass_at_k.items()},
        "pass_hat_k": {str(k): value for k, value in found.pass_hat_k.items()},
        "flaky_cases": [
            {"file": file, "case_id": case_id, "passes": passes}
            for file, case_id, passes in found.flaky_cases
        ],
        "variance": {key: dict(split) for key, split in found.variance.items()},
    }
