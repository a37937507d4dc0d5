from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_rageval.metrics.built_in import BUILT_IN, FIVE_WEIGHTS
from pytest_rageval.metrics.judged import (
    claim_support,
    composite,
    fact_share,
    scores_disagree,
    valid_score,
)
from pytest_rageval.metrics.view import Verdicts
from pytest_rageval.values.case import KeyFact
from pytest_rageval.values.record import CaseScores
from tests.build.scores import TIMEOUT, case, response, score, status

JUDGED = [key for key, info in BUILT_IN.cases.items() if info.judged]
FIVE = {f"five.{name}": 1.0 for name in FIVE_WEIGHTS}


def judged(
    scores: Mapping[str, float | None],
    of: Any = None,
    reply: Any = None,
    keys: frozenset[str] = frozenset(),
) -> CaseScores:
    verdicts = Verdicts(scores=scores, judged_keys=keys)
    return score(
        of or case("a.md"),
        reply or response("a.md", abstained=False),
        verdicts=verdicts,
        judge_configured=True,
    )


@pytest.mark.parametrize(
    ("value", "valid"),
    [
        (4.5, 4.5),
        (5, 5.0),
        (0, 0.0),
        (5.1, None),
        (-0.1, None),
        (True, None),
        ("4", None),
        (None, None),
        (math.nan, None),
        (math.inf, None),
        ([4], None),
    ],
)
def test_a_score_is_a_finite_number_in_its_scale(value: object, valid: float | None) -> None:
    assert valid_score(value, (0, 5)) == valid


def test_the_composite_is_the_weighted_mean() -> None:
    values = dict(zip(FIVE_WEIGHTS, (0.95, 0.9, 1.0, 1.0, 0.95), strict=True))
    assert composite(values, FIVE_WEIGHTS) == pytest.approx(0.9575)


@pytest.mark.parametrize(
    ("values", "weights", "expected"),
    [
        ({"a": 1.0, "b": None}, {"a": 1.0, "b": 1.0}, None),
        ({"a": 1.0}, {"a": 1.0, "b": 1.0}, None),
        ({"a": 1.0, "b": None}, {"a": 1.0, "b": 0.0}, 1.0),
        ({"a": 0.5, "b": 1.0}, {"a": 2.0, "b": 2.0}, 0.75),
        ({"a": 0.0, "b": 1.0}, {"a": 1.0, "b": 3.0}, 0.75),
        ({"a": 0.5}, {"a": 0.0}, None),
        ({}, {}, None),
    ],
)
def test_a_composite_never_renormalises(
    values: dict[str, float | None], weights: dict[str, float], expected: float | None
) -> None:
    assert composite(values, weights) == expected


@pytest.mark.parametrize(("counts", "rate"), [((2, 1), 2 / 3), ((0, 3), 0.0), ((0, 0), None)])
def test_claim_support_is_the_share_of_claims(counts: tuple[int, int], rate: float | None) -> None:
    assert claim_support(*counts) == rate


@pytest.mark.parametrize(
    ("vital", "found", "share"),
    [
        ((True, False, False), (True, False, True), 0.75),  # (1 + 0.5) / (1 + 0.5 + 0.5)
        ((False, False), (True, False), 0.5),
        ((True, True), (True, False), None),
        ((True, False), (True,), None),
        ((True, False), None, None),
    ],
)
def test_a_fact_that_is_not_vital_counts_half(
    vital: tuple[bool, ...], found: tuple[bool, ...] | None, share: float | None
) -> None:
    of = case(expected_key_facts=tuple(KeyFact(text="x", vital=one) for one in vital))
    assert fact_share(of, found) == share


@pytest.mark.parametrize(
    ("one", "other", "scale", "apart"),
    [
        (5, 4, (0, 5), False),
        (4, 3, (0, 5), True),
        (5, 3, (0, 5), True),
        (2, 1, (0, 5), False),
        (1, 2.5, (0, 5), True),
        (0.9, 0.8, (0, 1), False),
        (0.7, 0.5, (0, 1), False),
        (0.3, 0.1, (0, 1), False),
        (0.8, 0.79, (0, 1), True),
        (2, 2.8, (1, 5), False),
        (2, 2.81, (1, 5), True),
        (4.2, 4.19, (1, 5), True),
    ],
)
def test_judges_disagree_beyond_a_point_or_across_the_pass_line(
    one: float, other: float, scale: tuple[float, float], apart: bool
) -> None:
    assert scores_disagree(one, other, scale) is apart
    assert scores_disagree(other, one, scale) is apart


def test_without_a_judge_no_judged_metric_applies() -> None:
    scores = score(case("a.md"), response("a.md"))
    assert {status(scores, key) for key in JUDGED} == {"not_applicable"}


def test_only_rubrics_in_use_are_scored() -> None:
    scores = judged({"groundedness": 4.5})
    assert scores.metrics["groundedness"] == 4.5
    assert [key for key in JUDGED if status(scores, key) != "not_applicable"] == ["groundedness"]


@pytest.mark.parametrize("value", [None, 5.5, math.nan])
def test_an_invalid_verdict_is_an_error_and_not_a_score(value: float | None) -> None:
    assert status(judged({"correctness": value}), "correctness") == "error"


def test_a_missing_verdict_of_a_rubric_in_use_is_an_error() -> None:
    scores = judged({}, keys=frozenset({"groundedness"}))
    assert status(scores, "groundedness") == "error"


def test_a_failed_target_is_an_error_of_the_rubrics_in_use() -> None:
    verdicts = Verdicts(judged_keys=frozenset({"groundedness", "correctness"}))
    scores = score(case("a.md"), None, error=TIMEOUT, verdicts=verdicts, judge_configured=True)
    states = {key: status(scores, key) for key in JUDGED}
    assert {key for key, state in states.items() if state == "error"} == verdicts.judged_keys


def test_abstaining_on_the_answerable_is_incorrect_without_asking() -> None:
    keys = frozenset({"correctness", "key_fact_recall", "groundedness", "claim_support_rate"})
    of = case("a.md", expected_key_facts=("x",))
    scores = judged({}, of, response("a.md", abstained=True), keys)
    assert scores.metrics["correctness"] == 0
    assert scores.metrics["key_fact_recall"] == 0
    assert status(scores, "groundedness") == "not_applicable"
    assert status(scores, "claim_support_rate") == "not_applicable"


@pytest.mark.parametrize("chunks", [None, ()])
def test_groundedness_needs_context(chunks: tuple[()] | None) -> None:
    reply = response(retrieved_chunks=chunks)
    assert status(judged({"groundedness": 0}, reply=reply), "groundedness") == "not_applicable"


def test_unanswerable_cases_have_only_the_five_dimensions() -> None:
    of = case(answerable=False)
    scores = judged({"groundedness": 5, "correctness": 5, "quality.overall": 1, **FIVE}, of)
    states = {key: status(scores, key) for key in JUDGED}
    scored = {key for key, state in states.items() if state == "scored"}
    assert scored == {*FIVE, "five.composite"}
    assert "error" not in states.values()


def test_key_fact_recall_needs_expected_facts() -> None:
    assert status(judged({"key_fact_recall": 1}), "key_fact_recall") == "not_applicable"


def test_an_answer_without_claims_has_no_claim_support() -> None:
    verdicts = Verdicts(not_applicable={"claim_support_rate": "The answer makes no claim."})
    scores = score(case("a.md"), response("a.md"), verdicts=verdicts, judge_configured=True)
    assert scores.not_applicable["claim_support_rate"] == "The answer makes no claim."


def test_the_composite_fails_with_any_of_its_dimensions() -> None:
    whole = judged(FIVE)
    torn = judged({**FIVE, "five.relevance": None})
    assert whole.metrics["five.composite"] == pytest.approx(1)
    assert status(torn, "five.composite") == "error"
    assert torn.metrics["five.synthesis"] == 1
