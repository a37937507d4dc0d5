"""Traces of a session: the target can be asked which request was which case."""

from __future__ import annotations

import hashlib
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

# pytester forgets every module that a run inside it was the first to import.
import vcr.stubs.httpx_stubs  # type: ignore[import-untyped]  # noqa: F401

from tests.build.targets import FakeTarget, fake_target, json_reply
from tests.plugin.long_runs import ask_server, lines_of, numbered_cases
from tests.plugin.scratch import CONFTEST, Project, case

CHUNK = {"rel_path": "a.md", "heading_path": "# A", "text": "It is so."}
GOOD = json_reply({"answer": "It is so.", "debug": {"retrieved_chunks": [CHUNK]}})
N = 12
RUN = ("--rageval-run-id", "one")


def expected(run_id: str, case_id: str, repeat: int = 0, attempt: int = 1) -> str:
    """The header, from what docs/traces.md says."""
    text = f"{run_id}\nevals/eval_set.jsonl::{case_id}\n{repeat}"
    trace = hashlib.sha256(text.encode()).hexdigest()[:32]
    span = hashlib.sha256(f"{trace}\n{attempt}".encode()).hexdigest()[:16]
    return f"00-{trace}-{span}-01"


def headers(target: FakeTarget) -> Counter[tuple[str, str | None]]:
    """Number of times that each question came with each header."""
    return Counter((r.json["question"], r.headers.get("traceparent")) for r in target.received)


def stored(folder: Path) -> dict[tuple[str, int], Any]:
    return {(line["case_id"], line["repeat"]): line for line in lines_of(folder)}


@pytest.mark.parametrize(
    ("concurrency", "workers"),
    [(1, ()), (4, ()), pytest.param(4, ("-n", "2"), marks=pytest.mark.slow)],
)
def test_each_question_of_a_run_has_a_trace_that_can_be_computed_again(
    project: Project, concurrency: int, workers: tuple[str, ...]
) -> None:
    cases = numbered_cases(N)
    project.cases(cases)
    with fake_target(GOOD) as target:
        ask_server(project, target.url, concurrency=concurrency)
        project.run(*RUN, "--rageval-repeats", "2", *workers)
    pairs = [(one, repeat) for one in cases for repeat in (0, 1)]
    assert headers(target) == {
        (one["question"], expected("one", one["id"], repeat)): 1 for one, repeat in pairs
    }
    lines = stored(project.folder())
    for one, repeat in pairs:
        line = lines[one["id"], repeat]
        parts = expected("one", one["id"], repeat).split("-")
        assert [line["trace_id"], line["span_id"]] == parts[1:3]
        assert datetime.fromisoformat(line["asked_at"]).utcoffset() is not None


def test_a_resumed_run_asks_in_the_traces_of_the_run_and_keeps_those_of_before(
    project: Project,
) -> None:
    project.cases(numbered_cases(4))
    with fake_target(GOOD) as target:
        ask_server(project, target.url, concurrency=1)
        project.run(*RUN)
        before = stored(project.folder())
        results = project.folder() / "results.jsonl"
        *kept, _ = results.read_text(encoding="utf-8").splitlines(keepends=True)
        results.write_text("".join(kept), encoding="utf-8")
        (project.folder() / "metrics.json").unlink()
        project.run("--rageval-resume", "one")
    after = stored(project.folder())
    asked = [one.headers["traceparent"] for one in target.received]
    assert asked == [expected("one", name) for name in ("c000", "c001", "c002", "c003", "c003")]
    assert after["c000", 0] == before["c000", 0]
    assert after["c003", 0]["trace_id"] == before["c003", 0]["trace_id"]
    assert after["c003", 0]["asked_at"] > before["c003", 0]["asked_at"]


def test_a_client_in_python_gets_the_trace_of_each_parametrized_case(project: Project) -> None:
    text = (
        CONFTEST.split("@pytest.fixture")[0]
        + """
import pathlib

@pytest.fixture(params=["small", "large"])
def rag_client(request):
    def ask(asked):
        with pathlib.Path("headers.txt").open("a") as file:
            file.write(asked.traceparent + "\\n")
        return reply(asked.question)
    return ask
"""
    )
    project.write("conftest.py", text)
    project.cases([case("ok-1", "hit one")])
    project.run(*RUN)
    given = (project.path / "headers.txt").read_text(encoding="utf-8").split()
    assert given == [expected("one", f"ok-1[{name}]") for name in ("small", "large")]
    traces = [line["trace_id"] for line in lines_of(project.folder())]
    assert sorted(traces) == sorted(one.split("-")[1] for one in given)
