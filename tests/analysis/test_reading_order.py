"""Order of reading: random answers beside those that promise most."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.analysis.reading_order import (
    random_order,
    random_sample,
    reading_order,
    reasons_of,
)
from pytest_rageval.values.record import Evidence
from pytest_rageval.values.verdict import Judgement, Verdict
from tests.build.records import record

Reasons = st.dictionaries(st.integers(0, 60), st.sampled_from([(), ("flipped",)]), max_size=40)


@given(Reasons, st.sampled_from([0.0, 0.3, 0.5, 1.0]))
def test_every_answer_is_read_once_and_enough_of_them_are_random(
    reasons: dict[int, Any], share: float
) -> None:
    order = reading_order(reasons, random_share=share)
    assert sorted(order) == sorted(reasons)
    drawn = random_order(reasons)
    for n in range(1, len(order) + 1):
        read = dict.fromkeys(order[:n])
        # What was read of the random order without a gap is a random sample.
        assert len(random_sample(reasons, read)) >= min(int(share * n), len(drawn))


def test_promising_answers_alternate_with_random_ones_those_with_most_reasons_first() -> None:
    reasons: dict[str, Any] = {f"p{i}": () for i in range(20)}
    last, before = random_order(reasons)[:-3:-1]
    reasons |= {before: ("flipped",), last: ("flipped", "judge unsure")}
    drawn = random_order(reasons)
    order = reading_order(reasons, random_share=0.5)
    assert order[:4] == (drawn[0], last, drawn[1], before)
    assert order[4:] == drawn[2:-2]
    assert reading_order(reasons, random_share=1.0) == drawn


def test_the_random_order_depends_on_the_keys_alone() -> None:
    assert random_order([3, 1, 2, 1]) == random_order([1, 2, 3])
    more = random_order(range(50))
    assert tuple(one for one in more if one < 10) == random_order(range(10))


def test_a_sample_ends_before_the_first_answer_that_was_not_read() -> None:
    drawn = random_order(range(10))
    read = dict.fromkeys([*drawn[:3], *drawn[4:6]])
    assert random_sample(range(10), read) == drawn[:3]


def judged(**verdict: Any) -> dict[str, Any]:
    made = Judgement(rubric="correctness", rubric_version="", judge="j", verdict=Verdict(**verdict))
    return {"judgements": {"correctness": made}}


@pytest.mark.parametrize(
    ("fields", "reasons"),
    [
        ({}, ()),
        (judged(unsure=("correctness",)), ("judge unsure",)),
        ({"metrics": {"correctness": 5.0}, "failure_stage": "not_retrieved"},
         ("rule against judge",)),
        ({"metrics": {"correctness": 1.0}, "failure_stage": "not_retrieved"}, ()),
        ({"metrics": {"correctness": 5.0}, "failure_stage": "ungrounded"}, ()),
        ({"metrics": {"correctness": 5.0, "answer_rules_pass_rate": 0.0}},
         ("rule against judge",)),
        ({"metrics": {"correctness": 5.0, "answer_rules_pass_rate": 1.0}}, ()),
        ({"metrics": {"correctness": 1.0}, "evidence": Evidence(facts_stated=(True, True))},
         ("rule against judge",)),
        ({"metrics": {"correctness": 1.0}, "evidence": Evidence(facts_stated=(True, False))}, ()),
    ],
)  # fmt: skip
def test_reasons_are_doubts_of_the_judge_and_rules_against_it(
    fields: dict[str, Any], reasons: tuple[str, ...]
) -> None:
    assert reasons_of(record("a", **fields)) == reasons
    assert reasons_of(record("a", **fields), flipped=True) == ("flipped", *reasons)
