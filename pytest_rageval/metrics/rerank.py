"""What reranking did to one case: the same metrics before and after, cut at the same k."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pytest_rageval.metrics.retrieval import score_lists, score_retrieval
from pytest_rageval.metrics.view import CaseView
from pytest_rageval.values.reply import RetrievedChunk


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankDelta:
    """Retrieval metrics of one case before and after reranking; None where unscored."""

    before: Mapping[str, float | None]
    after: Mapping[str, float | None]

    @property
    def delta(self) -> Mapping[str, float | None]:
        """After minus before: positive is an improvement."""
        return {key: _difference(self.before[key], now) for key, now in self.after.items()}


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def order_before_rerank(
    chunks: tuple[RetrievedChunk, ...] | None,
) -> tuple[RetrievedChunk, ...] | None:
    """Return chunks as they stood before reranking; None unless every chunk reports it."""
    if chunks is None or any(chunk.rank_before_rerank is None for chunk in chunks):
        return None
    return tuple(sorted(chunks, key=lambda chunk: chunk.rank_before_rerank or 0))


def compute_rerank(view: CaseView) -> RerankDelta | None:
    """Score the chunks of a case in both orders.

    Returns:
        None where not every chunk reports its rank before reranking.
    """
    before = order_before_rerank(view.chunks)
    if before is None:
        return None
    return RerankDelta(before=_values(replace(view, chunks=before)), after=_values(view))


def _values(view: CaseView) -> dict[str, float | None]:
    scores = {**score_retrieval(view), **score_lists(view)}
    return {key: s if isinstance(s, float) else None for key, s in scores.items()}
