"""Selecting what failed in a stored run."""

from __future__ import annotations

import pytest

from tests.plugin.long_runs import document, lines_of
from tests.plugin.scratch import CASES, REFUSED, SERIAL_AND_PARALLEL, Project, checks


def told(result: pytest.RunResult) -> str:
    return " ".join(line.strip() for line in result.outlines)


@SERIAL_AND_PARALLEL
def test_only_what_missed_or_erred_is_asked_again(
    project: Project, workers: tuple[str, ...]
) -> None:
    project.cases([*CASES, REFUSED])
    project.run("--rageval-run-id", "one")
    result = project.run("--rageval-failed-from", "one", "--rageval-run-id", "two", *workers)
    folder = project.folder("two")
    assert sorted(r["case_id"] for r in lines_of(folder)) == ["dead-1", "short-1"]
    assert result.ret == 1  # the error, which any part of a set can tell
    found = checks(document(folder, "gate.json"))
    assert found == {"recall_at_k": "skip", "error_rate": "fail"}


def test_nothing_failed_is_exit_5_with_a_sentence(project: Project) -> None:
    project.cases(CASES[:2])
    project.run("--rageval-run-id", "one")
    result = project.run("-q", "--rageval-failed-from", "one")
    assert result.ret == 5
    assert "nothing to select: every case passed in run one" in told(result)
    assert [p.name for p in project.run_folders()] == ["one"]
