"""Tokens of the context, recall within a budget of them, and facts as they were looked up."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.metrics.context import estimate_tokens, tokens_reported, within_budget
from pytest_rageval.metrics.view import Verdicts
from pytest_rageval.values.case import KeyFact
from pytest_rageval.values.record import CaseScores, Evidence
from tests.build.scores import TIMEOUT, case, chunk, response, score, status

PATHS = ("a.md", "b.md", "c.md", "x.md")


def of_tokens(*tokens: int | None, budget: int | None = None, **fields: Any) -> CaseScores:
    chunks = tuple(chunk(path, token_count=n) for path, n in zip(PATHS * 3, tokens, strict=False))
    reply = response(retrieved_chunks=chunks)
    return score(case("a.md", "b.md"), reply, token_budget=budget, **fields)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("ééé", 2), ("日本語", 3), ("\ud800", 1)],
)
def test_a_token_is_four_bytes_of_text(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize(
    ("tokens", "budget", "recall"),
    [
        ((300, 900), 1200, 1),
        ((300, 900), 1199, 0.5),
        ((300, 900), 300, 0.5),
        ((300, 900), 299, 0),
        ((), 100, 0),
    ],
)
def test_recall_counts_the_first_chunks_that_fit_whole(
    tokens: tuple[int, ...], budget: int, recall: float
) -> None:
    found = of_tokens(*tokens, budget=budget)
    assert found.metrics["context_tokens"] == sum(tokens)
    assert found.metrics["recall_at_tokens"] == recall


def test_a_large_chunk_wins_recall_at_k_and_not_recall_within_tokens() -> None:
    small, large = of_tokens(100, 100, budget=200), of_tokens(1000, 1000, budget=200)
    assert small.metrics["recall_at_k"] == large.metrics["recall_at_k"] == 1
    assert (small.metrics["recall_at_tokens"], large.metrics["recall_at_tokens"]) == (1, 0)


def test_counts_of_the_target_and_estimates_are_never_mixed() -> None:
    text = "abcd" * 10
    counted = chunk("a.md", token_count=50, text=text)
    plain = chunk("b.md", text=text)
    bare = chunk("c.md", token_count=50)
    cut = chunk("d.md", text=text, text_truncated=True)

    def tokens(*chunks: Any, k: int = 5) -> float | None:
        return score(case(), response(retrieved_chunks=chunks), k=k).metrics["context_tokens"]

    assert tokens(counted) == 50
    assert tokens(plain) == 10
    assert tokens(counted, plain) == 20
    assert tokens(counted, bare) == 100
    assert tokens(plain, bare) is None
    assert tokens(plain, cut) is None
    assert tokens(plain, cut, k=1) == 10


@pytest.mark.parametrize(("where", "recall"), [("a.md", 1), ("a.md | # A", None)])
def test_recall_within_tokens_needs_anchors_that_can_be_read(
    where: str, recall: float | None
) -> None:
    reply = response(retrieved_chunks=(chunk("a.md", token_count=1),))
    found = score(case(where), reply, token_budget=9, headings_reported=False)
    assert found.metrics["recall_at_tokens"] == recall
    assert status(found, "recall_at_tokens") == ("not_applicable" if recall is None else "scored")


@pytest.mark.parametrize(
    ("counts", "reported"), [((), True), ((1, 0), True), ((1, None), False), ((None,), False)]
)
def test_a_target_reports_tokens_that_counts_every_chunk(
    counts: tuple[int | None, ...], reported: bool
) -> None:
    assert tokens_reported([chunk("a.md", token_count=n) for n in counts]) is reported


def test_what_is_not_reported_is_not_applicable_and_a_failure_an_error() -> None:
    silent = score(case("a.md"), response(retrieved_chunks=None), token_budget=9)
    unset = of_tokens(1, 2)
    lost = score(case("a.md"), None, error=TIMEOUT, token_budget=9)
    for key in ("context_tokens", "recall_at_tokens"):
        assert key in silent.not_applicable
        assert lost.metrics[key] is None
        assert key not in lost.not_applicable
    assert unset.not_applicable["recall_at_tokens"] == "No token_budget is set."
    textless = score(case("a.md"), response("a.md"), token_budget=9)
    assert textless.not_applicable["context_tokens"].startswith("A chunk in the cut")
    assert textless.not_applicable["recall_at_tokens"].startswith("A chunk in the cut")


@given(st.lists(st.integers(0, 50), max_size=9), st.integers(1, 200), st.integers(1, 6))
def test_recall_within_tokens_is_what_a_second_reading_counts(
    tokens: list[int], budget: int, k: int
) -> None:
    found = of_tokens(*tokens, budget=budget, k=k).metrics
    cut, kept, left = tokens[:k], set(), budget
    for at, n in enumerate(cut):
        left -= n
        if left < 0:
            break
        kept.add(PATHS[at % len(PATHS)])
    assert found["context_tokens"] == sum(cut)
    assert found["recall_at_tokens"] == len(kept & {"a.md", "b.md"}) / 2
    assert (found["recall_at_tokens"] or 0) <= (found["recall_at_k"] or 0)


@given(st.lists(st.integers(0, 50), max_size=9), st.integers(0, 200), st.integers(0, 200))
def test_a_larger_budget_holds_at_least_as_many_chunks(
    tokens: list[int], one: int, other: int
) -> None:
    few, more = sorted((one, other))
    assert within_budget(tokens, few) <= within_budget(tokens, more) <= len(tokens)
    assert sum(tokens[: within_budget(tokens, more)]) <= more
    assert within_budget(tokens, sum(tokens)) == len(list(accumulate(tokens)))


@given(st.text(), st.text())
def test_the_estimate_of_a_text_is_at_most_that_of_its_parts(one: str, other: str) -> None:
    both = estimate_tokens(one + other)
    assert max(estimate_tokens(one), estimate_tokens(other)) <= both
    assert both <= estimate_tokens(one) + estimate_tokens(other)


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (Verdicts(), "No rubric in use looks for key facts."),
        (Verdicts(not_applicable={"key_fact_recall": "No claims."}), "No claims."),
        (Verdicts(scores={"key_fact_recall": None}), "error"),
    ],
)
def test_facts_that_were_not_looked_up_in_the_answer_are_an_error_if_the_judge_was_asked(
    verdicts: Verdicts, expected: str
) -> None:
    of = case("a.md", expected_key_facts=("a",))
    reply = response(retrieved_chunks=(chunk("a.md", text="a"),))
    verdicts = replace(verdicts, evidence=Evidence(facts=((1,),)))
    found = score(of, reply, verdicts=verdicts, judge_configured=True)
    assert found.metrics["context_utilization"] is None
    assert found.not_applicable.get("context_utilization", "error") == expected


@pytest.mark.parametrize(
    ("answer", "judge", "value", "state"),
    [
        ("text", True, 0.5 / (1 + 0.5), "scored"),  # of the facts in the context, those used
        ("text", False, None, "not_applicable"),
        (" ", True, None, "error"),
    ],
)
def test_the_use_of_a_context_is_the_weighted_share_of_its_facts_that_the_answer_states(
    answer: str, judge: bool, value: float | None, state: str
) -> None:
    of = case("a.md", expected_key_facts=("a", KeyFact(text="b", vital=False), "c"))
    reply = response(answer=answer, retrieved_chunks=(chunk("a.md", text="a b"),))
    seen = Evidence(facts=((1,), (1,), ()), facts_stated=(False, True, True))
    found = score(of, reply, verdicts=Verdicts(evidence=seen), judge_configured=judge)
    assert found.metrics["fact_recall_in_context"] == 1.5 / 2.5
    assert found.metrics["context_utilization"] == value
    assert status(found, "context_utilization") == state
