from __future__ import annotations

import pytest

from pytest_rageval.values.case import Anchor
from pytest_rageval.values.reply import RetrievedChunk
from tests.build.scores import case, chunk, rerank_delta, response, score

GOLD = case("a.md | # S")


def reranked(*ranks_before: int | None) -> tuple[RetrievedChunk, ...]:
    """Chunks in final order, the gold first, with their ranks before."""
    where = ("a.md | # S", "b.md | # X", "c.md | # Y")
    pairs = zip(where, ranks_before, strict=False)
    return tuple(chunk(place, rank_before_rerank=rank) for place, rank in pairs)


def test_a_gold_that_moves_up_gains() -> None:
    reply = response(retrieved_chunks=reranked(2, 1))
    found = score(GOLD, reply, k=2)
    delta = rerank_delta(found)
    assert delta is not None
    assert delta["mrr"] == 0.5
    assert delta["recall_at_k"] == 0
    assert delta["recall_all_at_k"] is None
    assert delta["ndcg_at_k"] == pytest.approx(0.36907024644854)


def test_both_orders_are_cut_at_the_same_k() -> None:
    reply = response(retrieved_chunks=reranked(3, 1, 2))
    found = score(GOLD, reply, k=2)
    assert found.metrics_before_rerank is not None
    assert (found.metrics_before_rerank["hit_at_k"], found.metrics["hit_at_k"]) == (0, 1)


def test_ranks_before_may_tie_and_start_anywhere() -> None:
    reply = response(retrieved_chunks=reranked(7, 7, 3))
    found = score(GOLD, reply, k=2)
    assert found.metrics_before_rerank is not None
    assert found.metrics_before_rerank["mrr"] == 0.5


def test_an_empty_list_stays_empty_and_is_scored_as_such() -> None:
    found = score(GOLD, response(retrieved_chunks=()))
    delta = rerank_delta(found)
    assert found.metrics_before_rerank is not None
    assert found.metrics_before_rerank["hit_at_k"] == 0
    assert delta is not None
    assert delta["hit_at_k"] == 0


@pytest.mark.parametrize("chunks", [None, reranked(2, None)])
def test_without_every_rank_before_there_is_nothing_to_compare(
    chunks: tuple[RetrievedChunk, ...] | None,
) -> None:
    found = score(GOLD, response(retrieved_chunks=chunks))
    assert found.metrics_before_rerank is None


def test_an_unanswerable_case_has_no_delta_of_a_ranking() -> None:
    reply = response(retrieved_chunks=reranked(2, 1))
    found = score(case(answerable=False), reply)
    delta = rerank_delta(found)
    assert delta is not None
    # Reranking empties no list, so what was returned for the unanswerable stays as bad.
    assert {k: v for k, v in delta.items() if v is not None} == {"negative_accuracy": 0.0}


def test_reranking_what_is_irrelevant_out_of_the_cut_improves_specificity() -> None:
    asked = case("a.md", irrelevant_supports=(Anchor(rel_path="b.md"),))
    chunks = (
        RetrievedChunk(rel_path="a.md", rank=1, rank_before_rerank=2),
        RetrievedChunk(rel_path="b.md", rank=2, rank_before_rerank=1),
    )
    found = score(asked, response(retrieved_chunks=chunks), k=1)
    delta = rerank_delta(found)
    assert delta is not None
    assert delta["specificity_accuracy"] == 1.0
