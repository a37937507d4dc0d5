from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.analysis.embeddings import compute_silhouette
from pytest_rageval.metrics.similarity import compute_query_similarity


@pytest.mark.parametrize("relevant", [[True, True], [False, False]])
def test_the_margin_needs_relevant_and_other_chunks(relevant: list[bool]) -> None:
    found = compute_query_similarity([1, 1], [[1, 0], [0, 1]], relevant)
    assert found.similarity_margin is None
    assert found.query_chunk_similarity == pytest.approx(math.sqrt(0.5))


@pytest.mark.parametrize("query", [[0, 0], [1, 0]])
def test_nothing_comparable_has_no_similarity(query: list[float]) -> None:
    chunks: list[list[float]] = [] if any(query) else [[1, 0]]
    found = compute_query_similarity(query, chunks, [True] * len(chunks))
    assert found.query_chunk_similarity is None
    assert found.query_relevant_similarity is None


def test_a_cosine_that_rounds_past_1_is_clipped() -> None:
    # Unclipped, this vector has a cosine of 1.0000000000000002 with itself.
    found = compute_query_similarity([0.2, 0.8, 0.8], [[0.2, 0.8, 0.8]], [True])
    assert found.query_chunk_similarity == 1.0


def test_the_silhouette_of_a_checked_example() -> None:
    vectors = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]]
    expected = 0.9944736235606655  # scikit-learn 1.9.1
    assert compute_silhouette(vectors, list("aabb")) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("labels", ["aaa", "abc"])
def test_the_silhouette_needs_two_labels_and_one_shared(labels: str) -> None:
    assert compute_silhouette([[1, 0], [0, 1], [1, 1]], list(labels)) is None


_numbers = st.integers(-3, 3).map(float)
_labelled = st.tuples(st.tuples(_numbers, _numbers, _numbers), st.sampled_from("abc"))


@given(st.lists(_labelled, min_size=3, max_size=9))
def test_the_silhouette_equals_its_definition(
    rows: list[tuple[tuple[float, float, float], str]],
) -> None:
    vectors, labels = [list(v) for v, _ in rows], [label for _, label in rows]
    value = compute_silhouette(vectors, labels)
    if not 2 <= len(set(labels)) < len(labels):
        assert value is None
        return
    scores = [_silhouette_of(i, vectors, labels) for i in range(len(labels))]
    assert value is not None
    assert value == pytest.approx(sum(scores) / len(scores), abs=1e-9)
    assert -1 <= value <= 1


def _silhouette_of(i: int, vectors: list[list[float]], labels: list[str]) -> float:
    others: dict[str, list[float]] = {}
    for j, label in enumerate(labels):
        if j != i:
            others.setdefault(label, []).append(_distance(vectors[i], vectors[j]))
    means = {label: sum(distances) / len(distances) for label, distances in others.items()}
    own = means.pop(labels[i], None)
    if own is None:
        return 0.0
    nearest = min(means.values())
    # Distances of 1e-16 are noise of the cosine, as large as the score that it would make.
    return (nearest - own) / max(own, nearest) if max(own, nearest) > 1e-9 else 0.0


def _distance(one: list[float], other: list[float]) -> float:
    norm = math.hypot(*one) * math.hypot(*other)
    return 1 - sum(a * b for a, b in zip(one, other, strict=True)) / norm if norm else 1.0
