"""The index at the end of a session: there where it is wanted, and never in the way."""

from __future__ import annotations

import sqlite3
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from tests.build.postgres import execute
from tests.plugin.scratch import Project


def rows(file: Path, statement: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(file)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


@pytest.fixture
def index(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RAGEVAL_DB", "index.sqlite")
    return project.path / "index.sqlite"


def test_a_session_puts_its_run_into_the_index(project: Project, index: Path) -> None:
    result = project.run("--rageval-run-id", "one")
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*index of runs*")
    runs = rows(index, "SELECT run_id, verdict, n_cases, passed, missed FROM evaluation_runs")
    assert runs == [("one", "pass", 4, 3, 1)]
    outcomes = dict(rows(index, "SELECT case_id, outcome FROM test_results"))
    assert outcomes == {
        "ok-1": "passed",
        "ok-2": "passed",
        "short-1": "missed",
        "out-1": "passed",
    }
    project.run("--rageval-run-id", "two")
    assert rows(index, "SELECT run_id FROM evaluation_runs") == [("one",), ("two",)]


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("postgresql://ann:sesame@127.0.0.1:1/db", "*connection*"),
        ("mysql://ann:sesame@host/db", "*got a URL of 'mysql'*"),
        ("conftest.py", "*/conftest.py: file is not a database*"),
    ],
)
def test_an_index_that_is_down_costs_a_sentence_and_nothing_else(
    project: Project, monkeypatch: pytest.MonkeyPatch, url: str, reason: str
) -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    monkeypatch.setenv("RAGEVAL_DB", url)
    result = project.run("--rageval-run-id", "one")
    assert result.ret == 0
    text = " ".join(result.stdout.str().split())
    assert "not in the index of runs: " in text
    assert "rageval runs sync puts it in" in text
    assert "sesame" not in text
    assert (project.path / "evals/results/one/gate.json").is_file()
    assert "sesame" not in "".join(
        path.read_text(encoding="utf-8") for path in (project.path / "evals/results/one").iterdir()
    )
    # A long path is broken where the line ends.
    assert fnmatch(text.replace(" ", ""), reason.replace(" ", ""))


@pytest.mark.slow
def test_a_session_puts_its_run_into_postgresql(
    project: Project, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGEVAL_DB", postgres)
    monkeypatch.setenv("RAGEVAL_PROJECT", "acme/bot")
    result = project.run("--rageval-run-id", "one")
    assert result.ret == 0
    found = execute(postgres, "SELECT project, run_id, passed FROM evaluation_runs")
    assert found == [("acme/bot", "one", 3)]
    kept = [p.read_text(encoding="utf-8") for p in project.run_folders()[0].iterdir()]
    assert "hunter2secret" not in "".join([*kept, result.stdout.str(), result.stderr.str()])
