"""An xdist worker that dies takes one case with it, and says so."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.plugin.long_runs import document, lines_of, numbered_cases
from tests.plugin.scratch import Project

DEADLY = """
import os, signal, pytest

def ask(request):
    if request.question == "hit number 4" and not os.path.exists("calm"):
        {death}
    path = "a.md" if request.question.startswith("hit") else "b.md"
    chunk = {{"chunk_id": "c1", "rel_path": path, "heading_path": "# A", "text": "It is so."}}
    return {{"answer": "So.", "abstained": False, "debug": {{"retrieved_chunks": [chunk]}}}}

@pytest.fixture(scope="session")
def rag_client():
    return ask
"""


@pytest.mark.slow
def test_a_killed_worker_leaves_one_case_unasked_and_the_rest_measured(project: Project) -> None:
    project.cases(numbered_cases(20))
    project.write("conftest.py", DEADLY.format(death="os.kill(os.getpid(), signal.SIGKILL)"))
    run = ("--rageval-run-id", "one", "--rageval-concurrency", "1", "-n", "2")
    result = project.run_apart(*run)
    assert result.ret == 1
    records = lines_of(project.folder())
    assert Counter(r["case_id"] for r in records) == {f"c{n:03}": 1 for n in range(20)}
    (dead,) = (r for r in records if r["status"] == "error")
    assert (dead["case_id"], dead["error"]["kind"]) == ("c004", "not_attempted")
    assert "its process died while it ran: worker 'gw" in dead["error"]["message"]
    gate = document(project.folder(), "gate.json")
    assert gate["sentence"].startswith("INCOMPLETE: 1 of 20 cases not attempted")
    text = " ".join(result.outlines).replace("\\", " ")  # a long command is continued
    assert "--rageval-resume one" in " ".join(text.split())

    project.write("calm", "")
    again = project.run_apart("--rageval-resume", "one", "--rageval-concurrency", "1", "-n", "2")
    assert again.ret == 0
    assert document(project.folder())["errored"] == 0
    assert len(lines_of(project.folder())) == 20


@pytest.mark.slow
def test_a_case_that_kills_whoever_asks_it_takes_at_most_one_other_along(project: Project) -> None:
    project.cases(numbered_cases(20))
    project.write("conftest.py", DEADLY.format(death="os._exit(7)"))
    project.run_apart("--rageval-run-id", "one", "-n", "1")
    lost = [r["case_id"] for r in lines_of(project.folder()) if r["status"] == "error"]
    assert "c004" in lost
    assert len(lost) <= 2


@pytest.mark.slow
def test_every_repeat_of_a_case_whose_worker_died_is_accounted_for(project: Project) -> None:
    project.cases(numbered_cases(6))
    project.write("conftest.py", DEADLY.format(death="os._exit(7)"))
    judge = ("--judge", "offline")
    serial = ("--rageval-concurrency", "1", "-n", "1")
    project.run_apart("--rageval-run-id", "one", "--rageval-repeats", "2", *serial, *judge)
    records = lines_of(project.folder())
    assert Counter(r["case_id"] for r in records) == {f"c{n:03}": 2 for n in range(6)}
    kinds = {r["case_id"]: json.dumps(r["error"] and r["error"]["kind"]) for r in records}
    assert kinds["c004"] == '"not_attempted"'
    groundedness = document(project.folder())["metrics"]["groundedness"]
    assert (groundedness["n"], groundedness["n_error"]) == (5, 1)


@pytest.mark.slow
def test_workers_that_all_die_before_the_first_case_are_a_failure(project: Project) -> None:
    project.cases(numbered_cases(2))
    death = "    if hasattr(config, 'workerinput'): os._exit(7)\n"
    project.write("conftest.py", f"import os\ndef pytest_configure(config):\n{death}")
    result = project.run_apart("-n", "2", "--max-worker-restart=0")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
