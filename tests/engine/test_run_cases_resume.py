"""Records of a stored run that are kept when it continues."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.analysis.compare.settings import current_config
from pytest_rageval.engine.run_cases import ResumedRun, is_finished, read_resumed
from pytest_rageval.project.case_reader import LoadedSet, LocatedCase
from pytest_rageval.runs.store import RunWriter, write_document
from pytest_rageval.values.case import Case
from pytest_rageval.values.diagnoses.table import TargetErrorKind
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.settings import Settings
from tests.build.records import failed, record

FILE = "evals/set.jsonl"


def of(case: Case, /, **fields: Any) -> CaseRecord:
    return record(
        case.id, file=FILE, case_hash=LocatedCase(case=case, lineno=1).case_hash, **fields
    )


def resumed(root: Path, *records: CaseRecord, cases: tuple[Case, ...]) -> ResumedRun:
    settings = Settings(rootdir=str(root))
    with RunWriter(root, "r") as writer:
        for one in records:
            writer.append(one)
        write_document(writer.path, "config.json", current_config(settings))
    located = tuple(LocatedCase(case=c, lineno=n) for n, c in enumerate(cases, start=4))
    loaded = LoadedSet(path=root / FILE, display=FILE, cases=located)
    return read_resumed(root / "r", settings, [loaded])


@pytest.mark.parametrize(
    ("kind", "stands"),
    [
        ("timeout", True),
        ("http", True),
        ("protocol", True),
        ("empty", True),
        ("connection", False),
        ("not_attempted", False),
    ],
)
def test_errors_that_the_target_had_a_part_in_stand(kind: TargetErrorKind, stands: bool) -> None:
    assert is_finished([failed("a", kind)]) is stands
    assert is_finished([record("a")])


def test_the_last_line_of_a_case_and_repeat_counts(tmp_path: Path) -> None:
    case = Case(id="a", question="?")
    found = resumed(
        tmp_path, of(case), of(case, repeat=1), of(case, outcome="missed"), cases=(case,)
    )
    assert {key: r.scores.outcome for key, r in found.kept.items()} == {
        (f"{FILE}::a", 0): "missed",
        (f"{FILE}::a", 1): "passed",
    }
    assert (len(found.finished), found.is_on_disk) == (1, False)


def test_line_and_groups_of_a_case_are_those_of_today(tmp_path: Path) -> None:
    then = Case(id="a", question="?", category="old")
    now = Case(id="a", question="?", category="new", tags=("t",), required=True)
    found = resumed(tmp_path, of(then, category="old"), cases=(now,))
    (kept,) = found.kept.values()
    assert not found.is_on_disk
    assert (kept.lineno, kept.case.category, kept.case.tags, kept.case.required) == (
        4,
        "new",
        ("t",),
        True,
    )


def test_changed_and_vanished_cases_are_told_apart(tmp_path: Path) -> None:
    one, other = Case(id="a", question="old?"), Case(id="b", question="?")
    found = resumed(tmp_path, of(one), of(other), cases=(Case(id="a", question="new?"),))
    assert (found.kept, found.n_changed, found.gone) == ({}, 1, ("b",))
    first, second = found.sentences("r")
    assert first == (
        "run r resumes: 0 cases are done; what is selected is asked again: 1 of changed content"
    )
    assert second.endswith("cases that the set no longer has: b")
