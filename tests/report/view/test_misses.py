""""""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.report.faces.terminal import draw
from pytest_rageval.report.view.misses import (
    RunCommands,
    find_misses,
    misses_document,
    next_commands,
    render_misses,
    render_texts,
)
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseRecord
from tests.analysis.aggregate.test_operational_target_faults import PLACE
from tests.analysis.aggregate.test_operational_target_faults import failed as erred
from tests.build.records import failed, hits, record


def text(*records: CaseRecord, width: int = 80, every: bool = False) -> list[str]:
    blocks = render_misses(records, run_id="r-1", run="last", every=every)
    return [*draw(blocks, width=width)]


def miss(case_id: str, stage: str | None = None, **fields: Any) -> CaseRecord:
    return record(case_id, **{"outcome": "missed", "failure_stage": stage, **fields})


def test_errors_come_first_and_then_the_most_frequent_cause() -> None:
    misses = [miss("a", "not_cited"), miss("b", "not_retrieved"), miss("c", "not_retrieved")]
    found = find_misses([*misses, miss("d"), failed("e"), *hits(1)])
    assert {cause.name: [one.case.id for one in cause.records] for cause in found} == {
        "http": ["e"],
        "not_retrieved": ["b", "c"],
        "not_cited": ["a"],
        "missed": ["d"],
    }


def test_a_passed_case_with_a_failure_stage_is_listed() -> None:
    found = find_misses([record("a", failure_stage="incorrect")])
    assert [cause.name for cause in found] == ["incorrect"]
    shown = text(record("a", failure_stage="incorrect"))
    assert shown[0] == "run r-1   1 of 1 case to look at: 1 passed with a failure stage"


def test_errors_are_grouped_by_message_as_in_the_summary_of_the_run() -> None:
    broken = [erred(f"c{n}", "KeyError: 'x'", "protocol", PLACE) for n in range(2)]
    refused = erred("d", "HTTP 400: rate limit for org-1")
    shown = text(*broken, refused, miss("m", "not_retrieved"))
    assert shown[:10] == [
        "run r-1   4 of 4 cases to look at: 3 errored, 1 missed",
        "",
        "error    protocol in 2 of 4 cases: KeyError: 'x'",
        "         conftest.py:8: in answer",
        "             return question.lower()",
        "  c0  ?",
        "  c1  ?",
        "",
        "error    http in 1 of 4 cases: HTTP 400: rate limit for org-1",
        "  d  ?",
    ]
    document = misses_document(find_misses([*broken, refused]))
    assert [(one["cause"], one["message"], one["n_cases"]) for one in document] == [
        ("protocol", "KeyError: 'x'", 2),
        ("http", "HTTP 400: rate limit for org-1", 1),
    ]


def test_the_command_at_the_end_is_that_of_the_summary_of_the_run() -> None:
    records = [
        record("flaw", {"correctness": 0.0}, outcome="flawed", failure_stage="incorrect"),
        record("flaw2", {"correctness": 1.0}, outcome="flawed", failure_stage="incorrect"),
        miss("half", "not_retrieved", metrics={"recall_at_k": 0.5}),
        miss("none", "hallucinated", metrics={"recall_at_k": 0.0}),
    ]
    ((command, why), _) = next_commands(records, RunCommands())
    assert command == "rageval explain last none"
    for order in (records, records[::-1]):
        shown = text(*order)
        assert shown[-1] == f"next     {command}   ({why})"
        assert [line.strip()[:5] for line in shown if line.startswith("  flaw")] == [
            "flaw ",
            "flaw2",
        ]


# --- texts of misses ---------------------------------------------------------------------------


def texts(*records: CaseRecord, limit: int = 10, width: int = 60) -> list[str]:
    return [*draw(render_texts(records, limit=limit), width=width)]


def asked(**fields: Any) -> CaseRecord:
    case = Case(**{"id": "a", "question": "How long?", **fields})
    return miss("a", "not_retrieved", case=case, answer="A week.")


def test_a_miss_shows_question_expectation_and_answer() -> None:
    assert texts(asked(expected_answer="14 days")) == [
        "missed   a not_retrieved",
        "         question  How long?",
        "         expected  14 days",
        "         answer    A week.",
    ]


# ---

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
