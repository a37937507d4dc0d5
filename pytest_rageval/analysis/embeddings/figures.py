"""Figures about embeddings, for analysis rather than gates (docs/embeddings.md#output).

This module exists for numpy and is imported only where vectors are at hand.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_rageval.metrics.similarity import Vector, _Array, _unit

Vectors = Sequence[Vector] | _Array
_ROUNDING = 1e-12
_CELLS = 4_000_000
"""Summed distances held at a time, 32 MB."""


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
