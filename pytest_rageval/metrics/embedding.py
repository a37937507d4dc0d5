"""Figures about embeddings, for analysis rather than gates (docs/embeddings.md#what-is-shown).

This module exists for numpy and is imported only where vectors are at hand.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]
Vector = Sequence[float] | _Array
Vectors = Sequence[Vector] | _Array
_ROUNDING = 1e-12
_CELLS = 4_000_000
"""Summed distances held at a time, 32 MB."""


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
    unit = _unit(np.asarray([query], dtype=np.float64))[0]
    vectors = _unit(np.asarray(chunks, dtype=np.float64).reshape(len(chunks), len(query)))
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


def compute_silhouette(vectors: Vectors, labels: Sequence[Hashable]) -> float | None:
    """Mean silhouette of labelled vectors under cosine distance (Rousseeuw 1987).

    Equal to scikit-learn's ``silhouette_score(metric="cosine")``: a label with one vector scores
    0, and a zero vector lies at distance 1 from every other.

    Args:
        vectors: one per chunk, all of one length.
        labels: document or gold section of each.

    Returns:
        -1 to 1, higher is better; None unless 2 <= labels <= vectors - 1.

    Raises:
        ValueError: there are not as many labels as vectors.
    """
    if len(labels) != len(vectors):
        raise ValueError(f"labels: expected {len(vectors)}, got {len(labels)}")
    codes = {label: code for code, label in enumerate(dict.fromkeys(labels))}
    if not 2 <= len(codes) <= len(labels) - 1:
        return None
    own = np.asarray([codes[label] for label in labels])
    order = np.argsort(own, kind="stable")
    own, sizes = own[order], np.bincount(own)
    unit = _unit(np.asarray(vectors, dtype=np.float64))[order]
    totals = np.add.reduceat(unit, np.cumsum(sizes) - sizes, axis=0)
    scores = np.empty(len(own))
    step = max(1, _CELLS // len(sizes))
    for begin in range(0, len(own), step):
        rows = slice(begin, begin + step)
        scores[rows] = _silhouettes(_summed(unit[rows], own[rows], totals, sizes), own[rows], sizes)
    return float(np.mean(scores))


def _summed(unit: _Array, own: npt.NDArray[Any], totals: _Array, sizes: npt.NDArray[Any]) -> _Array:
    """Return the summed cosine distances of vectors to every label (vectors x labels).

    A cosine distance is linear in each vector: the distances to a label sum to its size minus the
    product with the sum of its vectors, which takes no table of all pairs.
    """
    sums: _Array = sizes - unit @ totals.T
    # A vector is at distance 0 from itself; for a zero vector the product says 1.
    sums[np.arange(len(own)), own] -= 1.0 - (unit**2).sum(axis=1)
    # Equal directions differ by rounding alone, and a silhouette would magnify that to -1 or 1.
    sums[sums < _ROUNDING * sizes] = 0.0
    return sums


def _silhouettes(sums: _Array, own: npt.NDArray[Any], sizes: npt.NDArray[Any]) -> _Array:
    """Score each vector from its summed distances to every label (vectors x labels)."""
    rows = np.arange(len(own))
    own_sizes = sizes[own]
    within = sums[rows, own] / np.maximum(own_sizes - 1, 1)
    means = sums / sizes
    means[rows, own] = np.inf
    nearest = means.min(axis=1)
    larger = np.maximum(within, nearest)
    spread = np.divide(nearest - within, larger, out=np.zeros_like(larger), where=larger > 0)
    return np.where(own_sizes > 1, spread, 0.0)


def _unit(vectors: _Array) -> _Array:
    # Divided by their largest number first: squares of 1e200 overflow, those of 1e-200 vanish.
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    vectors = np.divide(vectors, largest, out=np.zeros_like(vectors), where=largest > 0)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: _Array = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
    return unit


def _mean(values: _Array) -> float | None:
    return float(values.mean()) if values.size else None
