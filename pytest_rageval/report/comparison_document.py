"""A comparison of two runs as JSON values, for ``rageval compare --json``. Pure."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from msgspec import to_builtins

from pytest_rageval.analysis.two_runs import CheckedComparison
from pytest_rageval.runs.list import run_entry


def comparison_document(view: CheckedComparison) -> dict[str, Any]:
    """Return a comparison as JSON values, without ``schema_version``."""
    found = view.found
    comparison, comparability = found.comparison, found.comparability
    conclusion = found.conclusion
    document: dict[str, Any] = {
        "base": found.base.run_id,
        "new": found.new.run_id,
        "comparable": found.comparable,
        "differing_invariants": {one.name: one for one in comparability.invariants},
        "invariants_ignored": found.ignored,
        "n_paired": comparison.n_paired,
        "n_left_out": comparison.n_left_out,
        "left_out": comparison.pairing.left_out,
        "confidence": comparison.confidence,
        "verdict": conclusion.word,
        "verdict_sentence": conclusion.sentence,
        "incomplete": conclusion.incomplete,
        "unit": comparison.clustering.by,
        "n_documents": comparison.clustering.n_documents,
        "headline": found.headline,
        "pass_rate": comparison.passed,
        "p_of_documents": comparison.p_of_documents,
        "latency_ms": comparison.time,
        "metrics": comparison.metrics,
        "latency": comparison.latency,
        "run_metrics": comparison.run_metrics,
        "latency_problem": found.latency_problem or None,
        "flips": comparison.flips,
        "newly_missed": comparison.newly_missed,
        "stages": {
            stage: {"base": base, "new": new} for stage, (base, new) in comparison.stages.items()
        },
        "contexts": comparison.contexts,
        "versions_changed": {one.name: one for one in comparability.versions},
        "config_diff": {one.name: one for one in (*comparability.versions, *comparability.config)},
        "warning": comparability.warning,
        "runs": {"base": run_entry(found.base), "new": run_entry(found.new)},
        "checks": [{"name": one.check.name, **asdict(one)} for one in view.checks],
        "notes": view.notes,
        "groups": view.groups,
    }
    plain: dict[str, Any] = to_builtins(document, str_keys=True)
    return plain
