from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from pytest_rageval.analysis.embedding_map import project_pca, project_umap
from pytest_rageval.metrics.similarity import Floats

numbers = st.floats(-1, 1, width=32, allow_subnormal=False)
matrices = arrays.arrays(
    np.float64, st.tuples(st.integers(1, 12), st.integers(1, 8)), elements=numbers
)


@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (4, 3), (3, 1)])
def test_without_variance_every_point_is_in_the_middle(shape: tuple[int, int]) -> None:
    found = project_pca(np.full(shape, 0.1))
    assert (found.places == np.zeros((shape[0], 2))).all()
    assert found.explained is None


@pytest.mark.parametrize("shape", [(40, 7), (7, 40), (5, 5)])
def test_it_is_the_singular_value_decomposition(shape: tuple[int, int]) -> None:
    vectors = np.random.default_rng(3).normal(size=shape)
    centred = vectors - vectors.mean(axis=0)
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    found = project_pca(vectors)
    expected = centred @ axes[:2].T
    assert np.abs(found.places) == pytest.approx(np.abs(expected), abs=1e-9)
    shares = sizes[:2] ** 2 / (sizes**2).sum()
    assert found.explained == pytest.approx(tuple(shares))


@given(matrices)
def test_places_are_centred_and_never_farther_apart_than_the_vectors(vectors: Floats) -> None:
    found = project_pca(vectors)
    assert found.places.mean(axis=0) == pytest.approx(np.zeros(2), abs=1e-6)
    apart = np.linalg.norm(vectors[:, None] - vectors[None], axis=2)
    drawn = np.linalg.norm(found.places[:, None] - found.places[None], axis=2)
    assert (drawn <= apart + 1e-6).all()
    if found.explained is not None:
        first, second = found.explained
        assert 1 + 1e-9 >= first >= second >= 0
        assert first + second <= 1 + 1e-9


# --- UMAP, by a stand-in for the library ---------------------------------------------------


@pytest.fixture
def umap_calls(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = []

    class UMAP:
        """The part of umap-learn 0.5 that is used."""

        def __init__(self, **options: Any) -> None:
            calls.append(options)

        def fit_transform(self, vectors: Floats) -> Floats:
            return vectors[:, :2].astype(np.float32)

    module = ModuleType("umap")
    module.UMAP = UMAP  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "umap", module)
    return calls


def test_umap_is_asked_for_a_plane_with_a_seed(umap_calls: list[dict[str, Any]]) -> None:
    vectors = np.random.default_rng(1).normal(size=(20, 5))
    found = project_umap(vectors)
    assert (found.name, found.explained) == ("UMAP", None)
    assert found.places == pytest.approx(vectors[:, :2], abs=1e-6)
    assert umap_calls == [
        {
            "n_neighbors": 15,
            "n_components": 2,
            "metric": "euclidean",
            "random_state": 42,
            "n_jobs": 1,
        }
    ]
