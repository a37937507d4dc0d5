"""Recorded responses scored from Python, as the command scores them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pytest_rageval import (
    RagEvalError,
    compare_runs,
    evaluate,
    load_run,
    score,
)
from pytest_rageval.cli import main as cli
from tests.build.files import write_lines

CASES, RESPONSES = Path("evals/set.jsonl"), Path("responses.jsonl")
RESULTS = Path("evals/results")
CHUNK = {"rel_path": "a.md", "heading_path": "# A", "text": "A is A.", "rank": 1}
GONE_JUDGE = """
from pytest_rageval import JudgeFailure, Judgement

class Gone:
    identity = "gone"

    def judge(self, rubric, request, repeat=0):
        failure = JudgeFailure(kind="unreachable", message="connection refused")
        return Judgement(rubric=rubric, rubric_version="1", judge="gone", failure=failure)
"""
VOLATILE = {"run_id", "timestamp", "latency"}


@pytest.fixture(autouse=True)
def _files(project: Path) -> None:
    golds = [{"rel_path": "a.md", "heading_path": "# A"}]
    write_lines(CASES, *({"id": i, "question": "?", "gold_supports": golds} for i in "abc"))
    reply = {"answer": "A is A.", "abstained": False, "debug": {"retrieved_chunks": [CHUNK]}}
    other = {**reply, "debug": {"retrieved_chunks": [{**CHUNK, "rel_path": "b.md"}]}}
    write_lines(RESPONSES, {"id": "a", "response": reply}, {"id": "b", "response": other})


def figures(name: str) -> object:
    document = json.loads((RESULTS / name / "metrics.json").read_text("utf-8"))
    document.pop("latency")
    return {key: value for key, value in document.items() if key not in VOLATILE}


@pytest.mark.parametrize("judge", ["none", "offline"])
def test_a_scored_run_is_that_of_the_command(judge: str) -> None:
    flags = [] if judge == "none" else ["--judge", judge]
    command = ["score", str(CASES), str(RESPONSES), "-k", "3", "--save", "command", *flags]
    assert cli.run(command) == 0
    run = score(CASES, RESPONSES, judge=judge, k=3, save="call")
    assert figures("call") == figures("command")
    assert run.rows() == load_run("call").rows()
    assert [row["outcome"] for row in run.rows()][1:] == ["missed", "error"]
    assert run.notes == ("1 of 3 cases have no recorded response",)
    files = [{path.name for path in (RESULTS / name).iterdir()} for name in ("call", "command")]
    assert files[0] == files[1] >= {"report.html"}


def test_a_saved_run_is_put_into_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGEVAL_DB", "index.sqlite")
    score(CASES, RESPONSES, save="call")
    score(CASES, RESPONSES)
    with closing(sqlite3.connect("index.sqlite")) as index:
        assert index.execute("SELECT run_id FROM evaluation_runs").fetchall() == [("call",)]
    monkeypatch.setenv("RAGEVAL_DB", str(CASES))
    run = score(CASES, RESPONSES, save="other", no_report=True)
    assert run.notes[1].startswith("not in the index of runs: ")
    assert not (RESULTS / "other" / "report.html").exists()


@pytest.mark.parametrize("absolute", [False, True])
def test_a_case_file_is_that_of_the_project_wherever_the_call_is_from(
    project: Path, monkeypatch: pytest.MonkeyPatch, absolute: bool
) -> None:
    asked = evaluate(CASES, lambda request: {"answer": "A."}, judge="none", save=False)
    (project / "notebooks").mkdir()
    monkeypatch.chdir(project / "notebooks")
    base = project if absolute else Path("..")
    run = score(base / CASES, base / RESPONSES, root="..")
    assert {row["file"] for row in run.rows()} == {"evals/set.jsonl"}
    assert compare_runs(asked, run, root="..").to_dict()["n_paired"] == 3


def test_a_judge_that_cannot_be_reached_ends_the_call_and_saves_nothing() -> None:
    Path("gone.py").write_text(GONE_JUDGE, encoding="utf-8")
    Path("pyproject.toml").write_text(
        '[tool.rageval]\nmax_errors = 2\njudge.client = "gone:Gone"\n', encoding="utf-8"
    )
    with pytest.raises(RagEvalError, match="the judge cannot be reached: connection refused"):
        score(CASES, RESPONSES, judge=None, save="call")
    assert not (RESULTS / "call").exists()
