"""The sentences on a baseline that was found."""

from __future__ import annotations

from typing import get_args

import pytest

from pytest_rageval.values.baseline import (
    BaselineChoice,
    ChoiceCode,
    ChoiceRemark,
    RemarkCode,
    age_text,
)


@pytest.mark.parametrize(
    ("days", "commits", "text"),
    [(3, 1, "3 days and 1 commit"), (1, None, "1 day"), (None, None, "")],
)
def test_an_age_says_what_is_known(days: int | None, commits: int | None, text: str) -> None:
    assert age_text(days, commits) == text


def test_a_choice_of_a_damaged_file_has_a_sentence() -> None:
    for code in get_args(ChoiceCode):
        assert BaselineChoice(code=code, facts={"why": "x"}, run_id="r").sentence
    assert all(ChoiceRemark(code=code).sentence for code in get_args(RemarkCode))


def test_only_a_choice_without_a_run_is_a_problem() -> None:
    facts = {"main": "main", "where": "evals/results", "commit": "abc1234"}
    none = BaselineChoice(code="no_runs", facts=facts)
    found = BaselineChoice(code="main", facts=facts, run_id="r1", days=2, passed_over="failed")
    assert none.problem is not None
    assert none.sentence in none.problem
    assert found.problem is None
    assert "abc1234" in found.sentence
    assert "2 days old" in found.sentence
