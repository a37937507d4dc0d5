"""Similarity of a question to the chunks it retrieved, where the target reports vectors."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_rageval.metrics.retrieval import anchors_unreadable, texts_missing
from pytest_rageval.metrics.view import CaseView, NotApplicable, Score, Scores, gold_population


def score_embeddings(view: CaseView) -> Scores:
    """Score a case's vectors (docs/metrics.md#vectors).

    A failed case is not applicable, not an error: without a response it is unknown whether the
    target reports vectors, and most do not.
    """
    vectors = _vectors(view)
    if vectors is None:
        return dict.fromkeys(
            ("query_chunk_similarity", "similarity_margin"),
            NotApplicable(
                "The question and all chunks of the cut do not come with vectors of one length."
            ),
        )
    # numpy is slow to import, and only a target that reports vectors needs it here.
    from pytest_rageval.metrics.similarity import compute_query_similarity

    query, chunks = vectors
    relevant = [bool(chunk.matched_golds) for chunk in view.cut]
    found = compute_query_similarity(query, chunks, relevant)
    mean, margin = found.query_chunk_similarity, found.similarity_margin
    blocked = gold_population(view.case) or anchors_unreadable(view) or texts_missing(view)
    scored_margin: Score = (
        NotApplicable(
            "The cut does not hold both relevant and other chunks whose vectors have a direction."
        )
        if margin is None
        else margin
    )
    return {
        "query_chunk_similarity": NotApplicable(
            "No cosine is defined: the vector of the question, or of every chunk, is zero."
        )
        if mean is None
        else mean,
        "similarity_margin": blocked or scored_margin,
    }


def _vectors(view: CaseView) -> tuple[Sequence[float], list[Sequence[float]]] | None:
    query = view.response.query_embedding if view.response is not None else None
    if query is None:
        return None
    chunks = [chunk.embedding for chunk in view.cut if chunk.embedding is not None]
    complete = bool(chunks) and len(chunks) == len(view.cut)
    if not complete or any(len(c) != len(query) for c in chunks):
        return None
    return query, list(chunks)
