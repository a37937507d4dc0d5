"""A comparison of two runs as JSON values, for ``rageval compare --json``. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, Final

from msgspec import to_builtins

from pytest_rageval.analysis.compare.flips import CaseFlip
from pytest_rageval.analysis.compare.metrics import GroupChange, MetricChange, UnpairedChange
from pytest_rageval.analysis.compare.settings import ConfigDifference
from pytest_rageval.analysis.two_runs import CheckedComparison
from pytest_rageval.values.run import StoredRun

_MEANS: Final = ("base", "new", "delta", "low", "high")
_METRIC: Final = (
    *_MEANS, "p", "tests", "n", "verdict", "n_base_only", "n_new_only", "clusters", "margin",
    "mde",
)  # fmt: skip
_GROUP: Final = (*_MEANS, "n", "clusters")


def comparison_document(view: CheckedComparison) -> dict[str, Any]:
    """Return a comparison as JSON values, without ``schema_version``."""
    found = view.found
    comparison, comparability = found.comparison, found.comparability
    conclusion = found.conclusion
    document: dict[str, Any] = {
        "base": found.base.run_id,
        "new": found.new.run_id,
        "comparable": found.comparable,
        "differing_invariants": {
            one.name: {"base": one.base, "new": one.new, "affects": one.affects}
            for one in comparability.invariants
        },
        "invariants_ignored": found.ignored,
        "n_paired": comparison.n_paired,
        "n_left_out": comparison.n_left_out,
        "left_out": [asdict(one) for one in comparison.pairing.left_out],
        "confidence": comparison.confidence,
        "verdict": conclusion.word,
        "verdict_sentence": conclusion.sentence,
        "incomplete": conclusion.incomplete,
        "unit": comparison.clustering.by,
        "n_documents": comparison.clustering.n_documents,
        "headline": found.headline,
        "pass_rate": None if comparison.passed is None else _metric(comparison.passed),
        "p_of_documents": comparison.p_of_documents,
        "latency_ms": None if comparison.time is None else _metric(comparison.time),
        "metrics": {key: _metric(one) for key, one in comparison.metrics.items()},
        "latency": {key: _latency(one) for key, one in comparison.latency.items()},
        "run_metrics": {key: _latency(one) for key, one in comparison.run_metrics.items()},
        "latency_problem": found.latency_problem or None,
        "flips": [_flip(one) for one in comparison.flips],
        "newly_missed": list(comparison.newly_missed),
        "stages": {
            stage: {"base": base, "new": new} for stage, (base, new) in comparison.stages.items()
        },
        "versions_changed": _differences(comparability.versions),
        "config_diff": _differences((*comparability.versions, *comparability.config)),
        "warning": comparability.warning,
        "runs": {"base": _side(found.base), "new": _side(found.new)},
        "checks": [{"name": one.check.name, **asdict(one)} for one in view.checks],
        "notes": list(view.notes),
        "groups": _groups(view.groups),
    }
    plain: dict[str, Any] = to_builtins(document, str_keys=True)
    return plain


def _fields(one: object, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(one, name) for name in names}


def _metric(one: MetricChange) -> dict[str, Any]:
    noise = None if one.noise is None else asdict(one.noise)
    return {**_fields(one, _METRIC), "judge_noise": noise}


def _groups(groups: Sequence[GroupChange]) -> dict[str, Any]:
    found: dict[str, dict[str, dict[str, Any]]] = {"category": {}, "tag": {}}
    for one in groups:
        row = {**_fields(one.change, _GROUP), "verdict": one.verdict}
        found[one.table].setdefault(one.group, {})[one.change.key] = row
    return found


def _latency(one: UnpairedChange) -> dict[str, Any]:
    return {key: value for key, value in asdict(one).items() if key != "key"}


def _flip(one: CaseFlip) -> dict[str, Any]:
    fields = asdict(one)
    return {"file": fields.pop("file"), "id": fields.pop("case_id"), **fields}


def _differences(found: Iterable[ConfigDifference]) -> dict[str, Any]:
    return {one.name: {"base": one.base, "new": one.new} for one in found}


def _side(side: StoredRun) -> dict[str, Any]:
    return {
        "run_id": side.run_id,
        "tags": list(side.tags),
        "timestamp": side.config.timestamp,
        "n_cases": side.n_cases,
        "dataset_hash": side.config.dataset_hash,
        "commit": side.config.git.commit,
        "judge": side.judge,
    }
