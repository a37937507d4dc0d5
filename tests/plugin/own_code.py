"""A project with metrics in a package of its own, and what its runs have stored."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from pytest_rageval.cli import main as cli
from tests.build.records import flat_line
from tests.plugin.scratch import Project, case, comparable

SETTINGS = """
[tool.pytest.ini_options]
filterwarnings = ["error"]
[tool.rageval]
judge = "none"
plugins = ["acme.metrics"]
metric_timeout_s = 5
no_report = true
"""
METRICS = """
from pytest_rageval import NA, AskResponse, Case, Scored, metric


@metric("acme.words", title="Words <b>of</b> the answer", direction="lower", scale=(0, None))
def words(case: Case, reply: AskResponse) -> Scored:
    n = len(reply.answer.split())
    return Scored(n, detail=f"{n} words \\x1b[31m<i>here</i>")


@metric("acme.pii_free", title="No personal data", binary=True, population="answerable cases",
        version="2")
def pii_free(case: Case, reply: AskResponse) -> Scored | NA:
    if not case.answerable:
        return NA("The case is unanswerable.")
    return Scored("@" not in reply.answer)
"""
N = 24
CLIENT = """
import os, pytest

def reply(question):
    word, name = question.split()
    if word == "refuse":
        raise ConnectionRefusedError("nobody listens")
    number = int(name[1:])
    mail = " me@acme.test" if os.environ.get("LEAKS") and number % 2 == 0 else ""
    path = f"{name}.md"
    return {
        "answer": "The answer text." + " more" * (number % 3) + mail,
        "abstained": word == "abstain",
        "references": [{"rel_path": path}],
        "debug": {"retrieved_chunks": [{"rel_path": path, "text": "note", "rank": 1}]},
    }

@pytest.fixture(scope="session")
def rag_client():
    return lambda request: reply(request.question)
"""
CASES = [
    case(
        f"c{i:02}", f"hit q{i:02}", category="even" if i % 2 == 0 else "odd",
        gold_supports=[{"rel_path": f"q{i:02}.md"}],
    )
    for i in range(N)
]  # fmt: skip


def write_own(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Write a project with two metrics of its own in a package beside its settings."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("acme", "acme.metrics"):  # commands of another test have imported theirs
        monkeypatch.delitem(sys.modules, name, raising=False)
    project.write("pyproject.toml", SETTINGS)
    project.write("acme/__init__.py", "")
    project.write("acme/metrics.py", METRICS)
    project.write("conftest.py", CLIENT)
    project.write("thresholds.toml", "")
    project.cases([*CASES, case("none", "abstain q99", answerable=False)])
    return project


def documents(project: Project, run_id: str, name: str) -> Any:
    return json.loads((project.folder(run_id) / name).read_text(encoding="utf-8"))


def records(project: Project, run_id: str = "one") -> dict[str, Any]:
    text = (project.folder(run_id) / "results.jsonl").read_text(encoding="utf-8")
    return {r["case_id"]: r for r in map(flat_line, text.splitlines())}


def numbers(project: Project, run_id: str) -> Any:
    metrics = comparable(documents(project, run_id, "metrics.json"))
    return metrics, comparable(documents(project, run_id, "groups.json"))["by_category"]


def rageval(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    capsys.readouterr()
    code = cli.run(arguments)
    shown = capsys.readouterr()
    return int(code), shown.out + shown.err


def said(result: pytest.RunResult) -> str:
    return "\n".join([*result.outlines, *result.errlines])
