"""Metrics of the context: its length, its facts, whether it suffices and whether a turn carried it.

Defined in docs/site/metrics.toml; sufficient context as of Joren et al. (ICLR 2025), known from
golds and key facts without a model. Facts were looked up before (``Verdicts.evidence``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, Literal

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.judged import PASS_SHARE, weighted_share
from pytest_rageval.metrics.retrieval import (
    UNRANKED,
    anchor_ranking,
    anchors_unreadable,
    chunks_missing,
    recall_at_k,
    score_retrieval,
    texts_missing,
)
from pytest_rageval.metrics.view import (
    FAILED,
    NO_JUDGE,
    UNANSWERABLE,
    CaseView,
    NotApplicable,
    Score,
    Scores,
    Verdicts,
    gold_population,
    view_case,
)
from pytest_rageval.support.text import TOLERANCE
from pytest_rageval.values.case import Case
from pytest_rageval.values.reply import AskResponse, RetrievedChunk

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


BYTES_PER_TOKEN: Final = 4
"""Bytes of UTF-8 text that count as a token where the target reports no counts."""
NOT_LOOKED_UP: Final = NotApplicable("Nothing was looked up in the passages.")
_NO_FACTS: Final = NotApplicable("The case has no expected_key_facts.", "case")
_NO_BUDGET: Final = NotApplicable("No token_budget is set.", "settings")
TEXTS_MISSING: Final = NotApplicable("A chunk in the cut came without its whole text.")


def score_context(view: CaseView) -> Scores:
    """Score which key facts the context states, and which of those the answer states."""
    held = facts_held(view)
    if not isinstance(held, tuple):
        return {"fact_recall_in_context": held, "context_utilization": _blocked(view) or held}
    recall = weighted_share(held, view.case.vital_facts)
    return {
        "fact_recall_in_context": recall or 0.0,
        "context_utilization": _utilization(view, held),
    }


def score_tokens(view: CaseView) -> Scores:
    """Score the length of the context, and the recall within a budget of tokens."""
    tokens = cut_tokens(view)
    total = float(sum(tokens)) if isinstance(tokens, tuple) else tokens
    return {"context_tokens": total, "recall_at_tokens": _recall_at_tokens(view, tokens)}


def tokens_reported(chunks: Sequence[RetrievedChunk]) -> bool:
    """Whether the target reports the number of tokens of every chunk."""
    return None not in [chunk.token_count for chunk in chunks]


def cut_tokens(view: CaseView) -> tuple[int, ...] | Score:
    """Return the tokens of each chunk in the cut: all as reported, or all estimated."""
    if blocked := chunks_missing(view):
        return blocked
    known = [chunk.token_count for chunk in view.cut if chunk.token_count is not None]
    if len(known) == len(view.cut):
        return tuple(known)
    if not view.texts_whole:
        return NotApplicable("A chunk in the cut came without token_count and whole text.")
    return tuple([estimate_tokens(chunk.text or "") for chunk in view.cut])


def estimate_tokens(text: str) -> int:
    """Return a fourth of the bytes of a text in UTF-8, rounded up.

    >>> estimate_tokens("Refunds take 30 days."), estimate_tokens("")
    (6, 0)
    """
    size = len(text if text.isascii() else text.encode("utf-8", "surrogatepass"))
    return -(-size // BYTES_PER_TOKEN)


def within_budget(tokens: Sequence[int], budget: int) -> int:
    """Return how many of the first chunks fit whole into a budget of tokens."""
    return sum(total <= budget for total in accumulate(tokens))


def _recall_at_tokens(view: CaseView, tokens: tuple[int, ...] | Score) -> Score:
    budget = view.settings.token_budget
    if budget is None:
        return _NO_BUDGET
    outside = gold_population(view.case) or (None if view.settings.ranked else UNRANKED)
    missing = anchors_unreadable(view) or chunks_missing(view) or texts_missing(view)
    if blocked := outside or missing:
        return blocked
    if not isinstance(tokens, tuple):
        return tokens
    kept = view.cut[: within_budget(tokens, budget)]
    return recall_at_k(anchor_ranking(view.case, kept, view.k, view.settings))


def facts_held(view: CaseView) -> tuple[bool, ...] | Score:
    """Return for each key fact whether a passage in the cut states it, or why that is unknown."""
    if not view.case.answerable:
        return UNANSWERABLE
    facts = view.case.stated_facts
    if not facts:
        return _NO_FACTS
    if blocked := chunks_missing(view):
        return blocked
    if not view.texts_whole:
        return TEXTS_MISSING
    found = view.evidence.facts
    if found is None or len(found) != len(facts):
        return NOT_LOOKED_UP
    return tuple(map(bool, found))


def unused_facts(view: CaseView) -> bool:
    """Whether the answer lacks key facts, and the context states every one that it lacks."""
    held, stated = facts_held(view), view.evidence.facts_stated
    if not isinstance(held, tuple) or stated is None or len(stated) != len(held):
        return False
    lacking = [there for there, said in zip(held, stated, strict=True) if not said]
    return bool(lacking) and all(lacking)


def _blocked(view: CaseView) -> Score | None:
    """Return the score if the answer cannot be judged; a failed case stays in the population."""
    if not view.settings.judge_configured:
        return NO_JUDGE
    if view.case.answerable and view.case.stated_facts and view.failed:
        return FAILED
    return None


def _utilization(view: CaseView, held: tuple[bool, ...]) -> Score:
    if blocked := _blocked(view):
        return blocked
    if not any(held):
        return NotApplicable("The context states no key fact.")
    verdicts, stated = view.verdicts or Verdicts(), view.evidence.facts_stated
    if stated is None or len(stated) != len(held):
        asked = "key_fact_recall" in verdicts.scores
        if why := verdicts.not_applicable.get("key_fact_recall"):
            return NotApplicable(why)
        return FAILED if asked else NotApplicable("No rubric in use looks for key facts.")
    facts = zip(held, stated, view.case.vital_facts, strict=True)
    used = [(said, vital) for there, said, vital in facts if there]
    return weighted_share(*zip(*used, strict=True)) or 0.0


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
    anchors = scores[gold_key(view.case)]
    return anchors if isinstance(anchors, float) else scores["doc_hit_at_k"]


def clarifies(view: CaseView) -> bool:
    """Return whether an answer asks back, where the case allows that."""
    if "clarify" not in view.case.expected_behavior or view.response is None or view.failed:
        return False
    text = view.response.answer.strip()
    asked = sum(len(one) for one in _SENTENCE.findall(text) if one.endswith(_ASKS))
    return text.endswith(_ASKS) and asked >= _ASKED_SHARE * len(text)
