from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.report.view.misses import RunCommands, next_commands
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseRecord
from tests.build.records import failed, hits, record

RERUN = ("pytest --lf", "re-run the failures")
FRESH = RunCommands(may_become_baseline=True)
RERAN = RunCommands(reran=True)


def generated(case_id: str, **fields: Any) -> CaseRecord:
    case = Case(id=case_id, question="?", review="generated")
    return record(case_id, case=case, **{"outcome": "missed", **fields})


def commands(*records: CaseRecord, of: RunCommands = FRESH) -> list[tuple[str, str]]:
    return next_commands(records, of)


def test_a_miss_is_explained_and_run_again() -> None:
    explained = ("rageval explain last c0", "shows why it missed")
    assert commands(*hits(0, 1)) == [explained, RERUN]
    assert commands(*hits(0, 0, 1))[0][1] == "the worst of 2"


def test_errors_are_run_again_once_they_are_fixed() -> None:
    asked = ("pytest --lf", "re-run after fixing the errors")
    assert commands(failed("bad")) == [asked]
    assert commands(failed("bad"), *hits(0), of=RERAN) == [
        asked,
        ("rageval explain last c0", "shows why it missed"),
    ]


def test_generated_cases_are_to_be_reviewed() -> None:
    several = [generated("a"), generated("b"), generated("b", outcome="passed")]
    expected = ("rageval label evals/set.jsonl --review", "2 generated cases to review")
    assert commands(*several, *hits(1)) == [expected]
    assert commands(*hits(0), *several, of=RERAN)[1] == expected
    assert commands(generated("a", file="evals/my set.jsonl"))[0][0] == (
        "rageval label 'evals/my set.jsonl' --review"
    )


def test_a_first_run_that_passed_may_become_the_baseline() -> None:
    assert commands(*hits(1)) == [
        ("rageval runs tag last main", "to compare later runs with this one")
    ]
    assert commands(*hits(1), of=RunCommands()) == []


@pytest.mark.parametrize(
    ("case_id", "command"),
    [
        ("two words", "rageval explain last 'two words'"),
        ("a\x1b[31mb", "rageval explain last"),
        ("$(reboot)", "rageval explain last '$(reboot)'"),
        ("--rm", "rageval explain last -- --rm"),
    ],
)
def test_a_name_is_quoted_for_the_shell_or_left_out(case_id: str, command: str) -> None:
    assert commands(record(case_id, outcome="missed"))[0][0] == command
