"""Did the case meet its expectation, and if something broke, at which stage.

Defined in docs/metrics.md#outcome-of-a-case.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pytest_rageval.metrics.judged import PASS_SHARE
from pytest_rageval.metrics.registry import METRICS
from pytest_rageval.metrics.rerank import compute_rerank
from pytest_rageval.metrics.view import CaseView
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import FailureStage, Outcome

Metrics = Mapping[str, float | None]

EXPECTED: Final = {
    "specificity_accuracy": 1.0,
    "recency_conflict_accuracy": 1.0,
    "abstention_accuracy": 1.0,
    "over_abstention_rate": 0.0,
}
_EMPTY_INDEX_COUNTS: Final = ("docs_processed", "chunks_embedded")


def retrieval_key(case: Case) -> str:
    """Return the metric that says whether a case got the evidence that it needs."""
    return "recall_all_at_k" if case.required_support_groups else "hit_at_k"


def decide_outcome(case: Case, metrics: Metrics, *, failed: bool) -> tuple[Outcome, bool]:
    """Decide a case from its deterministic metrics; judged scores play no part.

    Returns:
        The outcome, and whether nothing at all could be checked.
    """
    if failed:
        return "error", False
    expected = {retrieval_key(case): 1.0, **EXPECTED}
    met = [metrics[key] == want for key, want in expected.items() if metrics[key] is not None]
    return ("passed" if all(met) else "missed"), not met


def find_failure_stage(view: CaseView, metrics: Metrics) -> FailureStage | None:
    """Return the first stage at which a case broke; None if none did or the target failed.

    A case that met its expectation can still have one: what it answered may be uncited,
    ungrounded or incorrect, which is no miss unless thresholds say so.
    """
    if view.failed:
        return None
    if not view.case.answerable:
        return "hallucinated" if metrics["hallucination_rate_unanswerable"] == 1 else None
    return _lost_evidence(view, metrics) or _bad_answer(view, metrics)


def _lost_evidence(view: CaseView, metrics: Metrics) -> FailureStage | None:
    key = retrieval_key(view.case)
    found = metrics[key]
    if found is None:  # anchors cannot be told, documents perhaps can
        key, found = "doc_hit_at_k", metrics["doc_hit_at_k"]
    if found == 1 or not view.case.gold_supports:
        return None
    if _index_is_empty(view):
        return "not_indexed"
    if metrics["scope_miss_rate"] == 1:
        return "out_of_scope"
    if found is None:
        return None
    rerank = compute_rerank(view)
    return "lost_in_rerank" if rerank and rerank.before[key] == 1 else "not_retrieved"


def _index_is_empty(view: CaseView) -> bool:
    # The contract reports counts of the index, not its paths: only an empty one surely lacks the
    # gold.
    coverage = view.response.indexing_coverage if view.response is not None else None
    counts = [coverage.get(name) for name in _EMPTY_INDEX_COUNTS] if coverage else []
    return any(not isinstance(count, bool) and count == 0 for count in counts)


def _bad_answer(view: CaseView, metrics: Metrics) -> FailureStage | None:
    if metrics["over_abstention_rate"] == 1:
        return "wrongly_abstained"
    if metrics["attribution_hit_rate"] == 0 or _conflict_uncited(metrics):
        return "not_cited"
    if below_pass_line("groundedness", metrics):
        return "ungrounded"
    # All sources cited, and the answer hides that they differ.
    hides_conflict = metrics["recency_conflict_accuracy"] == 0
    return "incorrect" if hides_conflict or below_pass_line("correctness", metrics) else None


def _conflict_uncited(metrics: Metrics) -> bool:
    recall = metrics["attribution_recall"]
    return metrics["recency_conflict_accuracy"] == 0 and recall is not None and recall < 1


def below_pass_line(key: str, metrics: Metrics) -> bool:
    """Tell whether a judged metric was scored and does not reach 4 of 5."""
    value, high = metrics.get(key), METRICS[key].scale[1]
    return value is not None and high is not None and value < PASS_SHARE * high - 1e-9
