"""Retrieval metrics over gold anchors and over documents, cut at k delivered chunks.

The unit of relevance is the gold, not the chunk: five chunks of one section are one piece of
evidence. So a rank gains once per new gold, as in alpha-nDCG with alpha = 1 (Clarke et al. 2008)
and one nugget per rank, which keeps nDCG within 1. Where every gold is matched by at most one
chunk and every chunk matches at most one gold, all values equal trec_eval's. The same metrics are
given for the order before reranking, and for the folders that a target chose to search.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import log2
from typing import Final

from pytest_rageval.metrics.deciding import reads_snippets, unreadable_anchor
from pytest_rageval.metrics.matching import (
    DocumentKey,
    document_key,
    document_keys,
    duplicate_flags,
    in_scope,
    norm_path,
    same_document,
)
from pytest_rageval.metrics.view import (
    ANSWERABLE,
    FAILED,
    CaseView,
    NotApplicable,
    Score,
    Scores,
    gold_population,
)
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import FolderSelection, RetrievedChunk

Groups = Sequence[Sequence[int]]
UNRANKED: Final = NotApplicable(
    "The order of the target's chunks is not their rank (ranked = false)."
)


@dataclass(slots=True, kw_only=True, eq=False)
class Ranking:
    """A ranked list cut at k, reduced to which golds each rank matches; never changed."""

    matched: tuple[frozenset[int], ...]
    """Golds matched at ranks 1, 2, …; at most ``k`` entries."""
    duplicate: tuple[bool, ...]
    """Whether the rank repeats an earlier one; same length as ``matched``."""
    grades: tuple[int, ...]
    """Grade of each gold, at least 1."""
    k: int

    found: frozenset[int] = field(init=False)
    """Distinct golds matched anywhere in the cut."""
    n_relevant: int = field(init=False)
    """Ranks that match a gold and are not duplicates."""
    gains: tuple[int, ...] = field(init=False)
    """Gain of each rank: the largest grade among its golds not matched at an earlier rank."""

    def __post_init__(self) -> None:
        """Derive the shared values of all metrics in one pass over the ranks."""
        seen: set[int] = set()
        n_relevant, gains = 0, [0] * len(self.matched)
        for index, golds in enumerate(self.matched):
            if not golds:
                continue
            if not self.duplicate[index]:
                n_relevant += 1
                if new := golds - seen:
                    gains[index] = max(self.grades[i] for i in new)
            seen |= golds
        self.found = frozenset(seen)
        self.n_relevant = n_relevant
        self.gains = tuple(gains)


def hit_at_k(ranking: Ranking) -> float:
    """Success@k: 1 if any rank matches any gold, else 0."""
    return 1.0 if ranking.found else 0.0


def recall_at_k(ranking: Ranking) -> float:
    """Distinct golds matched in the cut / golds."""
    return len(ranking.found) / len(ranking.grades)


def reciprocal_rank(ranking: Ranking) -> float:
    """1 / rank of the first relevant chunk within the cut, else 0. Its mean is MRR@k."""
    for rank, golds in enumerate(ranking.matched, start=1):
        if golds:
            return 1 / rank
    return 0.0


def precision_at_k(ranking: Ranking) -> float:
    """P@k as in trec_eval: relevant non-duplicate ranks / k, however few were returned."""
    return ranking.n_relevant / ranking.k


def precision_returned_at_k(ranking: Ranking) -> float:
    """Relevant non-duplicate ranks / returned ranks of the cut; 0 if nothing was returned."""
    return ranking.n_relevant / len(ranking.matched) if ranking.matched else 0.0


def dcg(gains: Sequence[int]) -> float:
    """Sum of each rank's gain / log2(rank + 1) (Järvelin & Kekäläinen 2002, linear gains)."""
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1) if gain)


@lru_cache(maxsize=4096)
def ideal_dcg(grades: tuple[int, ...], k: int) -> float:
    """DCG of the k largest grades, best first."""
    return dcg(sorted(grades, reverse=True)[:k])


def ndcg_at_k(ranking: Ranking) -> float:
    """nDCG@k with linear gains (Järvelin & Kekäläinen 2002, as trec_eval).

    The ideal list has the min(k, golds) largest grades at ranks 1, 2, ….

    >>> ndcg_at_k(Ranking(matched=(frozenset(), frozenset({0})), duplicate=(False, False),
    ...                   grades=(1,), k=3))
    0.6309297535714575
    """
    # Summation order may push a perfect list one ulp over its ideal.
    return min(1.0, dcg(ranking.gains) / ideal_dcg(ranking.grades, ranking.k))


def average_precision(ranking: Ranking) -> float:
    """AP@k: sum over gaining ranks of (gaining ranks so far / rank), / golds. Its mean is MAP@k."""
    total, gaining = 0.0, 0
    for rank, gain in enumerate(ranking.gains, start=1):
        if gain:
            gaining += 1
            total += gaining / rank
    return total / len(ranking.grades)


def recall_all_at_k(ranking: Ranking, groups: Groups) -> float:
    """1 if all golds of some group are matched in the cut, else 0."""
    return 1.0 if any(ranking.found.issuperset(group) for group in groups) else 0.0


def group_recall_at_k(ranking: Ranking, groups: Groups) -> float:
    """Best share of a group's distinct golds that is matched in the cut."""
    sets = [frozenset(group) for group in groups]
    return max(len(group & ranking.found) / len(group) for group in sets)


_BY_RANK: Final[Mapping[str, Callable[[Ranking], float]]] = {
    "mrr": reciprocal_rank,
    "ndcg_at_k": ndcg_at_k,
    "map": average_precision,
}
"""Measures that depend on the order of the chunks."""
RANKING_MEASURES: Final[Mapping[str, Callable[[Ranking], float]]] = {
    "hit_at_k": hit_at_k,
    "recall_at_k": recall_at_k,
    "precision_at_k": precision_at_k,
    "precision_returned_at_k": precision_returned_at_k,
    **_BY_RANK,
}
"""Measures of one ranking, by the key of their anchors; ``doc_`` before it is that of documents."""
_GROUP_MEASURES: Final[Mapping[str, Callable[[Ranking, Groups], float]]] = {
    "recall_all_at_k": recall_all_at_k,
    "group_recall_at_k": group_recall_at_k,
}


def anchor_ranking(
    case: Case, chunks: Sequence[RetrievedChunk], k: int, settings: ScoreSettings
) -> Ranking:
    """Cut decided chunks in rank order at k, and reduce them to the golds that they match."""
    cut = chunks[:k]
    known = frozenset(range(len(case.gold_supports)))  # another tool may have stored others
    return Ranking(
        matched=tuple([known & {*(chunk.matched_golds or ())} for chunk in cut]),
        duplicate=duplicate_flags(cut, settings.path_case),
        grades=tuple([gold.grade for gold in case.gold_supports]),
        k=k,
    )


def document_ranking(
    case: Case, chunks: Sequence[RetrievedChunk], k: int, settings: ScoreSettings
) -> Ranking:
    """Cut chunks at k, then keep each document's first occurrence.

    Golds are the distinct gold documents with their largest grade. Irrelevant *sections* do not
    count: a document with golds is a gold document.
    """
    golds: dict[DocumentKey, int] = {}
    for gold in case.gold_supports:
        key = document_key(gold, settings.path_case)
        golds[key] = max(gold.grade, golds.get(key, 0))
    paths = {path for _, path in golds}
    documents = dict.fromkeys(document_keys(chunks[:k], settings.path_case))
    return Ranking(
        matched=tuple(
            [
                frozenset([i for i, gold in enumerate(golds) if same_document(gold, one)])
                if one[1] in paths
                else frozenset()
                for one in documents
            ]
        ),
        duplicate=(False,) * len(documents),
        grades=tuple(golds.values()),
        k=k,
    )


def anchors_unreadable(view: CaseView) -> NotApplicable | None:
    """Return the reason why anchors of this case cannot be decided in this run, if any."""
    reason = unreadable_anchor(view.case, view.settings)
    return None if reason is None else NotApplicable(reason)


def texts_missing(view: CaseView) -> NotApplicable | None:
    """Return the reason why a chunk in the cut cannot be decided, if a text or page is missing."""
    if None not in [chunk.matched_golds for chunk in view.cut]:
        return None
    if reads_snippets(view.case, view.settings):
        return NotApplicable("Snippets are read, and a chunk in the cut has no full text.")
    return NotApplicable(
        "A chunk in the cut has no heading, full text or page to compare with an anchor."
    )


def chunks_missing(view: CaseView) -> Score | None:
    """Return the score of a metric over chunks if they are not reported; None: they are."""
    if view.chunks is not None:
        return None
    if view.response is None:
        return FAILED
    return NotApplicable("The target reports no retrieved_chunks.")


def score_retrieval(view: CaseView) -> Scores:
    """Score the ranking metrics of one case, at anchor and at document level.

    Source: docs/site/metrics.toml; equal to trec_eval (pytrec_eval) where it is defined.
    """
    unscored = gold_population(view.case)
    document_block = unscored or chunks_missing(view)
    anchor_block = unscored or anchors_unreadable(view) or document_block or texts_missing(view)
    scores: dict[str, Score] = {}
    if anchor_block is not None:
        scores |= dict.fromkeys((*RANKING_MEASURES, *_GROUP_MEASURES), anchor_block)
    else:
        ranking = anchor_ranking(view.case, view.cut, view.k, view.settings)
        scores |= {key: measure(ranking) for key, measure in RANKING_MEASURES.items()}
        if groups := view.case.required_support_groups:
            scores |= {key: measure(ranking, groups) for key, measure in _GROUP_MEASURES.items()}
    if unscored is None and not view.case.required_support_groups:
        scores |= dict.fromkeys(
            _GROUP_MEASURES, NotApplicable("The case has no required_support_groups.", "case")
        )
    if document_block is not None:
        scores |= dict.fromkeys([f"doc_{key}" for key in RANKING_MEASURES], document_block)
    else:
        ranking = document_ranking(view.case, view.cut, view.k, view.settings)
        scores |= {f"doc_{key}": measure(ranking) for key, measure in RANKING_MEASURES.items()}
    if not view.settings.ranked:
        by_rank = [*_BY_RANK, *(f"doc_{key}" for key in _BY_RANK)]
        scores |= dict.fromkeys(by_rank, unscored or UNRANKED)
    return scores


def score_lists(view: CaseView) -> Scores:
    """Score unwanted chunks: irrelevant evidence, and any chunk for unanswerable cases.

    An empty list passes both, so read ``specificity_accuracy`` beside ``hit_at_k``.
    """
    specificity: Score = NotApplicable("The case has no irrelevant_supports.", "case")
    if view.case.irrelevant_supports:
        blocked = anchors_unreadable(view) or chunks_missing(view) or texts_missing(view)
        specificity = blocked or (0.0 if any(chunk.irrelevant for chunk in view.cut) else 1.0)
    negative: Score = ANSWERABLE
    if not view.case.answerable:
        negative = chunks_missing(view) or (0.0 if view.chunks else 1.0)
    return {"specificity_accuracy": specificity, "negative_accuracy": negative}


def leaked_chunks(view: CaseView) -> list[tuple[int, RetrievedChunk]]:
    """Return every delivered chunk of ``irrelevant_supports`` with its rank, cut or not."""
    return [(rank, chunk) for rank, chunk in enumerate(view.chunks or (), 1) if chunk.irrelevant]


def score_leaks(view: CaseView) -> Scores:
    """Score whether a user was shown what they must not see (docs/site/metrics.toml)."""
    return {"leak_rate": _leak(view)}


def _leak(view: CaseView) -> Score:
    case, path_case = view.case, view.settings.path_case
    if not case.tests_permissions:
        return NotApplicable(
            "The case does not test permissions: it needs irrelevant_supports, and metadata.user "
            "or the tag acl.",
            "case",
        )
    # Golds of other documents cannot win a chunk, so their headings do not matter.
    closed = {norm_path(bad.rel_path, path_case) for bad in case.irrelevant_supports}
    rivals = [one for one in case.gold_supports if norm_path(one.rel_path, path_case) in closed]
    reduced = replace(view, case=replace(case, gold_supports=tuple(rivals)))
    if blocked := anchors_unreadable(reduced) or chunks_missing(view):
        return blocked
    if leaked_chunks(view):
        return 1.0
    if any(chunk.matched_golds is None for chunk in view.chunks or ()):
        return NotApplicable("A chunk could not be compared with irrelevant_supports.")
    return 0.0


def order_before_rerank(
    chunks: tuple[RetrievedChunk, ...] | None,
) -> tuple[RetrievedChunk, ...] | None:
    """Return chunks in their order before reranking; None unless every chunk reports it."""
    if chunks is None or None in [chunk.rank_before_rerank for chunk in chunks]:
        return None
    return tuple(sorted(chunks, key=lambda chunk: chunk.rank_before_rerank or 0))


def scores_before_rerank(view: CaseView) -> dict[str, float | None] | None:
    """Score retrieval in the order before reranking, cut at the same k.

    Returns:
        Metric key to value, None if unscored; None unless every chunk reports its rank before
        reranking.
    """
    chunks = order_before_rerank(view.chunks)
    if chunks is None:
        return None
    before = replace(view, chunks=chunks)
    scores = {**score_retrieval(before), **score_lists(before)}
    return {key: s if isinstance(s, float) else None for key, s in scores.items()}


_KEYS: Final = ("scope_miss_rate", "scope_selection_miss_rate", "scope_any_excluded_rate")


def score_scope(view: CaseView) -> Scores:
    """Score folder selection: lower is better, ``fallback_rate`` is neutral.

    ``scope_miss_rate`` is 1 if no gold is in the effective scope (everything after a fallback),
    ``scope_selection_miss_rate`` the same before any fallback, and ``scope_any_excluded_rate`` is 1
    if at least one gold is outside the effective scope.
    """
    selection = view.response.folder_selection if view.response else None
    fallback: Score = NotApplicable("The target reports no fallback_used.")
    if selection is not None and selection.fallback_used is not None:
        fallback = 1.0 if selection.fallback_used else 0.0
    elif view.response is None and view.settings.folder_mode == "on_with_fallback":
        fallback = FAILED
    selected = _selected_folders(view, selection)
    if not isinstance(selected, tuple):
        return {**dict.fromkeys(_KEYS, selected), "fallback_rate": fallback}
    golds, path_case = view.case.gold_supports, view.settings.path_case
    inside = [in_scope(gold.rel_path, selected, path_case) for gold in golds]
    searched = [True] * len(golds) if selection and selection.fallback_used else inside
    return {
        "scope_miss_rate": 0.0 if any(searched) else 1.0,
        "scope_selection_miss_rate": 0.0 if any(inside) else 1.0,
        "scope_any_excluded_rate": 0.0 if all(searched) else 1.0,
        "fallback_rate": fallback,
    }


def _selected_folders(view: CaseView, selection: FolderSelection | None) -> tuple[str, ...] | Score:
    """Return the selected folders, or the score of a case without a selection."""
    if outside := gold_population(view.case):
        return outside
    if view.settings.folder_mode == "off":
        return NotApplicable("Folder selection is off.")
    if selection is not None and selection.selected_folders is not None:
        return selection.selected_folders
    # A missing selection is part of the failure only if selection was configured.
    if view.response is None and view.settings.folder_mode is not None:
        return FAILED
    return NotApplicable("The target reports no selected_folders.")
