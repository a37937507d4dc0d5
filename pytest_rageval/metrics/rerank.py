"""Retrieval metrics of one case as they stood before reranking."""

from __future__ import annotations

from dataclasses import replace

from pytest_rageval.metrics.retrieval import score_lists, score_retrieval
from pytest_rageval.metrics.view import CaseView
from pytest_rageval.values.reply import RetrievedChunk


def order_before_rerank(
    chunks: tuple[RetrievedChunk, ...] | None,
) -> tuple[RetrievedChunk, ...] | None:
    """Return chunks as they stood before reranking; None unless every chunk reports it."""
    if chunks is None or any(chunk.rank_before_rerank is None for chunk in chunks):
        return None
    return tuple(sorted(chunks, key=lambda chunk: chunk.rank_before_rerank or 0))


def scores_before_rerank(view: CaseView) -> dict[str, float | None] | None:
    """Score retrieval as it stood before reranking, cut at the same k.

    Returns:
        Metric key to value, None where unscored; None where not every chunk reports its rank
        before reranking.
    """
    chunks = order_before_rerank(view.chunks)
    if chunks is None:
        return None
    before = replace(view, chunks=chunks)
    scores = {**score_retrieval(before), **score_lists(before)}
    return {key: s if isinstance(s, float) else None for key, s in scores.items()}
