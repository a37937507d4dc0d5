"""Expected and present cases of a run, in any order of records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.engine.run_cases import RunCases, resume_command
from pytest_rageval.project.case_reader import LoadedSet, LocatedCase
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.settings import Settings
from tests.build.records import record

FILE = "evals/set.jsonl"
CASES = tuple(
    LocatedCase(case=Case(id=name, question="?", category=name), lineno=n)
    for n, name in enumerate("abc", start=1)
)


def run_cases(repeats: int = 1) -> RunCases:
    settings = replace(Settings(rootdir="."), repeats=repeats)
    return RunCases([LoadedSet(path=Path(FILE), display=FILE, cases=CASES)], settings)


def nodeid(name: str) -> str:
    return f"{FILE}::{name}"


def of(name: str, **fields: Any) -> CaseRecord:
    return record(name, file=FILE, **fields)


def expecting(*names: str, repeats: int = 1) -> RunCases:
    cases = run_cases(repeats)
    cases.expect(cases.locate(map(nodeid, names)))
    return cases


def test_a_case_is_reported_once_every_repeat_is_there() -> None:
    cases = expecting("a", "b", repeats=2)
    cases.add(nodeid("a"), of("a", repeat=1))
    assert (cases.reported(), cases.missing_repeats(nodeid("a"))) == (set(), [0])
    cases.add(nodeid("a"), of("a"))
    assert (cases.reported(), cases.missing_repeats(nodeid("a"))) == ({nodeid("a")}, [])
    assert [r.repeat for r in cases.records_of(nodeid("a"))] == [0, 1]


def test_a_later_record_takes_the_place_of_an_earlier_one() -> None:
    cases = expecting("a")
    cases.add(nodeid("a"), of("a", outcome="missed"))
    assert cases.to_rerun() == [nodeid("a")]
    cases.add(nodeid("a"), of("a"))
    assert cases.to_rerun() == []


def test_an_excused_case_is_reported_and_leaves_no_record() -> None:
    cases = expecting("a", "b", repeats=2)
    cases.add(nodeid("a"), of("a"))
    cases.excuse(nodeid("a"))
    cases.excuse("test_x.py::skipped")
    assert (cases.reported(), cases.records) == ({nodeid("a")}, {})
    assert cases.excused == {nodeid("a")}


def test_what_earlier_sessions_hold_counts_as_asked_and_as_selected() -> None:
    cases = run_cases()
    cases.take_over({(nodeid("a"), 0): of("a")})
    cases.expect(cases.locate([nodeid("b")]))
    assert sorted(cases.asked) == [nodeid("a"), nodeid("b")]
    found = cases.selection()
    assert (found.n_selected, found.n_total) == (2, 3)
    assert found.by_category == {"a": (1, 1), "b": (1, 1), "c": (0, 1)}


def test_progress_tells_this_session_from_earlier_ones() -> None:
    cases = run_cases()
    cases.take_over({(nodeid("a"), 0): of("a"), (nodeid("c"), 0): of("c")})
    cases.expect(cases.locate([nodeid("a"), nodeid("b")]))
    cases.add(nodeid("b"), of("b", outcome="missed"))
    assert sorted(cases.outcomes(earlier=False)) == [("missed", ""), ("passed", "")]
    assert cases.outcomes(earlier=True) == [("passed", "")]


def test_the_hash_is_over_what_was_asked() -> None:
    assert run_cases().dataset_hash() is None
    assert expecting("a", "b").dataset_hash() == expecting("b", "a").dataset_hash()
    assert expecting("a").dataset_hash() != expecting("b").dataset_hash()


def test_records_come_settled_in_the_order_of_the_set() -> None:
    cases = expecting("a", "b", repeats=2)
    for name, repeat in (("b", 1), ("a", 1), ("b", 0), ("a", 0)):
        lineno = 1 if name == "a" else 2
        cases.add(nodeid(name), of(name, repeat=repeat, lineno=lineno))
    assert [(r.case.id, r.repeat) for r in cases.settled()] == [
        ("a", 0),
        ("a", 1),
        ("b", 0),
        ("b", 1),
    ]


# ---


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ([], "pytest --rageval-resume r"),
        (["evals", "--rag-k", "3"], "pytest evals --rag-k 3 --rageval-resume r"),
        (["-k", "a or b"], "pytest -k 'a or b' --rageval-resume r"),
        (["--rageval-resume", "last", "-n2"], "pytest -n2 --rageval-resume r"),
        (["evals", "--sw", "--stepwise-skip", "-v"], "pytest evals -v --rageval-resume r"),
        (["--rageval-run-id=x", "--rageval-resume=r"], "pytest --rageval-resume r"),
        (
            ["--rag-param", "api_key=hunter2", "--rag-param=apiToken=hunter2"],
            "pytest --rag-param 'api_key=***' '--rag-param=apiToken=***' --rageval-resume r",
        ),
        (
            ["--rag-param", "max_tokens=5", "-k", "secret"],
            "pytest --rag-param max_tokens=5 -k secret --rageval-resume r",
        ),
    ],
)
def test_what_was_typed_is_repeated_under_the_name_of_the_run(typed: list[str], shown: str) -> None:
    assert resume_command(typed, "r") == shown
