from __future__ import annotations

import numpy as np
import pytest

from pytest_rageval.server.ranking import (
    Candidate,
    FusionMethod,
    Scores,
    fuse,
    ranking,
    rerank,
)
from pytest_rageval.server.retrieval import score_folders
from pytest_rageval.server.terms import TermFrequencies, stem, terms
from pytest_rageval.server.vector import SparseRows, fit_lsa

VECTOR = np.array([0.8, 0.4, -0.2, 0.0])
LEXICAL = np.array([0.0, 10.0, 5.0, 0.0])


def fused(method: FusionMethod, vector: float = 0.3, lexical: float = 0.7) -> Scores:
    return fuse(VECTOR, LEXICAL, method=method, vector_weight=vector, lexical_weight=lexical)


def test_weighted_fusion_is_the_weighted_mean_of_scores_over_the_best() -> None:
    # vector / 0.8 = 1, .5, 0, 0; lexical / 10 = 0, 1, .5, 0.
    assert fused("weighted") == pytest.approx([0.3, 0.3 * 0.5 + 0.7, 0.35, 0.0])


def test_reciprocal_rank_fusion_adds_one_over_sixty_plus_rank() -> None:
    assert fused("rrf") == pytest.approx([1 / 61, 1 / 62 + 1 / 61, 1 / 62, 0.0])


def test_ranking_leaves_out_what_did_not_match_and_breaks_ties_by_position() -> None:
    assert ranking(np.array([0.5, 0.0, 0.9, 0.5 + 1e-12])).tolist() == [2, 0, 3]


def test_folder_scores_are_the_mean_of_the_best_three_plus_the_name() -> None:
    frequencies = TermFrequencies(10, {"billing": 1, "bill": 2})
    scores = score_folders(
        ["bill"], {"work/bill": [0.9, 0.6, 0.3, 0.1], "home": [0.3]}, frequencies
    )
    assert scores == pytest.approx({"work/bill": 0.6 + 0.3, "home": 0.1})


def test_rerank_lifts_the_passage_that_holds_the_words_together() -> None:
    frequencies = TermFrequencies(100, {"retri": 5, "limit": 5})
    scattered = Candidate(
        position=7,
        score=1.0,
        body_terms=["retri", *["x"] * 20],
        heading_terms=[],
    )
    together = Candidate(
        position=3, score=0.8, body_terms=["retri", "limit"], heading_terms=["limit"]
    )
    first, second = rerank(["retri", "limit"], [scattered, together], frequencies)
    assert (first.position, first.rank_before) == (3, 2)
    assert first.score == pytest.approx(0.45 * 0.8 + 0.3 + 0.1 * 0.5 + 0.15)
    assert (second.position, second.rank_before) == (7, 1)
    assert second.score == pytest.approx(0.45 + 0.3 * 0.5)


@pytest.mark.parametrize(
    ("one", "other"),
    [("retries", "retry"), ("running", "run"), ("queues", "queue"), ("cat", "cat")],
)
def test_forms_of_a_word_share_a_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


def test_sparse_products_equal_dense_ones() -> None:
    random = np.random.default_rng(3)
    dense = random.standard_normal((30, 12)).astype(np.float32)
    dense[random.random((30, 12)) < 0.7] = 0
    dense[4] = 0
    rows, columns = np.nonzero(dense)
    starts = np.searchsorted(rows, np.arange(31))
    sparse = SparseRows(starts, columns, dense[rows, columns], 12)
    right = random.standard_normal((12, 5)).astype(np.float32)
    left = random.standard_normal((30, 5)).astype(np.float32)
    np.testing.assert_allclose(sparse.times(right), dense @ right, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        sparse.transposed().times(left), dense.T @ left, rtol=1e-4, atol=1e-5
    )


def test_lsa_relates_words_that_share_company() -> None:
    texts = [
        "car engine road",
        "automobile engine road",
        "flower garden bee",
        "rose garden bee",
    ] * 3
    chunk_terms = [terms(text) for text in texts]
    model, _ = fit_lsa(chunk_terms, TermFrequencies.count(chunk_terms))
    assert model.embed("unknown words entirely").any() == np.False_
    assert float(model.embed("engine") @ model.embed("road")) > 0.3
    assert float(model.embed("engine") @ model.embed("bee")) < 0.1
