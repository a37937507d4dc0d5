"""The metrics.json of a run, and its groups.json: the breakdowns, which are larger than the rest.

Times are only under ``latency``, money and tokens spent only under ``cost``, so that every other
number, such as the tokens of a context, is equal between serial and parallel runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.support.text import counted
from pytest_rageval.values.config import RunConfig
from pytest_rageval.values.numbers import (
    Aggregate,
    LatencySummary,
    MetricSummary,
    RepeatSummary,
    group_size,
    no_data_reason,
)
from pytest_rageval.values.record import SCHEMA_VERSION

_ALIASES = {"recall_any_at_k_avg": "hit_at_k_avg"}
_OPERATIONAL = ("error_rate", "timeout_rate", "empty_response_rate")

BREAKDOWNS: Final = ("by_tag", "by_category", "by_difficulty", "by_answerable", "by_vault")
"""Parts of the numbers of a run that grow with its groups."""


STATISTICS = (
    "n", "n_not_applicable", "n_error", "mean", "median", "mean_errors_as_worst", "low", "high",
    "se", "method", "clusters",
)  # fmt: skip


def _means_document(metrics: Mapping[str, MetricSummary]) -> dict[str, float | None]:
    """Return means under the names of ``aggregate_metrics``, with their aliases."""
    means = {
        BUILT_IN.cases[key].aggregate_key if key in BUILT_IN.cases else f"{key}_avg": summary.mean
        for key, summary in metrics.items()
    }
    return {**means, **{alias: means[name] for alias, name in _ALIASES.items() if name in means}}


def _summary_document(summary: MetricSummary) -> dict[str, Any]:
    document = {name: getattr(summary, name) for name in STATISTICS}
    if summary.mean is None:
        document["reason"] = no_data_reason(summary)
    return document


def statistics_document(metrics: Mapping[str, MetricSummary]) -> dict[str, dict[str, Any]]:
    """Return each mean with its counts and interval, by plain metric key."""
    return {key: _summary_document(summary) for key, summary in metrics.items()}


def _group_document(metrics: Mapping[str, MetricSummary]) -> dict[str, Any]:
    # A group leaves out metrics that apply to none of its cases: tags would be mostly nulls.
    known = {key: s for key, s in metrics.items() if s.n or s.n_error}
    return {
        "total_tests": group_size(metrics),
        **_means_document(known),
        "statistics": statistics_document(known),
    }


def _latency_document(latency: LatencySummary) -> dict[str, Any]:
    document = asdict(latency)
    total_ms = document.pop("sum_ms")
    return {**document, "total_ms": total_ms}


def _aggregate_document(
    aggregate: Aggregate, judge_reliability: Mapping[str, Any] | None
) -> dict[str, Any]:
    by_type = aggregate.indexing.get("coverage_by_doc_type", {})
    usage = {name: asdict(one) for name, one in aggregate.usage.items()}
    return {
        **_means_document(aggregate.metrics),
        "pass_rate": aggregate.rates.get("pass_rate"),
        "cross_lingual_consistency": aggregate.cross_lingual.get("mean"),
        "judge_reliability": dict(judge_reliability) if judge_reliability is not None else None,
        "latency": {
            **_latency_document(aggregate.latency),
            "concurrency": 0,
            "by_phase": {
                name: _latency_document(phase) for name, phase in aggregate.latency_by_phase.items()
            },
        },
        "cost": {
            "total_usd": aggregate.cost_usd,
            "uncached_usd": aggregate.cost_usd_uncached,
            "judge_tokens": aggregate.judge_tokens,
            **({"target": usage} if usage else {}),
        },
        "indexing_coverage": _indexing_document(aggregate.indexing),
        "operational_metrics": {
            **dict.fromkeys(_OPERATIONAL),
            **{key: rate for key, rate in aggregate.rates.items() if key != "pass_rate"},
            "coverage_by_doc_type": by_type,
        },
    }


def metrics_document(
    aggregate: Aggregate,
    config: RunConfig,
    *,
    judge_reliability: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return metrics.json with the parts of groups.json as plain JSON values, without NaN.

    Args:
        aggregate: the run's numbers.
        config: its config.json, of which the name, time and hashes are repeated.
        judge_reliability: findings of a spot check of the judge; None: there was none.
    """
    numbers = numbers_document(aggregate, judge_reliability=judge_reliability)
    numbers["aggregate_metrics"]["latency"]["concurrency"] = config.concurrency
    warnings = list(aggregate.warnings)
    if n := len(aggregate.target_warnings):
        lines = counted(n, "line")
        warnings.append(
            f"indexing coverage: the target warns in {lines}, which results.jsonl holds"
        )
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": config.run_id,
        "timestamp": config.timestamp,
        "config_hash": config.config_hash,
        "dataset_hash": config.dataset_hash,
        # For information only: the content hashes decide.
        "eval_set_commit_hash": config.git.eval_set_commit,
        "dirty": config.git.dirty,
        "total_tests": aggregate.total,
        "answerable_tests": aggregate.answerable,
        "unanswerable_tests": aggregate.unanswerable,
        "passed": aggregate.passed,
        "flawed": aggregate.flawed,
        "missed": aggregate.missed,
        "errored": aggregate.errored,
        "unchecked": aggregate.unchecked,
        "stages": dict(aggregate.stages),
        "matching": dict(aggregate.matching),
        **numbers,
        "warnings": warnings,
    }


def split_groups(document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return metrics.json, which is small enough for git, and groups.json, which stays local."""
    metrics = {name: found for name, found in document.items() if name not in BREAKDOWNS}
    named = ("schema_version", "run_id", *BREAKDOWNS)
    return metrics, {name: document[name] for name in named}


def with_groups(metrics: Mapping[str, Any], groups: Mapping[str, Any]) -> dict[str, Any]:
    """Return both documents as one; metrics.json of older versions holds the breakdowns itself."""
    return {**metrics, **{name: groups[name] for name in BREAKDOWNS if name in groups}}


def numbers_document(
    aggregate: Aggregate, *, judge_reliability: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return means, statistics, breakdowns and analyses, as in metrics.json and groups.json."""
    return {
        "aggregate_metrics": _aggregate_document(aggregate, judge_reliability),
        "statistics": statistics_document(aggregate.metrics),
        **{
            name: {g: _group_document(found) for g, found in getattr(aggregate, name).items()}
            for name in BREAKDOWNS
        },
        **_analyses_document(aggregate),
    }


def _indexing_document(indexing: Mapping[str, Any]) -> dict[str, Any] | None:
    # Warnings of the target may quote its documents, and this file goes into git.
    if not indexing:
        return None
    numbers = {key: value for key, value in indexing.items() if key != "target_warnings"}
    return {**numbers, "n_target_warnings": len(indexing.get("target_warnings", ()))}


def _analyses_document(aggregate: Aggregate) -> dict[str, Any]:
    """Return the results beside the means; None: the run lacks the data for one."""
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
        **asdict(found),
        "pass_at_k": {str(k): value for k, value in found.pass_at_k.items()},
        "pass_hat_k": {str(k): value for k, value in found.pass_hat_k.items()},
        "flaky_cases": [
            {"file": file, "case_id": case_id, "passes": passes}
            for file, case_id, passes in found.flaky_cases
        ],
    }
