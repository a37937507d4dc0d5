"""A run that was cut short goes on where it was."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.plugin.long_runs import (
    WAIT_S,
    ask_server,
    document,
    figures,
    kill,
    lines_of,
    n_lines,
    numbered_cases,
    start,
    wait_until,
)
from tests.plugin.rag_server import RagServer, hit_or_miss, rag_server
from tests.plugin.scratch import (
    CASES,
    REFUSED,
    SERIAL_AND_PARALLEL,
    Project,
    case,
    checks,
    failed_line,
    outcomes,
)


def told(result: pytest.RunResult) -> str:
    return " ".join(line.strip() for line in [*result.outlines, *result.errlines])


# --- kills -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_run_that_is_killed_three_times_ends_with_each_case_once(project: Project) -> None:
    cases, kills, concurrency = 240, 3, 8
    project.cases(numbered_cases(cases))
    with rag_server(delay_s=0.01) as server:
        ask_server(project, server.url, concurrency=concurrency)
        folder = project.folder()
        goal = 0
        for n in range(kills):
            chosen = ("--rageval-run-id", "one") if n == 0 else ("--rageval-resume", "one")
            goal += cases // (kills + 1)
            server.let_through(goal - n_lines(folder) + 4 * concurrency)
            session = start(project, "-q", *chosen)
            wait_until(lambda: n_lines(folder) >= goal, f"{goal} records")  # noqa: B023
            kill(session)
            assert not (folder / "metrics.json").exists()
        server.let_through()
        with (folder / "results.jsonl").open("ab") as torn:
            torn.write(b'{"schema_version":1,"case":{"id":"c0')
        result = project.run("--rageval-resume", "last")
        calls = server.calls
    assert outcomes(result) == {"passed": cases - 34, "missed": 34, "checks passed": 2}
    assert calls <= cases + kills * 2 * concurrency
    assert Counter(r["case_id"] for r in lines_of(folder)) == {f"c{n:03}": 1 for n in range(cases)}
    assert (document(folder)["total"], document(folder)["missed"]) == (cases, 34)
    assert document(folder, "gate.json")["verdict"] == "pass"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_run_under_workers_loses_no_record_whatever_ends_it_whenever(
    project: Project, seed: int
) -> None:
    dice, cases = Random(seed), 60
    project.cases(numbered_cases(cases))
    before: set[str] = set()
    with rag_server(delay_s=0.02) as server:
        ask_server(project, server.url, judge="offline", concurrency=4)
        folder = project.folder()
        for _ in range(3):
            chosen = "--rageval-resume" if folder.exists() else "--rageval-run-id"
            session = start(project, "-q", "-n", "2", chosen, "one")
            wait_until(folder.exists, "the folder of the run")
            with suppress(subprocess.TimeoutExpired):
                session.wait(dice.uniform(0.0, 1.5))
            ends = os.killpg if dice.random() < 0.5 else os.kill
            with suppress(ProcessLookupError):
                ends(session.pid, dice.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)))
            output, _ = session.communicate(timeout=WAIT_S)
            # A worker may lose its controller before it has any of our code.
            assert not re.search(r'File "[^"]*pytest_rageval/', output), output
            text = (folder / "results.jsonl").read_bytes() if n_lines(folder) else b""
            stored = {json.loads(line)["case"]["id"] for line in text.split(b"\n")[:-1]}
            assert before <= stored
            before = stored
        result = project.run("-n", "2", "--rageval-resume", "one")
    assert outcomes(result)["checks passed"] > 0
    assert Counter(r["case_id"] for r in lines_of(folder)) == {f"c{n:03}": 1 for n in range(cases)}


def cut_short(project: Project, server: RagServer, at: int, *arguments: str) -> Path:
    """Leave a run of which ``at`` records are on disk."""
    ask_server(project, server.url, concurrency=2)
    folder = project.folder()
    server.let_through(2 * at)
    session = start(project, "--rageval-run-id", "one", *arguments)
    wait_until(lambda: n_lines(folder) >= at, f"{at} records")
    kill(session)
    server.let_through()
    server.settle()
    return folder


def test_a_resumed_run_has_the_figures_of_one_that_was_not_cut(project: Project) -> None:
    project.cases(numbered_cases(24))
    with rag_server(delay_s=0.02) as server:
        folder = cut_short(project, server, 8)
        done = n_lines(folder)
        result = project.run("--rageval-resume", "one")
        project.run("--rageval-run-id", "two")
    assert f"run one resumes: {done} cases are done" in told(result)
    assert figures(document(folder)) == figures(document(project.folder("two")))
    assert checks(document(folder, "gate.json")) == {"recall_at_k": "pass", "error_rate": "pass"}


@pytest.mark.slow
def test_a_run_under_workers_is_resumed_under_workers(project: Project) -> None:
    project.cases(numbered_cases(24))
    with rag_server(delay_s=0.05) as server:
        folder = cut_short(project, server, 8, "-n", "2")
        before = server.calls
        done = {r["case_id"] for r in lines_of(folder)}
        result = project.run("--rageval-resume", "one", "-n", "2", "--junitxml=j.xml")
        assert server.calls - before == 24 - len(done)
        project.run("--rageval-run-id", "two")
    assert outcomes(result) == {"passed": 21, "missed": 3, "checks passed": 2}
    assert figures(document(folder)) == figures(document(project.folder("two")))
    junit = (project.path / "j.xml").read_text(encoding="utf-8")
    assert junit.count('name="rageval.mrr"') == 24
    assert junit.count('type="pytest.xfail"') == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workers", "signal_name"), [((), "SIGTERM"), ((), "SIGHUP"), (("-n", "2"), "SIGINT")]
)
def test_an_interrupted_run_says_how_to_go_on(
    project: Project, workers: tuple[str, ...], signal_name: str
) -> None:
    project.cases(numbered_cases(40))
    with rag_server(delay_s=0.1) as server:
        ask_server(project, server.url, concurrency=2)
        folder = project.folder()
        server.let_through(20)
        session = start(project, "evals", "--rag-k", "3", "--rageval-run-id", "one", *workers)
        wait_until(lambda: n_lines(folder) >= 6, "6 records")
        os.kill(session.pid, getattr(signal, signal_name))
        server.let_through(20)
        output, _ = session.communicate(timeout=WAIT_S)
        assert session.returncode == 2
        words = " ".join(("evals", "--rag-k", "3", *workers))
        assert f"resume   pytest {words}" in output
        assert "--rageval-resume one" in output
        assert document(folder, "gate.json")["verdict"] == "not_evaluated"
        server.delay_s = 0.0
        server.let_through()
        result = project.run("evals", "--rag-k", "3", "--rageval-resume", "last")
    assert result.ret == 0
    assert document(folder)["total"] == 40
    assert len(lines_of(folder)) == 40


# --- what is asked again ---------------------------------------------------------------------


def finished(project: Project, *arguments: str) -> Path:
    project.run("--rageval-run-id", "one", *arguments)
    return project.folder()


ASKED = """
import pytest, pathlib
from tests.plugin.scratch import case

def reply(question):
    with open("asked", "a", encoding="utf-8") as out:
        out.write(question + "\\n")
    chunk = {"chunk_id": "c1", "rel_path": "a.md", "heading_path": "# A", "text": "It is so."}
    return {"answer": "So.", "abstained": False, "debug": {"retrieved_chunks": [chunk]}}

@pytest.fixture(scope="session")
def rag_client():
    return lambda request: reply(request.question)
"""


def asked(project: Project) -> list[str]:
    path = project.path / "asked"
    return sorted(path.read_text(encoding="utf-8").splitlines()) if path.exists() else []


@SERIAL_AND_PARALLEL
def test_a_run_that_is_done_is_reported_again_without_asking(
    project: Project, workers: tuple[str, ...]
) -> None:
    folder = finished(project)
    before = document(folder)
    project.write("conftest.py", ASKED.replace("return lambda", "raise RuntimeError #"))
    report = ("--json-report", "--json-report-file=report.json")
    result = project.run("--rageval-resume", "one", *workers, *report)
    assert asked(project) == []
    assert result.ret == 0
    assert outcomes(result) == {"passed": 3, "missed": 1, "checks passed": 2}
    told_of = json.loads((project.path / "report.json").read_text(encoding="utf-8"))["tests"]
    of_case = {test["nodeid"].split("::")[1]: test["metadata"]["rageval"] for test in told_of}
    assert of_case["short-1"]["outcome"] == "missed"
    assert of_case["ok-1"]["metrics"]["mrr"] == 1.0
    now = document(folder)
    assert figures(now) == figures(before)
    assert now["latency"] == before["latency"]


def test_the_exit_code_is_that_of_the_whole_run(project: Project) -> None:
    project.write("thresholds.toml", "[cases]\non_miss = 'fail'\n")
    finished(project)
    result = project.run("--rageval-resume", "one")
    assert result.ret == 1
    result.stdout.fnmatch_lines([failed_line("evals/eval_set.jsonl::short-1", "*not_retrieved*")])


def test_cases_that_could_not_be_reached_are_asked_again_and_kept_once(project: Project) -> None:
    project.cases([*CASES, REFUSED])
    folder = finished(project)
    assert checks(document(folder, "gate.json"))["error_rate"] == "fail"
    project.write("conftest.py", ASKED)
    result = project.run("--rageval-resume", "one")
    assert asked(project) == [REFUSED["question"]]
    assert "what is selected is asked again: 1 not asked or not reached" in told(result)
    assert result.ret == 0
    assert Counter(r["case_id"] for r in lines_of(folder)) == dict.fromkeys(
        ["ok-1", "ok-2", "short-1", "out-1", "dead-1"], 1
    )


def test_an_error_of_the_target_itself_stands(project: Project) -> None:
    def broken(question: str, nth: int) -> dict[str, Any] | int:
        return 500 if question == "hit two" else hit_or_miss(question, nth)

    with rag_server(broken) as server:
        ask_server(project, server.url)
        folder = finished(project)
        before = server.calls
        project.run("--rageval-resume", "one")
        assert server.calls == before
    assert document(folder)["errored"] == 1


def test_a_set_that_has_changed_since_is_asked_and_stored_as_it_is_today(project: Project) -> None:
    folder = finished(project)
    project.write("conftest.py", ASKED)
    changed = CASES[0] | {"question": "hit other"}
    sorted_anew = CASES[1] | {"category": "new", "tags": ["fresh"]}
    project.cases([changed, sorted_anew, CASES[3]])
    result = project.run("--rageval-resume", "one")
    assert asked(project) == ["hit other"]
    assert "asked again: 1 of changed content" in told(result)
    assert "of cases that the set no longer has: short-1" in told(result)
    records = {r["case_id"]: r for r in lines_of(folder)}
    assert records.keys() == {"ok-1", "ok-2", "out-1"}
    assert (records["ok-1"]["question"], records["ok-2"]["category"]) == ("hit other", "new")
    assert document(folder)["total"] == 3
    groups = document(folder, "groups.json")
    assert groups["by_category"]["new"]["hit_at_k"]["n"] == 1
    assert groups["by_tag"]["fresh"]["hit_at_k"]["n"] == 1


def test_a_selection_adds_to_the_run_and_takes_nothing_away(project: Project) -> None:
    folder = finished(project, "-k", "ok-1")
    project.run("--rageval-resume", "one", "-k", "short-1")
    assert sorted(r["case_id"] for r in lines_of(folder)) == ["ok-1", "short-1"]
    assert document(folder)["total"] == 2
    gate = document(folder, "gate.json")
    assert (gate["n_expected"], gate["n_reported"]) == (2, 2)
    assert gate["checks"][0]["message"] == "needs the whole set (2 of 4 cases selected)"
    assert project.run("--rageval-resume", "one").ret == 0
    assert document(folder)["total"] == len(CASES)


def test_a_test_function_of_ones_own_sees_the_stored_record(project: Project) -> None:
    project.write(
        "evals/eval_set.py",
        "def test_it(eval_record):\n    assert eval_record.answer != 'The answer text.'\n",
    )
    finished(project)
    project.write("conftest.py", ASKED)
    result = project.run("--rageval-resume", "one")
    assert asked(project) == []
    assert result.parseoutcomes()["failed"] == 3


# --- what is refused -------------------------------------------------------------------------


def refused(result: pytest.RunResult) -> str:
    assert result.ret == 4
    return " ".join(result.errlines)


def test_other_settings_and_names_are_refused(project: Project) -> None:
    finished(project)
    for arguments, *said in (
        (
            ("one", "--rag-k", "9", "--rag-param", "x=1"),
            "run one was made with other settings: --rag-k: 5 then, 9 now",
            "params.x: not set then, 1 now",
        ),
        (("one", "--rageval-repeats", "2"), "--rageval-repeats: 1 then, 2 now"),
        (("one", "--rageval-shard", "1/2"), "--rageval-shard: not set then, '1/2' now"),
        (("one", "--rageval-run-id", "two"), "a resumed run keeps its id"),
        (("nope",), "run 'nope'"),
    ):
        text = refused(project.run("--rageval-resume", *arguments))
        assert all(words in text for words in said), text


def test_settings_that_change_no_number_may_differ(project: Project) -> None:
    finished(project)
    result = project.run(
        "--rageval-resume", "one", "--rageval-concurrency", "1", "--gate", "mrr>=0.1"
    )
    assert result.ret == 0
    # Nothing was asked again, so the latency is that of the first session.
    assert project.stored("config.json")["concurrency"] == 4


def test_what_is_broken_is_named_with_what_to_do(project: Project) -> None:
    folder = finished(project)
    results = folder / "results.jsonl"
    whole = results.read_bytes()
    results.write_bytes(whole.replace(b"{", b"", 1))
    text = refused(project.run("--rageval-resume", "one"))
    assert "results.jsonl:1: Expected `object`, got `str`" in text
    assert "--rageval-resume asks its case again" in text
    results.write_bytes(whole)
    (folder / "config.json").write_bytes(b"")
    text = refused(project.run("--rageval-resume", "one"))
    assert "config.json: Input data was truncated" in text
    assert "start a new run" in text
    (folder / "config.json").unlink()
    assert "config.json: missing" in refused(project.run("--rageval-resume", "one"))


def test_a_file_that_is_not_read_now_is_not_thrown_away(project: Project) -> None:
    project.cases(CASES[:1], "../elsewhere")
    folder = finished(project, "elsewhere.jsonl")
    text = refused(project.run("--rageval-resume", "one"))
    assert "contains cases of elsewhere.jsonl" in text
    assert len(lines_of(folder)) == 1


def test_a_run_that_another_session_writes_is_refused(project: Project) -> None:
    project.cases(numbered_cases(20))
    with rag_server(delay_s=0.2) as server:
        ask_server(project, server.url, concurrency=1)
        server.let_through(5)
        session = start(project, "--rageval-run-id", "one")
        wait_until(lambda: n_lines(project.folder()) >= 1, "a record")
        result = project.run("--rageval-resume", "one")
        kill(session)
        server.let_through()
        assert "another session is writing this run" in refused(result)
        server.delay_s = 0.0
        assert project.run("--rageval-resume", "one").ret == 0


@pytest.mark.parametrize("left", [[], ["results.jsonl"]])
def test_a_run_that_was_killed_in_its_first_moment_begins_anew(
    project: Project, left: list[str]
) -> None:
    folder = project.folder()
    folder.mkdir(parents=True)
    for name in left:
        (folder / name).touch()
    assert project.run("--rageval-resume", "one").ret == 0
    assert len(lines_of(folder)) == len(CASES)
    assert document(folder, "config.json")["run_id"] == "one"


# --- where the target does not say its headings ----------------------------------------------


def test_records_of_an_earlier_session_are_scored_by_what_the_whole_run_says_of_headings(
    project: Project,
) -> None:
    def bare(question: str, nth: int) -> dict[str, Any]:
        found = hit_or_miss(question, nth)
        chunk = found["debug"]["retrieved_chunks"][0]
        if "nothing" in question:
            found["debug"]["retrieved_chunks"] = []
        elif "bare" in question:
            del chunk["heading_path"]
        return found

    gold = [{"rel_path": "a.md", "heading_path": "# A"}]
    project.cases(
        [
            case("none", "hit nothing", gold_supports=gold),
            case("bare", "hit bare", gold_supports=gold),
            case("full", "hit full", gold_supports=gold),
        ]
    )
    with rag_server(bare) as server:
        ask_server(project, server.url)
        folder = finished(project, "-k", "none or bare")
        project.run("--rageval-resume", "one")
        project.run("--rageval-run-id", "two")
    assert figures(document(folder)) == figures(document(project.folder("two")))
