"""Errors of the user's own code: fixtures that raise, clients that exit, and the debugger."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from tests.plugin.rag_server import rag_server
from tests.plugin.scratch import SERIAL_AND_PARALLEL, Project, outcomes
from tests.plugin.test_target_faults import CASES, section

BROKEN_FIXTURE = """
import pytest

@pytest.fixture(scope="session")
def rag_client():
    raise LookupError("no key for the index")
"""
AT_FIXTURE = [
    "         conftest.py:6: in rag_client",
    '             raise LookupError("no key for the index")',
]


def client(project: Project, body: str, header: str = "def answer(request):") -> None:
    """Let the project ask a function of one line."""
    returned = "@pytest.fixture(scope='session')\ndef rag_client():\n    return answer\n"
    project.write("conftest.py", f"import pytest, sys\n\n{header}\n    {body}\n\n{returned}")
    project.write("thresholds.toml", "version = 1\n")
    project.cases(CASES)


@pytest.fixture
def broken(project: Project) -> Project:
    """A project whose client cannot be set up."""
    project.write("conftest.py", BROKEN_FIXTURE)
    project.write("thresholds.toml", "version = 1\n")
    project.cases(CASES)
    return project


@SERIAL_AND_PARALLEL
def test_an_error_of_the_client_fixture_is_shown_once_with_its_cases(
    broken: Project, workers: tuple[str, ...]
) -> None:
    result = broken.run("evals", "--junitxml=j.xml", "--json-report", *workers)
    assert result.ret == 1
    assert section(result) == [
        "error    fixture in 3 of 3 cases: LookupError: no key for the index",
        *AT_FIXTURE,
        "         cases: case-0, case-1, case-2",
    ]
    text = result.stdout.str()
    assert text.count("no key for the index") == 2  # the message and the line of code
    assert "pytest_rageval" not in text
    assert "; 3 cases: 3 errored; judge off; " in text
    assert outcomes(result) == {"errored": 3, "checks failed": 1}
    assert broken.stored("metrics.json")["errored"] == 3
    assert {one["error"]["kind"] for one in broken.records().values()} == {"fixture"}
    suite = ElementTree.parse(broken.path / "j.xml").getroot()[0]
    assert (suite.attrib["errors"], suite.attrib["skipped"]) == ("3", "0")
    (error,) = suite[0].iter("error")
    assert error.attrib["message"] == "fixture: LookupError: no key for the index"
    assert (error.text or "").startswith("conftest.py:6: in rag_client")
    report = json.loads((broken.path / ".report.json").read_text(encoding="utf-8"))
    (one,) = [test for test in report["tests"] if test["nodeid"].endswith("case-1")]
    assert one["metadata"]["rageval"]["error"]["kind"] == "fixture"


CLOSED_WITH_A_KEY = """
import os, pytest

@pytest.fixture(scope="session")
def rag_client():
    yield lambda request: {"answer": "Monthly."}
    raise ConnectionError(f"cannot log out {os.environ['APP_TOKEN']}")
"""


@SERIAL_AND_PARALLEL
def test_a_key_in_an_error_of_a_client_that_is_closed_reaches_no_report(
    project: Project, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    monkeypatch.setenv("APP_TOKEN", "hushed-0123")
    project.write("conftest.py", CLOSED_WITH_A_KEY)
    result = project.run("evals", "--junitxml=j.xml", "--json-report", *workers)
    written = [(project.path / name).read_text("utf-8") for name in ("j.xml", ".report.json")]
    for text in (result.stdout.str(), *written):
        assert "cannot log out ***" in text
        assert "hushed" not in text


@pytest.mark.parametrize("header", ["def", "async def"])
def test_a_client_fixture_that_takes_an_unknown_one_is_named_with_its_place(
    broken: Project, header: str
) -> None:
    text = BROKEN_FIXTURE.replace("def rag_client()", f"{header} rag_client(indx)")
    broken.write("conftest.py", text)
    assert section(broken.run("evals")) == [
        "error    fixture in 3 of 3 cases: fixture 'indx' not found",
        "         conftest.py:4: in rag_client",
        "         cases: case-0, case-1, case-2",
    ]


def test_a_debugger_shows_the_error_of_a_client_from_its_own_line_on(project: Project) -> None:
    client(project, "raise LookupError('no such index')")
    debugged = project.pytester.run(
        *project.pytester._getpytestargs(), "evals", "--pdb", stdin=b"c\nc\nc\n", timeout=60
    )
    shown = debugged.stdout.str()
    assert "conftest.py(4)answer()" in shown
    traceback = shown.partition(" traceback >")[2].partition(" entering PDB >")[0]
    assert "LookupError: no such index" in traceback
    assert "pytest_rageval" not in traceback


def test_a_resumed_run_asks_cases_whose_fixture_raised(broken: Project) -> None:
    broken.run("evals", "--rageval-run-id=one", "-x")
    client(broken, 'return {"answer": "a", "debug": {"retrieved_chunks": [{"rel_path": "a.md"}]}}')
    result = broken.run("evals", "--rageval-resume=one")
    assert outcomes(result)["passed"] == 3


@pytest.mark.parametrize(
    ("header", "line", "named"),
    [
        ("def", "sys.exit(3)", "SystemExit: 3"),
        ("async def", "sys.exit(3)", "SystemExit: 3"),
        ("def", "pytest.fail('no')", "Failed: no"),
        ("async def", "pytest.skip('later')", "Skipped: later"),
        ("async def", "raise GeneratorExit('done')", "GeneratorExit: done"),
    ],
)
def test_a_client_that_exits_is_an_error_at_its_line(
    project: Project, header: str, line: str, named: str
) -> None:
    client(project, line, header=f"{header} answer(request):")
    result = project.run("evals")
    found = section(result)
    assert found[0] == f"error    raised in 3 of 3 cases: {named}"
    assert found[1].strip() == "conftest.py:4: in answer"
    assert "pytest_rageval" not in result.stdout.str()


@pytest.mark.parametrize("stop", ["breakpoint()", "__import__('pdb').Pdb().set_trace()"])
def test_q_in_a_debugger_ends_the_session(project: Project, stop: str) -> None:
    client(project, f"{stop}; print('went on'); return {{'answer': 'a'}}")
    result = project.pytester.run(
        *project.pytester._getpytestargs(),
        "evals", "-s", "--rageval-concurrency=1",
        stdin=b"q\nq\nq\n",
        timeout=60,
    )  # fmt: skip
    assert result.ret == 2
    assert result.stdout.str().count("(Pdb)") == 1
    assert "Quitting debugger" in result.stdout.str()


def test_pdb_says_why_it_does_not_stop_at_a_refused_reply(project: Project) -> None:
    client(project, 'return {"text": "a"}')
    text = " ".join(line.strip() for line in section(project.run("evals", "--pdb")))
    assert "--pdb stops where your code raises; a refused reply raises nothing there" in text
    assert "--pdb" not in "".join(section(project.run("evals")))


# --- replies over HTTP, and runs that check little -----------------------------------------


def ask_http(project: Project, url: str, tables: str = "") -> str:
    """Run with a target at an address; return the section of faults as one line."""
    text = (project.path / "pyproject.toml").read_text(encoding="utf-8")
    project.write("conftest.py", "")
    project.write("thresholds.toml", "version = 1\n")
    project.write("pyproject.toml", f'{text}url = "{url}"\n{tables}')
    return " ".join(line.strip() for line in section(project.run("evals")))


def test_a_refused_request_names_the_fields_sent_and_their_mapping(project: Project) -> None:
    with rag_server(lambda question, nth: (400, {"error": "field q is required"})) as server:
        found = ask_http(project, server.url)
    assert "HTTP 400: field q is required; fields sent as JSON: k, question; map them" in found
    assert "[tool.rageval.target.request]" in found


@pytest.mark.parametrize("field", ["question", "message"])
@pytest.mark.parametrize("by", ["FastAPI", "hand"])
def test_a_field_that_was_sent_and_is_required_may_belong_into_a_form(
    project: Project, field: str, by: str
) -> None:
    detail = [{"type": "missing", "loc": ["body", field], "msg": "Field required", "input": None}]
    refusal = {"detail": detail} if by == "FastAPI" else {"error": f"{field} is missing"}
    with rag_server(lambda question, nth: (422, refusal)) as server:
        found = ask_http(project, server.url)
    said = f"body.{field}: Field required" if by == "FastAPI" else f"{field} is missing"
    assert f"HTTP 422: {said}; fields sent as JSON: k, question; map" in found
    advice = "; question was sent: an API that reads a form needs a client in Python"
    assert (advice in found) == (field == "question")


def test_a_run_that_could_check_nothing_is_no_pass(project: Project) -> None:
    client(project, 'return {"answer": "a", "docs": []}')
    result = project.run("evals")
    assert result.ret == 1
    assert any(line.startswith("NOTHING CHECKED: 3 cases") for line in result.outlines)
    result.stdout.fnmatch_lines(["FAILED thresholds.toml::checked - NOTHING CHECKED: 3 cases*"])
    gate = project.stored("gate.json")
    assert gate["verdict"] == "fail"
    assert gate["sentence"].startswith("NOTHING CHECKED: 3 cases were answered")
