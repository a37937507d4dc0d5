"""Metrics of the context, the passages in the cut: its length, and the key facts that it holds.

Defined in docs/site/metrics.toml; the facts were looked up before (``Verdicts.evidence``).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from pytest_rageval.metrics.judged import weighted_share
from pytest_rageval.metrics.retrieval import (
    UNRANKED,
    anchor_ranking,
    anchors_unreadable,
    chunks_missing,
    recall_at_k,
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
    gold_population,
)
from pytest_rageval.values.reply import RetrievedChunk

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
    verdicts, stated = view.verdicts, view.evidence.facts_stated
    if stated is None or len(stated) != len(held):
        asked = verdicts is not None and "key_fact_recall" in verdicts.scores
        if verdicts is not None and (why := verdicts.not_applicable.get("key_fact_recall")):
            return NotApplicable(why)
        return FAILED if asked else NotApplicable("No rubric in use looks for key facts.")
    facts = zip(held, stated, view.case.vital_facts, strict=True)
    used = [(said, vital) for there, said, vital in facts if there]
    return weighted_share(*zip(*used, strict=True)) or 0.0
