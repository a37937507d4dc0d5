"""Metrics of a turn in its conversation: whether its context was carried, and whether it asks back.

Defined in docs/site/metrics.toml.
"""

from __future__ import annotations

import re
from typing import Final

from pytest_rageval.metrics.retrieval import score_retrieval
from pytest_rageval.metrics.view import (
    FAILED,
    CaseView,
    NotApplicable,
    Score,
    Scores,
    view_case,
)
from pytest_rageval.values.case import Case
from pytest_rageval.values.reply import AskResponse

CONTEXT_CARRY: Final = "context_carry"
_NOT_ASKED: Final = NotApplicable(
    "The standalone question was not asked alone: --rageval-context-carry asks it."
)
_NOT_ALONE: Final = NotApplicable(
    "The standalone question alone does not find the evidence either."
)
_NO_LATER_TURN: Final = NotApplicable(
    "The case is no later turn with golds and a standalone question.", "case"
)
_SENTENCE: Final = re.compile(r"[^.!?\u3002\uff01\uff1f\u061f]+[.!?\u3002\uff01\uff1f\u061f]*")
_ASKS: Final = ("?", "\uff1f", "\u061f")
_ASKED_SHARE: Final = 0.5
"""Share of the characters of an answer that questions make up, where it asks back: an offer of
further help after the answer is not meant."""


def asks_alone(case: Case) -> bool:
    """Return whether ``context_carry`` needs an answer to the standalone question of a case."""
    later = case.turn is not None and case.turn > 1
    return later and case.standalone is not None and bool(case.gold_supports)


def score_carry(view: CaseView) -> Scores:
    """Score whether a later turn finds the evidence that its standalone question finds."""
    return {CONTEXT_CARRY: _carry(view)}


def _carry(view: CaseView) -> Score:
    case, alone = view.case, view.alone
    if not asks_alone(case) or not case.answerable:
        return _NO_LATER_TURN
    if alone is None:
        return FAILED if view.failed else _NOT_ASKED
    if alone.error is not None:
        return FAILED
    reply = AskResponse(answer="-", retrieved_chunks=alone.chunks)
    other = found_evidence(view_case(case, reply, view.settings))
    return _NOT_ALONE if other == 0 else found_evidence(view) if other == 1 else other


def found_evidence(view: CaseView) -> Score:
    """Return whether a case got the evidence that it needs: by its anchors, else by documents."""
    scores = score_retrieval(view)
    anchors = scores["recall_all_at_k" if view.case.required_support_groups else "hit_at_k"]
    return anchors if isinstance(anchors, float) else scores["doc_hit_at_k"]


def clarifies(view: CaseView) -> bool:
    """Return whether an answer asks back, where the case allows that."""
    if "clarify" not in view.case.expected_behavior or view.response is None or view.failed:
        return False
    text = view.response.answer.strip()
    asked = sum(len(one) for one in _SENTENCE.findall(text) if one.endswith(_ASKS))
    return text.endswith(_ASKS) and asked >= _ASKED_SHARE * len(text)
