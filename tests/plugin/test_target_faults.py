"""Errors of the target, and replies without chunks, are the first thing a session shows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.plugin.rag_server import rag_server
from tests.plugin.scratch import Project, case

RAISES = """
import logging, pytest

def answer(question):
    print("asked for", question.question)
    logging.getLogger("my.rag").warning("about to ask")
    return question.lower()

@pytest.fixture(scope="session")
def rag_client():
    return answer
"""
CASES = [case(f"case-{n}", f"question {n}") for n in range(3)]
MESSAGE = "AttributeError: 'AskRequest' object has no attribute 'lower'"
PLACE = "conftest.py:7: in answer"


@pytest.fixture
def raising(project: Project) -> Project:
    """A project whose client raises for every case."""
    project.write("conftest.py", RAISES)
    project.write("thresholds.toml", "version = 1\n")
    project.cases(CASES)
    return project


def returning(project: Project, reply: str) -> Project:
    """A project whose client returns one reply."""
    text = f"import pytest\n\n@pytest.fixture(scope='session')\ndef rag_client():\n    {reply}\n"
    project.write("conftest.py", text)
    project.write("thresholds.toml", "version = 1\n")
    project.cases(CASES)
    return project


def section(result: pytest.RunResult, heading: str = "errors of the target") -> list[str]:
    """Lines of a section."""
    lines = iter(result.outlines)
    assert any(heading in line and line.startswith("=") for line in lines), result.outlines
    found = []
    for line in lines:
        if line.startswith("="):
            break
        found.append(line)
    return found


# --- an exception in the user's client -----------------------------------------------------


def test_an_exception_is_on_the_first_screen_and_in_every_file_with_its_place(
    raising: Project,
) -> None:
    raising.write_pages()
    result = raising.run("evals", "--junitxml=j.xml", "--json-report")
    assert "errors of the target" in "\n".join(result.outlines[:24])
    found = section(result)
    assert found[0].startswith("error    raised in 3 of 3 cases: AttributeError")
    assert f"         {PLACE}" in found
    assert "             return question.lower()" in found
    assert "         cases: case-0, case-1, case-2" in found
    text = result.stdout.str()
    assert text.index("errors of the target") < text.index("= rageval =")
    assert text.count(PLACE) == 1
    assert "ERRORED" not in text
    for record in raising.records().values():
        assert record["error"]["traceback"].splitlines() == [PLACE, "    return question.lower()"]
    (folder,) = raising.run_folders()
    summary = (folder / "summary.md").read_text(encoding="utf-8")
    assert (
        "- **error** 3 raised: AttributeError at conftest.py:7: case-0, case-1, case-2" in summary
    )
    assert "has no attribute" not in summary
    assert PLACE in (folder / "report.html").read_text(encoding="utf-8")
    for case_xml in ElementTree.parse(raising.path / "j.xml").iter("testcase"):
        if "case-" in case_xml.attrib["name"]:
            properties = {p.attrib["name"]: p.attrib["value"] for p in case_xml.iter("property")}
            assert properties["rageval.error"] == f"raised: {MESSAGE}"
            assert properties["rageval.traceback"].startswith(PLACE)
    report = json.loads((raising.path / ".report.json").read_text(encoding="utf-8"))
    (one,) = [test for test in report["tests"] if test["nodeid"].endswith("case-1")]
    assert one["metadata"]["rageval"]["error"]["message"] == MESSAGE
    assert one["metadata"]["rageval"]["error"]["traceback"].startswith(PLACE)


def test_secrets_and_local_variables_stay_out(
    raising: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_RAG_API_KEY", "hunter2-hunter2")
    text = """
import os, pytest

def ask(request):
    local = "a-local-value"
    raise RuntimeError("refused " + os.environ["MY_RAG_API_KEY"] + " at http://u:pass12@host/x")

@pytest.fixture(scope="session")
def rag_client():
    return lambda request: ask(request)
"""
    raising.write("conftest.py", text)
    result = raising.run("evals", "-ra", "--show-capture=all")
    (folder,) = raising.run_folders()
    shown = result.stdout.str() + (folder / "results.jsonl").read_text(encoding="utf-8")
    assert "RuntimeError: refused *** at http://***@host/x" in shown
    for secret in ("hunter2", "pass12", "a-local-value"):
        assert secret not in shown


# --- options of pytest ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flag", "workers"),
    [("-x", ()), ("--maxfail=2", ()), pytest.param("-x", ("-n", "2"), marks=pytest.mark.slow)],
)
def test_an_errored_case_counts_as_a_failure_to_stop_at(
    project: Project, flag: str, workers: tuple[str, ...]
) -> None:
    project.cases([case(f"dead-{n}", "refuse it") for n in range(60)])
    result = project.run("evals", flag, "--rageval-concurrency=2", *workers)
    n = 1 if flag == "-x" else 2
    result.stdout.fnmatch_lines([f"!*stopping after {n} failure*!"])
    assert result.ret == (2 if workers else 1)
    errored = result.parseoutcomes()["errored"]
    assert errored == n if not workers else errored < 20
    assert any(line.startswith("not evaluated: ") for line in result.outlines)


@pytest.mark.parametrize("own", [False, True], ids=["default", "own test function"])
def test_pdb_stops_where_the_client_raised(raising: Project, own: bool) -> None:
    if own:
        raising.write("evals/eval_set.py", "def test_case(eval_record):\n    pass\n")
    raising.cases(CASES[:1])
    result = raising.pytester.run(
        *raising.pytester._getpytestargs(),
        "evals",
        "--pdb",
        stdin=b"p 'in ' + question.question\nc\n",
        timeout=60,
    )
    text = result.stdout.str()
    assert "conftest.py(7)answer()" in text
    assert "(Pdb) 'in question 0'" in text
    assert f"         {PLACE}" in section(result)
    assert raising.records()["case-0"]["error"]["kind"] == "raised"
    assert "complete" not in text.split("short test summary")[-1]


def test_a_breakpoint_with_cases_in_flight_says_what_it_needs(project: Project) -> None:
    returning(project, "return lambda request: breakpoint()")
    found = " ".join(line.strip() for line in section(project.run("evals")))
    assert "breakpoint() in a client needs --rageval-concurrency 1" in found
    assert "conftest.py:5: in <lambda>" in found


@pytest.mark.parametrize("concurrency", [1, 8])
def test_live_logs_are_shown_below_their_case(raising: Project, concurrency: int) -> None:
    level = "--log-cli-level=WARNING"
    result = raising.run_apart("evals", level, f"--rageval-concurrency={concurrency}")
    lines = result.outlines
    for n in range(3):
        (here,) = [i for i, line in enumerate(lines) if f"::case-{n} " in line]
        assert "live log call" in lines[here + 1]
        assert "about to ask" in lines[here + 2]
    assert sum("about to ask" in line for line in lines) == 3 + 1  # once more as captured


# --- replies over HTTP ---------------------------------------------------------------------


@pytest.fixture
def serve(project: Project) -> Iterator[Callable[[Any], None]]:
    """Let the project ask a server with one reply to everything."""
    with rag_server(lambda question, nth: replies[0]) as server:
        replies: list[Any] = []
        project.write("conftest.py", "")
        project.write("thresholds.toml", "version = 1\n")
        project.cases(CASES)
        text = (project.path / "pyproject.toml").read_text(encoding="utf-8")
        project.write("pyproject.toml", f'{text}url = "{server.url}"\n')
        yield replies.append


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ((400, {"error": "rate limit for org-1"}), "HTTP 400: rate limit for org-1"),
        ((422, {"detail": [{"loc": ["body"], "msg": "bad"}]}), "HTTP 422: body: bad"),
        ({"code": 102, "message": "no such chat"}, "the reply reports an error: no such chat"),
        (
            {"answer": "", "error_msg": "LLM timed out"},
            "the reply reports an error: LLM timed out (the answer is empty",
        ),
    ],
    ids=["openai", "fastapi", "in-200", "empty"],
)
def test_the_reason_of_a_server_is_shown(
    project: Project, serve: Callable[[Any], None], reply: Any, shown: str
) -> None:
    serve(reply)
    found = " ".join(line.strip() for line in section(project.run("evals")))
    assert shown in found
    assert "in 3 of 3 cases" in found
    (folder,) = project.run_folders()
    summary = (folder / "summary.md").read_text(encoding="utf-8")
    assert "in 3 of 3 cases" in summary
    assert shown not in summary


@pytest.mark.parametrize("library", ["httpx", "urllib"])
def test_the_reason_reaches_through_an_http_library(
    project: Project, serve: Callable[[Any], None], library: str
) -> None:
    serve((429, {"error": {"message": "rate limit for org-1"}}))
    calls = {
        "httpx": "httpx.post(URL, json={'question': request.question}).raise_for_status()",
        "urllib": "urllib.request.urlopen(URL, json.dumps({'question': 'q'}).encode()).read()",
    }
    text = (project.path / "pyproject.toml").read_text(encoding="utf-8")
    url = text.split('url = "')[1].split('"')[0]
    text = f"""
import json, urllib.request, httpx, pytest
URL = "{url}"

def answer(request):
    {calls[library]}

@pytest.fixture(scope="session")
def rag_client():
    return answer
"""
    project.write("conftest.py", text)
    found = " ".join(line.strip() for line in section(project.run("evals")))
    assert "http in 3 of 3 cases" in found
    assert "the reply says: rate limit for org-1" in found
    assert "conftest.py:6: in answer" in found


# --- replies without chunks ----------------------------------------------------------------


def test_a_mapping_that_finds_nothing_is_named(
    project: Project, serve: Callable[[Any], None]
) -> None:
    serve({"answer": "Yes.", "output": [{"type": "search_call", "results": [{"name": "a.md"}]}]})
    expression = "output[?type=='search'].results[].{rel_path: name}"
    text = (project.path / "pyproject.toml").read_text(encoding="utf-8")
    table = (
        f'[tool.rageval.target.response]\nanswer = "answer"\nretrieved_chunks = "{expression}"\n'
    )
    project.write("pyproject.toml", f"{text}{table}")
    found = "".join(
        line[9:] + " " for line in section(project.run("evals"), "replies of the target")
    )
    assert "every reply had 0 retrieved chunks (3 cases have golds)" in found
    assert expression.split(" ")[0] in found
    assert "keys that came: answer, output" in found


# --- the judge -----------------------------------------------------------------------------
