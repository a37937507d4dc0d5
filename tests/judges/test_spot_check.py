from __future__ import annotations

import random
from typing import Any

import pytest

from pytest_rageval.judges.spot_check import COMPARED, choose_cases, spot_check_fields
from pytest_rageval.runs.record_json import record_from_json, record_to_json
from pytest_rageval.values.case import Case
from pytest_rageval.values.settings import JudgeSettings, Settings
from pytest_rageval.values.verdict import JudgeFailure, Judgement, Verdict
from tests.build.records import record


def settings(n: int = 5, **judging: Any) -> Settings:
    given = {"spot_check": n, **judging}
    return Settings(rootdir=".", judge="model-1", judging=JudgeSettings(**given))


CASES = [
    (f"evals/{file}.jsonl", Case(id=f"c{i}", question="?", answerable=i % 3 > 0))
    for file in "ab"
    for i in range(30)
]


def test_the_choice_depends_on_neither_order_nor_process() -> None:
    chosen = choose_cases(CASES, settings())
    assert len(chosen) == 5
    for seed in range(5):
        shuffled = random.Random(seed).sample(CASES, len(CASES))
        assert choose_cases(shuffled, settings()) == chosen


def test_cases_of_the_same_name_in_two_files_are_two_cases() -> None:
    assert len(choose_cases(CASES, settings(99))) == 40


def test_unanswerable_cases_are_chosen_only_where_they_are_judged() -> None:
    answerable = {(file, case.id) for file, case in CASES if case.answerable}
    assert choose_cases(CASES, settings(99)) == answerable
    assert len(choose_cases(CASES, settings(99, rubrics=("five_dimensions",)))) == 60


@pytest.mark.parametrize("n", [0, 5])
def test_without_a_first_judge_or_a_number_nothing_is_chosen(n: int) -> None:
    given = Settings(rootdir=".", judge="none", judging=JudgeSettings(spot_check=n))
    assert choose_cases(CASES, given) == frozenset()
    assert choose_cases(CASES, settings(0)) == frozenset()


def test_every_rubric_names_its_scores() -> None:
    assert {rubric: len(keys) for rubric, keys in COMPARED.items()} == {
        "groundedness": 1, "correctness": 1, "quality": 4, "five_dimensions": 5,
    }  # fmt: skip


def judgement(rubric: str, **fields: Any) -> Judgement:
    return Judgement(rubric=rubric, rubric_version=f"{rubric}-2", judge="m2 at h", **fields)


def test_a_record_keeps_scores_reasons_and_errors_through_json() -> None:
    verdict = Verdict(scores={"groundedness": 2.0, "claim_support_rate": 0.5}, reasoning="half")
    failure = JudgeFailure(kind="refused", message="no")
    fields = spot_check_fields(
        ("groundedness", "correctness"),
        [
            judgement("groundedness", verdict=verdict, duration_ms=2.0),
            judgement("correctness", failure=failure, duration_ms=3.0),
        ],
    )
    kept = record_from_json(record_to_json(record("a", spot_check=fields))).spot_check
    assert kept == fields
    assert kept is not None
    assert kept["judge"] == "m2 at h"
    assert kept["scores"] == {"groundedness": 2.0}
    assert kept["reasoning"] == {"groundedness": "half"}
    assert kept["errors"] == {"correctness": {"kind": "refused", "message": "no"}}
    assert kept["rubric_version"]["correctness"] == "correctness-2"
    assert kept["duration_ms"] == 5.0


def test_a_case_without_a_verdict_to_repeat_keeps_nothing() -> None:
    assert spot_check_fields((), []) is None
