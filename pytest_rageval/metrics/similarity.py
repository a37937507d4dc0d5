"""Similarity of a question to gold and to other chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Vector = Sequence[float] | Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySimilarity:
    """Cosine similarity, -1 to 1, of one query to the chunks of its cut; None: undefined."""

    query_chunk_similarity: float | None
    """Mean over chunks; those with a zero vector are skipped."""
    query_relevant_similarity: float | None
    """Mean over the relevant chunks."""
    query_other_similarity: float | None
    """Mean over the chunks that are not relevant."""
    similarity_margin: float | None
    """Mean to the relevant minus mean to the other chunks; needs both. Higher is better."""


def compute_query_similarity(
    query: Vector, chunks: Sequence[Vector], relevant: Sequence[bool]
) -> QuerySimilarity:
    """Compare a query with the chunks that it retrieved.

    Args:
        query: vector of the query.
        chunks: one vector per chunk of the cut, each as long as ``query``.
        relevant: whether each chunk matches a gold.

    Raises:
        ValueError: the lengths do not fit.
    """
    if len(relevant) != len(chunks):
        raise ValueError(f"relevant: expected {len(chunks)} flags, got {len(relevant)}")
    if any(len(chunk) != len(query) for chunk in chunks):
        raise ValueError(f"chunks: expected vectors of length {len(query)}")
    unit = unit_vector(np.asarray([query], dtype=np.float64))[0]
    vectors = unit_vector(np.asarray(chunks, dtype=np.float64).reshape(len(chunks), len(query)))
    # A zero vector has no direction, so no cosine with anything.
    usable = vectors.any(axis=1) & bool(unit.any())
    # Rounding may carry the cosine of equal directions past 1.
    cosines = np.clip(vectors @ unit, -1.0, 1.0)
    flags = np.asarray(relevant, dtype=bool)
    inside, outside = _mean(cosines[usable & flags]), _mean(cosines[usable & ~flags])
    return QuerySimilarity(
        query_chunk_similarity=_mean(cosines[usable]),
        query_relevant_similarity=inside,
        query_other_similarity=outside,
        similarity_margin=None if inside is None or outside is None else inside - outside,
    )


def unit_vector(vectors: Floats) -> Floats:
    """Return each row at length 1; rows of zeros stay."""
    # Divided by their largest number first: squares of 1e200 overflow, those of 1e-200 vanish.
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    vectors = np.divide(vectors, largest, out=np.zeros_like(vectors), where=largest > 0)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Floats = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
    return unit


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if values.size else None
