"""Similarity of a question to the chunks it retrieved, where the target reports vectors."""

from __future__ import annotations

from pytest_rageval.metrics.retrieval import anchors_unreadable, texts_missing
from pytest_rageval.metrics.view import CaseView, NotApplicable, Scores, gold_population


def score_embeddings(view: CaseView) -> Scores:
    """Score a case's vectors (docs/site/metrics.toml).

    A failed case is not applicable, not an error: without a response it is unknown whether the
    target reports vectors, and most do not.
    """
    query = None if view.response is None else view.response.query_embedding
    chunks = [chunk.embedding for chunk in view.cut if chunk.embedding is not None]
    complete = bool(chunks) and len(chunks) == len(view.cut)
    if query is None or not complete or any(len(chunk) != len(query) for chunk in chunks):
        outside = NotApplicable(
            "The question and all chunks of the cut do not come with vectors of one length."
        )
        return dict.fromkeys(("query_chunk_similarity", "similarity_margin"), outside)
    # numpy is slow to import, and only a target that reports vectors needs it here.
    from pytest_rageval.metrics.similarity import compute_query_similarity

    relevant = [bool(chunk.matched_golds) for chunk in view.cut]
    found = compute_query_similarity(query, chunks, relevant)
    mean, margin = found.query_chunk_similarity, found.similarity_margin
    undefined = NotApplicable(
        "No cosine is defined: the vector of the question, or of every chunk, is zero."
    )
    one_sided = NotApplicable(
        "The cut does not hold both relevant and other chunks whose vectors have a direction."
    )
    blocked = gold_population(view.case) or anchors_unreadable(view) or texts_missing(view)
    return {
        "query_chunk_similarity": undefined if mean is None else mean,
        "similarity_margin": blocked or (one_sided if margin is None else margin),
    }
