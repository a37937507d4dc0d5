"""docs/python.md names what is there, and its files run together as a project."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from pytest_rageval import CaseRecord
from tests.build.projects import clear_settings
from tests.build.targets import fake_target, json_reply
from tests.docs.examples import read_document, sections
from tests.plugin.scratch import Project, case, outcomes

PAGE = read_document("python.md")
SECTIONS = {section.title: section for section in sections(PAGE)}
FILES = {
    match[1]: block.text
    for section in SECTIONS.values()
    for block in section.blocks
    if (match := re.match(r"# (\S+\.py)\n", block.text))
}
CLIENT = """[tool.rageval]
judge = "none"
[tool.rageval.target]
client = "{}:make_client"
"""


def test_the_page_names_every_fixture_and_only_attributes_that_are_there() -> None:
    from pytest_rageval.plugin import hooks

    source = Path(str(vars(hooks)["__file__"])).read_text(encoding="utf-8")
    offered = re.findall(r"^@pytest\.fixture.*\ndef ([a-z]\w+)", source, re.MULTILINE)
    assert [name for name in offered if f"`{name}`" not in SECTIONS["Fields"].text] == []
    record = SECTIONS["The record of a case"].text
    named = re.findall(r"`(?:eval_record\.)?(scores|verdicts|latency|error|reply)\b", record)
    assert {"scores", "verdicts", "latency", "error"} <= set(named)
    assert [name for name in named if not hasattr(CaseRecord, name)] == []


@pytest.fixture
def notes(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    clear_settings(monkeypatch)
    project = Project(pytester)
    project.cases(
        [
            case("refunds", "How long does a refund take?", tags=["legal"])
            | {"gold_supports": [{"rel_path": "refunds.md"}]},
            case("dentist", "Which dentist?", answerable=False),
        ]
    )
    project.write("conftest.py", FILES["conftest.py"])
    return project


def test_the_client_and_the_test_function_of_the_page_run(notes: Project) -> None:
    notes.write("evals/eval_set.py", FILES["evals/eval_set.py"])
    result = notes.run()
    assert result.ret == 0
    assert outcomes(result)["passed"] == 2


def test_the_test_function_of_the_page_fails_an_answer_that_does_not_cite(notes: Project) -> None:
    notes.write("conftest.py", FILES["conftest.py"].replace("(Citation(rel_path=paths[0]),)", "()"))
    notes.write("evals/eval_set.py", FILES["evals/eval_set.py"])
    result = notes.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*legal answers cite*"])


def test_the_job_of_the_page_is_asked_until_it_is_done(notes: Project) -> None:
    found = {
        "answer": "A refund takes 14 days.",
        "passages": [{"file": "refunds.md", "text": "A refund takes 14 days."}],
    }
    job = {"id": "j1", "status": "running"}
    replies = [{"id": "s1"}, job, job, {**job, "status": "done", **found}]
    notes.write("conftest.py", "")
    notes.write("pyproject.toml", CLIENT.format("jobs"))
    with fake_target(*map(json_reply, replies)) as target:
        notes.write("jobs.py", FILES["jobs.py"].replace("http://127.0.0.1:8000", target.url))
        notes.run_apart("-k", "refunds")
    lines = [one.line for one in target.received]
    assert lines[:2] == ["POST /sessions HTTP/1.1", "POST /sessions/s1/messages HTTP/1.1"]
    assert lines[2:] == ["GET /jobs/j1 HTTP/1.1"] * 2
    assert target.received[1].json == {"text": "How long does a refund take?"}
    assert notes.records()["refunds"]["outcome"] == "passed"


def test_the_script_of_the_page_lists_what_did_not_pass(
    notes: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    notes.write("evals/conftest.py", FILES["evals/conftest.py"].replace("refunds.md", "other.md"))
    notes.run("--rageval-run-id", "last-run")
    capsys.readouterr()
    runpy.run_path(str(notes.write("worst.py", FILES["worst.py"])))
    assert "refunds not_retrieved 0.0" in capsys.readouterr().out
