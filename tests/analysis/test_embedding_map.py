""""""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from pytest_rageval.analysis.embedding_map import (
    NEAREST,
    EmbeddingMap,
    MapCase,
    build_map,
    project_pca,
    project_umap,
)
from pytest_rageval.analysis.embeddings import VectorTable
from pytest_rageval.metrics.similarity import Floats
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.record import CaseRecord, ScoreSettings
from pytest_rageval.values.reply import RetrievedChunk
from tests.build.records import record
from tests.build.scores import case, chunk


def table(**texts: list[float]) -> VectorTable:
    return VectorTable(
        by_text={text: np.array(vector, dtype=np.float64) for text, vector in texts.items()}
    )


def gold(where: str, text: str) -> RetrievedChunk:
    return chunk(where, text=text, matched_golds=(0,), irrelevant=False)


def wrong(where: str, text: str) -> RetrievedChunk:
    return chunk(where, text=text, matched_golds=(), irrelevant=False)


def asked(case_id: str, *chunks: RetrievedChunk, **fields: Any) -> CaseRecord:
    given = {"question": case_id, "retrieved_chunks": chunks, "case": case("a.md | # A"), **fields}
    return record(case_id, **given)


VECTORS = table(q=[1, 0], near=[2, 1], far=[0, 3], back=[-1, 0], section=[1, 1], zero=[0, 0])


def names(found: EmbeddingMap) -> list[tuple[str, str]]:
    return [(point.kind, point.text) for point in found.points]


def wrong_texts(found: EmbeddingMap, of: MapCase) -> list[str]:
    return [found.points[one.point].text for one in of.wrong]


def test_points_are_chunks_golds_and_questions_with_unit_vectors() -> None:
    records = [asked("q", gold("a.md | # A", "near"), wrong("b.md | # B", "far"), outcome="missed")]
    texts = {Anchor(rel_path="a.md", heading_path="# A"): "section"}
    found = build_map(records, VECTORS, ScoreSettings(), texts)
    assert names(found) == [
        ("chunk", "near"),
        ("chunk", "far"),
        ("gold", "section"),
        ("question", "q"),
    ]
    assert np.linalg.norm(found.vectors, axis=1) == pytest.approx(np.ones(4))
    first, second, anchor, question = found.points
    assert (first.relevant, second.relevant) == (True, False)
    assert (anchor.rel_path, anchor.heading_path) == ("a.md", "# A")
    assert (question.name, question.outcome, question.rel_path) == ("q", "missed", "a.md")
    assert (found.n_left_out, found.n_golds_without_text) == (0, 0)


def test_a_question_names_its_golds_its_chunks_and_the_wrong_ones_near_it() -> None:
    records = [
        asked("q", wrong("b.md | # B", "far"), wrong("b.md | # C", "near")),
        asked("z", gold("a.md | # A", "section")),
    ]
    found = build_map(records, VECTORS, ScoreSettings())
    (first,) = found.cases  # "z" has no vector
    root = 0.5**0.5
    assert [(one.point, one.relevant) for one in first.retrieved] == [(0, False), (1, False)]
    assert [one.similarity for one in first.wrong] == pytest.approx([2 / 5**0.5, 0.0])
    assert wrong_texts(found, first) == ["near", "far"]
    # The gold came back for the other question alone, and is the nearest text of a gold all the
    # same; "near" is nearer.
    assert first.gold_similarity == pytest.approx(root)
    assert first.n_nearer == 1
    assert first.anchors == (Anchor(rel_path="a.md", heading_path="# A"),)


def test_texts_without_a_direction_are_left_out_and_counted() -> None:
    records = [
        asked("q", gold("a.md | # A", "zero"), wrong("b.md", "near"), wrong("c.md", "unknown")),
        asked("unknown question"),
    ]
    found = build_map(records, VECTORS, ScoreSettings())
    assert names(found) == [("chunk", "near"), ("question", "q")]
    assert found.n_left_out == 3
    assert found.n_golds_without_text == 1
    (one,) = found.cases
    assert [n.point for n in one.retrieved] == [0]


@settings(max_examples=30)
@given(st.integers(0, 1000), st.integers(1, 12))
def test_wrong_chunks_are_in_order_and_their_number_is_that_of_a_plain_count(
    seed: int, n: int
) -> None:
    vectors = np.random.default_rng(seed).normal(size=(n + 2, 3))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = [f"t{number}" for number in range(n)]
    known = table(q=list(vectors[0]), gold=list(vectors[1]))
    by_text = {**known.by_text, **dict(zip(texts, vectors[2:], strict=True))}
    chunks = [gold("a.md | # A", "gold"), *(wrong(f"b{text}.md", text) for text in texts)]
    found = build_map([asked("q", *chunks, k=50)], VectorTable(by_text=by_text), ScoreSettings())
    (one,) = found.cases
    cosines = unit[2:] @ unit[0]
    assert one.gold_similarity == pytest.approx(float(unit[1] @ unit[0]))
    assert one.n_nearer == int((cosines > one.gold_similarity).sum())
    expected = sorted(map(float, cosines), reverse=True)[:NEAREST]
    assert [near.similarity for near in one.wrong] == pytest.approx(expected)


# ---

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
