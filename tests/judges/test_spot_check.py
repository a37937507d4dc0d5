from __future__ import annotations

import random
from typing import Any

import pytest

from pytest_rageval.judges.spot_check import choose_cases, choose_spot_check
from pytest_rageval.values.case import Case
from pytest_rageval.values.settings import JudgeSettings, Settings


def settings(n: int = 5, **judging: Any) -> Settings:
    chosen = JudgeSettings(**{"spot_check": n, **judging})
    return Settings(rootdir=".", judge="model-1", judging=chosen)


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


KEYS = [f"evals/set.jsonl::case-{i}" for i in range(40)]


def test_every_case_is_chosen_about_as_often() -> None:
    counts = dict.fromkeys(KEYS, 0)
    for file in range(400):
        for _, key in choose_spot_check([(file, key) for key in KEYS], 10):
            counts[key] += 1
    # Binomial(400, 1/4): mean 100, sd 8.7.
    assert 60 < min(counts.values()) <= max(counts.values()) < 140
