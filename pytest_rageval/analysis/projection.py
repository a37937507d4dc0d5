"""Places of vectors on a plane.

This module needs numpy, and umap-learn for one of its functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from pytest_rageval.metrics.similarity import Floats, unit_vector
from pytest_rageval.values.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """Places of vectors on a plane."""

    name: str
    places: Floats
    """Vectors x 2."""
    explained: tuple[float, float] | None = None
    """Shares of the variance along the two axes, 0 to 1, the larger first; None: there is no
    variance, or the method has no such shares."""


_NOISE: Final = 1e-12
"""Part of the variance below which an axis is rounding."""
_UMAP_LEAST: Final = 16


def project_pca(vectors: Floats) -> Projection:
    """Place vectors by the first two principal components (Pearson 1901).

    Each axis points so that its component of largest size is positive, which makes the places
    the same on every machine unless two axes have equal variance.

    Args:
        vectors: one row per point, finite numbers.
    """
    centred = vectors - vectors.mean(axis=0) if len(vectors) else vectors
    n, dimensions = centred.shape
    # The smaller of both products has the same eigenvalues; with 10,000 points an SVD of the
    # vectors themselves takes about ten times as long.
    if n > dimensions:
        values, axes = np.linalg.eigh(centred.T @ centred)
    else:
        values, rows = np.linalg.eigh(centred @ centred.T)
        axes = centred.T @ rows
    axes = unit_vector(axes.T[::-1][:2])
    values = np.maximum(values[::-1][:2], 0.0)
    total, least = float((centred**2).sum()), _NOISE**2 * float((vectors**2).sum())
    places = np.zeros((n, 2))
    shares = [0.0, 0.0]
    for index, (value, axis) in enumerate(zip(values, axes, strict=False)):
        if total > least and value > _NOISE * total:
            sign = np.sign(axis[int(np.argmax(np.abs(axis)))])
            places[:, index] = centred @ (axis * sign)
            shares[index] = min(1.0, float(value) / total)
    first, second = shares
    return Projection(name="PCA", places=places, explained=(first, second) if first > 0 else None)


def project_umap(vectors: Floats) -> Projection:
    """Place vectors so that near ones stay near (UMAP, McInnes, Healy and Melville 2018).

    Args:
        vectors: rows of length 1, whose Euclidean order of neighbours is that of their cosines.

    Raises:
        ConfigError: umap-learn is not installed, or there are too few vectors.
    """
    if len(vectors) < _UMAP_LEAST:
        raise ConfigError.of(
            "--projection umap",
            "bound",
            found=f"{len(vectors)} points",
            expected=f"at least {_UMAP_LEAST}, or --projection pca",
        )
    try:
        import umap
    except ImportError as error:
        raise ConfigError.of(
            "--projection umap", "needs_extra", extra="umap", reason=error
        ) from None
    # With a seed umap-learn uses one thread, and warns unless it was asked to.
    reducer = umap.UMAP(
        n_neighbors=15,
        n_components=2,
        metric="euclidean",
        random_state=42,
        n_jobs=1,
    )
    return Projection(name="UMAP", places=np.asarray(reducer.fit_transform(vectors), dtype=float))
