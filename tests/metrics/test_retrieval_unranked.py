"""Chunks whose order is not their rank."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.metrics.scoring import score_case
from pytest_rageval.metrics.view import view_case
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.record import CaseScores, ScoreSettings
from pytest_rageval.values.reply import AskResponse, ErrorInfo, RetrievedChunk

BY_RANK = ("mrr", "ndcg_at_k", "map", "doc_mrr", "doc_ndcg_at_k", "doc_map", "recall_at_tokens")
CASE = Case(id="c", question="q", gold_supports=(Anchor(rel_path="shop.md"),))
FAILED = ErrorInfo(kind="http", message="HTTP 500")


def scored(n_before: int, *, error: bool = False, case: Case = CASE, **more: Any) -> CaseScores:
    paths = [*(f"{n}.md" for n in range(n_before)), "shop.md"]
    chunks = tuple(RetrievedChunk(rel_path=path, text="Nine.") for path in paths)
    response = None if error else AskResponse(answer="Nine.", retrieved_chunks=chunks)
    settings = replace(ScoreSettings(ranked=False, token_budget=100), **more)
    return score_case(view_case(case, response, settings, error=FAILED if error else None))


@pytest.mark.parametrize("error", [False, True])
def test_metrics_of_ranks_do_not_apply_whatever_came(error: bool) -> None:
    found = scored(1, error=error)
    for key in BY_RANK:
        assert found.metrics[key] is None
        assert "ranked = false" in found.not_applicable[key]
    assert {key: scored(1, ranked=True).metrics[key] for key in BY_RANK}["mrr"] == 0.5


def test_hits_and_recall_are_those_of_all_that_came() -> None:
    found = scored(7, k=5)
    assert {found.metrics[key] for key in ("hit_at_k", "recall_at_k", "doc_hit_at_k")} == {1}
    assert found.metrics["precision_at_k"] == found.metrics["precision_returned_at_k"] == 1 / 8
    assert scored(7, k=5, ranked=True).metrics["hit_at_k"] == 0


def test_fewer_than_k_are_still_divided_by_k() -> None:
    assert scored(1, k=5).metrics["precision_at_k"] == 1 / 5


def test_a_case_outside_the_population_keeps_its_reason() -> None:
    found = scored(1, case=Case(id="c", question="q", answerable=False))
    assert found.not_applicable["mrr"] == "The case is unanswerable."
