"""The commands that a run ends with."""

from __future__ import annotations

import pytest

from pytest_rageval.runs.tags import write_tag
from tests.plugin.scratch import CASES, CONFTEST, PYPROJECT, REFUSED, Project

EXPLAIN = "next     rageval explain last short-1   (shows why it missed)"


def advised(result: pytest.RunResult) -> list[str]:
    """Return the lines with commands."""
    return [line for line in result.outlines if line.startswith("next ")]


def test_a_miss_is_explained_before_it_is_asked_again(project: Project) -> None:
    again = "next     pytest --lf   (re-run the failures)"
    assert advised(project.run()) == [EXPLAIN, again]
    assert advised(project.run("--lf")) == [EXPLAIN]
    assert advised(project.run("--rageval-failed-from", "last")) == [EXPLAIN]


def test_errors_are_named_first(project: Project) -> None:
    project.cases([*CASES, REFUSED])
    assert advised(project.run()) == [
        "next     pytest --lf   (re-run after fixing the errors)",
        EXPLAIN,
    ]


def test_a_first_whole_run_that_passed_is_offered_as_the_baseline(project: Project) -> None:
    project.cases(CASES[:2])
    offer = "next     rageval runs tag last main   (to compare later runs with this one)"
    assert advised(project.run("-k", "ok-1")) == []
    assert advised(project.run("--rageval-run-id", "one")) == [offer]
    write_tag(project.folder().parent, "main", "one")
    assert advised(project.run()) == []


def test_a_run_in_another_folder_is_named_by_it(project: Project) -> None:
    result = project.run("--rageval-results", "other", "--rageval-run-id", "one")
    assert advised(result)[0].startswith("next     rageval explain other/one short-1")
    project.cases(CASES[:2])
    assert advised(project.run("--rageval-results", "other")) == []


@pytest.mark.parametrize(
    ("here", "place"), [("packages", "a"), ("packages/a/evals", ".."), ("packages/a", "")]
)
def test_a_session_started_elsewhere_names_the_folder_of_its_commands(
    project: Project, here: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project.path / "packages/a"
    project.write("packages/a/pyproject.toml", PYPROJECT)
    project.write("packages/a/conftest.py", CONFTEST)
    project.cases(CASES, "../packages/a/evals/eval_set")
    monkeypatch.chdir(project.path / here)
    result = project.run(str(folder / "evals"))
    start = "paths and commands below are for the project's folder: cd "
    text = " ".join(" ".join(result.outlines).split())
    assert (f"note {start}{place} " in text) == bool(place)
    assert (start in text) == bool(place)
    assert "results evals/results/" in text
    project.write("packages/a/thresholds.toml", '[cases]\non_miss = "fail"\n')
    cut = " ".join(" ".join(project.run("-x", str(folder / "evals")).outlines).split())
    assert "resume pytest " in cut
    assert ("below, except `resume`, are for the project's folder: cd " in cut) == bool(place)
