"""Giving up on a target that is gone, and at the end of a budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.engine.run_state import Breaker, Budget
from pytest_rageval.values.diagnoses.table import TargetErrorKind
from pytest_rageval.values.record import AskedAlone, CaseRecord, CaseVerdicts
from pytest_rageval.values.reply import ErrorInfo
from pytest_rageval.values.verdict import Judgement, JudgeUsage
from tests.build.records import failed, record


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        (["connection"], "1 connection error (--rageval-max-errors 1)"),
        (["timeout"], "1 timeout (--rageval-max-errors 1)"),
        (["connection"] * 2, "2 connection errors in a row (--rageval-max-errors 2)"),
        (["timeout"] * 3, "3 timeouts in a row (--rageval-max-errors 3)"),
        (
            ["timeout", "connection"],
            "2 connection errors and timeouts in a row (--rageval-max-errors 2)",
        ),
    ],
)
def test_the_reason_counts_the_errors(kinds: list[TargetErrorKind], said: str) -> None:
    breaker = Breaker(len(kinds))
    for kind in kinds:
        assert not breaker.open
        breaker.count(failed("a", kind))
    assert breaker.open
    assert breaker.reason.startswith(f"gave up after {said}; the last one: ")


def test_an_answer_ends_the_row() -> None:
    breaker = Breaker(2)
    for one in (failed("a", "timeout"), record("b"), failed("c", "timeout")):
        breaker.count(one)
    assert not breaker.open


def judged(usage: JudgeUsage, **fields: Any) -> CaseRecord:
    verdict = Judgement(rubric="groundedness", rubric_version="", judge="m", usage=usage,
                        level="text")  # fmt: skip
    return record("a", verdicts=CaseVerdicts(judgements={"groundedness": verdict}), **fields)


PAID = JudgeUsage(calls=2, cost_usd=0.5)
THRICE = ErrorInfo(kind="timeout", message="too late", attempts=3)
CACHED = JudgeUsage(cached=True, cost_usd_uncached=0.5)


@pytest.mark.parametrize(
    ("one", "price", "spent"),
    [
        (record("a"), None, (1, 0.0, "target")),
        (record("a"), 0.25, (1, 0.25, "")),
        (record("a", usage={"cost_usd": 0.125}), 0.25, (1, 0.125, "")),
        (record("a", alone=AskedAlone()), 0.25, (2, 0.5, "")),
        (judged(PAID), 0.25, (3, 0.75, "")),
        (judged(CACHED), 0.25, (1, 0.25, "")),
        (judged(replace(PAID, cost_usd=None)), 0.25, (3, 0.25, "judge")),
        (failed("a", "not_attempted"), 0.25, (0, 0.0, "")),
        (failed("a", error=THRICE), 0.25, (1, 0.25, "")),
    ],
)
def test_a_record_has_cost_what_was_sent_for_it(
    one: CaseRecord, price: float | None, spent: tuple[int, float, str]
) -> None:
    assert Budget(call_price=price).spent_on(one) == spent


def test_questions_in_flight_are_calls_already() -> None:
    breaker = Breaker(10, Budget(max_calls=2))
    assert [breaker.begin() for _ in range(3)] == [True, True, False]
    assert "--rageval-max-calls 2" in breaker.reason


def test_a_question_without_a_record_leaves_its_place() -> None:
    breaker = Breaker(10, Budget(max_calls=1))
    assert breaker.begin()
    breaker.end(None)
    assert breaker.begin()


def test_money_cannot_be_kept_where_the_price_of_the_judge_is_unknown() -> None:
    breaker = Breaker(10, Budget(max_cost=100.0))
    assert breaker.begin()
    breaker.end(judged(replace(PAID, cost_usd=None)))
    assert not breaker.begin()
    assert "input_per_mtok" in breaker.gave_up
    # Without a limit on money the price is of no matter.
    free = Breaker(10, Budget(max_calls=100))
    assert free.begin()
    free.end(judged(replace(PAID, cost_usd=None)))
    assert free.begin()


def test_a_target_without_a_price_is_named_where_money_is_limited() -> None:
    for budget, said in ((Budget(max_cost=1.0), 1), (Budget(max_calls=1), 0)):
        budget.spend(budget.spent_on(record("a")))
        assert len([*budget.notes()]) == said


def test_what_was_replayed_is_not_counted() -> None:
    breaker = Breaker(10, Budget(max_calls=1), is_replay=lambda: True)
    for _ in range(3):
        assert breaker.begin()
        breaker.end(record("a"))
    assert breaker.budget.calls == 0


def test_the_reason_is_that_of_the_first_who_gave_up() -> None:
    breaker = Breaker(10, Budget(max_calls=1))
    assert breaker.spend((1, 0.0, ""))
    assert not breaker.spend((1, 0.0, ""))
    breaker.opened_elsewhere("something else")
    assert breaker.gave_up.startswith(breaker.reason)
    assert "2 calls" in breaker.gave_up
