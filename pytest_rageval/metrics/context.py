"""Metrics of the context: the key facts that the passages in the cut hold.

Defined in docs/metrics.md#context; the facts were looked up before (``Verdicts.evidence``).
"""

from __future__ import annotations

from typing import Final

from pytest_rageval.metrics.retrieval import chunks_missing
from pytest_rageval.metrics.view import FAILED, CaseView, NotApplicable, Score, Scores

NOT_LOOKED_UP: Final = NotApplicable("Nothing was looked up in the passages.")
TEXTS_MISSING: Final = NotApplicable("A chunk in the cut came without its whole text.")


def score_context(view: CaseView) -> Scores:
    """Score which key facts the context states, and which of those the answer states."""
    held = facts_held(view)
    if not isinstance(held, tuple):
        return {"fact_recall_in_context": held, "context_utilization": _blocked(view) or held}
    recall = sum(held) / len(held)
    return {"fact_recall_in_context": recall, "context_utilization": _utilization(view, held)}


def facts_held(view: CaseView) -> tuple[bool, ...] | Score:
    """Return for each key fact whether a passage in the cut states it, or why that is unknown."""
    if not view.case.answerable:
        return NotApplicable("The case is unanswerable.")
    facts = view.case.stated_facts
    if not facts:
        return NotApplicable("The case has no expected_key_facts.")
    blocked = chunks_missing(view)
    if blocked is not None:
        return blocked
    if not view.texts_whole:
        return TEXTS_MISSING
    found = None if view.evidence is None else view.evidence.facts
    if found is None or len(found) != len(facts):
        return NOT_LOOKED_UP
    return tuple(map(bool, found))


def unused_facts(view: CaseView) -> bool:
    """Whether the answer lacks key facts, and the context states every one that it lacks."""
    held, evidence = facts_held(view), view.evidence
    stated = None if evidence is None else evidence.facts_stated
    if not isinstance(held, tuple) or stated is None or len(stated) != len(held):
        return False
    lacking = [there for there, said in zip(held, stated, strict=True) if not said]
    return bool(lacking) and all(lacking)


def _blocked(view: CaseView) -> Score | None:
    """Return the score if the answer cannot be judged; a failed case stays in the population."""
    if not view.settings.judge_configured:
        return NotApplicable("The run has no judge.")
    if view.case.answerable and view.case.stated_facts and view.failed:
        return FAILED
    return None


def _utilization(view: CaseView, held: tuple[bool, ...]) -> Score:
    blocked = _blocked(view)
    if blocked is not None:
        return blocked
    if not any(held):
        return NotApplicable("The context states no key fact.")
    verdicts, stated = view.verdicts, None if view.evidence is None else view.evidence.facts_stated
    if stated is None or len(stated) != len(held):
        asked = verdicts is not None and "key_fact_recall" in verdicts.scores
        return FAILED if asked else NotApplicable("No rubric in use looks for key facts.")
    used = [said for there, said in zip(held, stated, strict=True) if there]
    return sum(used) / len(used)
