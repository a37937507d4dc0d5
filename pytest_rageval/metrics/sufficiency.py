"""Whether the context holds what an answer needs, and whether the answer fits that.

Sufficient context as of Joren et al. (ICLR 2025), known from golds and key facts without a model.
"""

from __future__ import annotations

from typing import Final, Literal

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.judged import PASS_SHARE
from pytest_rageval.metrics.view import FAILED, UNANSWERABLE, NotApplicable, Score, Scores
from pytest_rageval.support.text import TOLERANCE
from pytest_rageval.values.case import Case

SUFFICIENCY_METRICS: Final = (
    "sufficient_context",
    "answered_without_evidence",
    "refused_with_evidence",
)
_NOTHING_NAMED: Final = NotApplicable(
    "The case has neither gold_supports nor expected_key_facts.", "case"
)
_SUFFICIENT: Final = NotApplicable("The context is sufficient.")
_INSUFFICIENT: Final = NotApplicable("The context is not sufficient.")

ContextRow = Literal["sufficient", "not_sufficient"]
ContextColumn = Literal["correct", "wrong", "not_judged", "abstained"]
CONTEXT_ROWS: Final[tuple[ContextRow, ...]] = ("sufficient", "not_sufficient")
CONTEXT_COLUMNS: Final[tuple[ContextColumn, ...]] = ("correct", "wrong", "not_judged", "abstained")
CONTEXT_KEYS: Final = ("sufficient_context", "over_abstention_rate", "correctness")
"""Metrics that decide the place of a case in the table."""
CORRECT: Final = PASS_SHARE * BUILT_IN.cases["correctness"].width
"""Lowest ``correctness`` of an answer that passes."""


def gold_key(case: Case) -> str:
    """Return the metric that shows whether the golds that a case needs were found."""
    return "recall_all_at_k" if case.required_support_groups else "hit_at_k"


def score_sufficiency(
    case: Case, scores: Scores, held: tuple[bool, ...] | Score
) -> dict[str, Score]:
    """Score the context, and the answer by it.

    Args:
        case: the question.
        scores: of the metrics of golds and abstention.
        held: whether the context states each key fact, or why that is unknown.
    """
    if not case.answerable:
        return dict.fromkeys(SUFFICIENCY_METRICS, UNANSWERABLE)
    sufficient = _sufficient(case, scores[gold_key(case)], _facts(case, held))
    if not isinstance(sufficient, float):
        return dict.fromkeys(SUFFICIENCY_METRICS, sufficient)
    abstained = scores["over_abstention_rate"]
    answered = 1.0 - abstained if isinstance(abstained, float) else abstained
    enough = sufficient == 1
    return {
        "sufficient_context": sufficient,
        "answered_without_evidence": _SUFFICIENT if enough else answered,
        "refused_with_evidence": abstained if enough else _INSUFFICIENT,
    }


def _facts(case: Case, held: tuple[bool, ...] | Score) -> Score:
    """Return whether every vital fact is there; where none is vital, every fact."""
    if not isinstance(held, tuple):
        return held
    vital = [there for there, needed in zip(held, case.vital_facts, strict=True) if needed]
    return float(all(vital or held))


def _sufficient(case: Case, golds: Score, facts: Score) -> Score:
    if not case.gold_supports and not case.stated_facts:
        return _NOTHING_NAMED
    if 1.0 in (golds, facts):
        return 1.0
    if FAILED in (golds, facts):
        return FAILED
    if isinstance(golds, float) or isinstance(facts, float):
        return 0.0
    return golds if case.gold_supports else facts


def context_cell(
    sufficient: float | None, abstained: float | None, correctness: float | None
) -> tuple[ContextRow, ContextColumn] | None:
    """Return the place of a case in the table of context and answer; None: it has none.

    Args:
        sufficient: ``sufficient_context``, of repeats the mean: more than half of them decide.
        abstained: ``over_abstention_rate``, likewise.
        correctness: of 5; None: not judged.
    """
    if sufficient is None or abstained is None:
        return None
    row: ContextRow = "sufficient" if sufficient > 0.5 else "not_sufficient"
    if abstained > 0.5:
        return row, "abstained"
    if correctness is None:
        return row, "not_judged"
    return row, "correct" if correctness >= CORRECT - TOLERANCE else "wrong"
