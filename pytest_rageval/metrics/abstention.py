"""Whether the target refuses what it cannot answer, and only that (docs/metrics.md#abstention)."""

from __future__ import annotations

from pytest_rageval.metrics.view import FAILED, CaseView, NotApplicable, Score, Scores


def score_abstention(view: CaseView) -> Scores:
    """Score abstention; refusing everything is perfect but for ``over_abstention_rate``.

    ``hallucination_rate_unanswerable`` is 1 minus ``abstention_accuracy``, case by case.
    """
    score = _abstained(view)
    if view.case.answerable:
        outside = NotApplicable("The case is answerable.")
        return {
            "abstention_accuracy": outside,
            "hallucination_rate_unanswerable": outside,
            "over_abstention_rate": score,
        }
    return {
        "abstention_accuracy": score,
        "hallucination_rate_unanswerable": 1.0 - score if isinstance(score, float) else score,
        "over_abstention_rate": NotApplicable("The case is unanswerable."),
    }


def _abstained(view: CaseView) -> Score:
    if view.failed:
        return FAILED
    if view.abstained is not None:
        return float(view.abstained)
    if not view.settings.judge_configured:
        return NotApplicable("The target does not say whether it abstained, and there is no judge.")
    return FAILED
