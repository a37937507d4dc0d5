"""Messages and stored results of runs that end early, by faults and by signals."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from pytest_rageval.runs.read import read_run
from pytest_rageval.values.errors import StorageError
from tests.build.loopback import Question, after, good_reply, http, loopback_server
from tests.plugin.counting_client import REPLY
from tests.plugin.long_runs import (
    WAIT_S,
    ask_server,
    lines_of,
    n_lines,
    numbered_cases,
    start,
    wait_until,
)
from tests.plugin.rag_server import rag_server
from tests.plugin.scratch import CONFTEST, SERIAL_AND_PARALLEL, Project, outcomes


def test_two_records_of_one_case_and_repeat_are_not_guessed_between(project: Project) -> None:
    project.run("--rageval-run-id", "twice")
    results = project.path / "evals" / "results" / "twice" / "results.jsonl"
    results.write_bytes(results.read_bytes() * 2)
    with pytest.raises(StorageError, match="more than one record of the same case and repeat"):
        read_run(results.parent)
    result = project.run("--rageval-failed-from", "twice")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["*results.jsonl: contains more than one record of the same case and repeat*"]
    )


# --- a full disk ---------------------------------------------------------------------------------


@pytest.fixture
def full_soon(project: Project) -> Iterator[Path]:
    """A results folder on a disk that the records of the cases do not fit on."""
    folder = project.path / "evals" / "results"
    folder.mkdir(parents=True)
    if os.geteuid() != 0:
        pytest.skip("a small disk takes the rights of root")
    mount = ["mount", "-t", "tmpfs", "-o", "size=96k", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"this machine mounts no small disk: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@SERIAL_AND_PARALLEL
def test_a_full_disk_is_one_line_and_no_failed_check(
    project: Project, full_soon: Path, workers: tuple[str, ...]
) -> None:
    project.cases(numbered_cases(200))
    with rag_server() as server:
        ask_server(project, server.url)
        result = project.run(*workers)
    assert result.ret == 4
    said = result.stdout.str() + result.stderr.str()
    assert "No space left on device; the records so far are kept: once it can be written," in said
    assert "Traceback" not in said
    assert n_lines(one := project.run_folders()[0]) > 0
    assert f"--rageval-resume {one.name} asks the other cases" in said


# --- a broken cache ------------------------------------------------------------------------------


BREAKING = """
import pytest
from pytest_rageval import Judgement, StorageError, Verdict

class Broken:
    identity = "m"
    def judge(self, rubric, request, *, repeat=0):
        if request.question.endswith("number 20"):
            raise StorageError("judge.sqlite: malformed; delete the file")
        verdict = Verdict(scores={rubric: 5.0})
        return Judgement(rubric=rubric, rubric_version="1", judge="m", verdict=verdict)

@pytest.fixture(scope="session")
def judge():
    return Broken()
"""


@SERIAL_AND_PARALLEL
def test_a_broken_cache_ends_the_run_and_keeps_what_was_judged(
    project: Project, workers: tuple[str, ...]
) -> None:
    project.cases(numbered_cases(30))
    project.write("conftest.py", CONFTEST + BREAKING)
    limits = ("--rageval-run-id", "cut", "--rageval-concurrency", "1", *workers)
    result = project.run(*limits)
    assert result.ret == 4
    said = result.stdout.str() + result.stderr.str()
    assert "judge.sqlite: malformed; delete the file" in said
    assert "Traceback" not in said
    kept = {record["case_id"] for record in lines_of(project.folder("cut"))}
    assert len(kept) >= (10 if workers else 20)
    assert "c020" not in kept


# --- a folder that goes --------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no file in use can be removed or moved there")
def test_a_run_whose_folder_was_removed_asks_no_further_case(project: Project) -> None:
    project.cases(numbered_cases(60))
    with rag_server(delay_s=0.1) as server:
        ask_server(project, server.url, concurrency=2)
        server.let_through(16)
        session = start(project, "--rageval-run-id", "one", "-n", "2")
        wait_until(lambda: n_lines(project.folder()) >= 4, "4 records")
        # In one step: the session may put a file into a folder that is being emptied.
        shutil.rmtree(project.folder().rename(project.path / "gone"))
        server.delay_s = 1.0
        server.let_through()
        output, _ = session.communicate(timeout=WAIT_S)
        calls = server.calls
    assert (session.returncode, "Traceback" in output) == (4, False)
    assert "the folder of the run was removed or moved away; move it back" in output
    assert calls < 30


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no file in use can be removed or moved there")
def test_a_run_whose_folder_was_moved_loses_nothing(project: Project) -> None:
    project.cases(numbered_cases(12))
    with rag_server(delay_s=0.1) as server:
        ask_server(project, server.url, concurrency=2)
        server.let_through(8)
        session = start(project, "--rageval-run-id", "one")
        wait_until(lambda: n_lines(project.folder()) >= 2, "2 records")
        moved = project.folder().rename(project.path / "moved")
        server.let_through()
        output, _ = session.communicate(timeout=WAIT_S)
        assert (session.returncode, "Traceback" in output) == (4, False)
        assert "the folder of the run was removed or moved away; move it back" in output
        assert n_lines(moved) == 12
        moved.rename(project.folder())
        result = project.run("--rageval-resume", "one")
        assert server.calls == 12
    assert outcomes(result)["passed"] == 10


# --- a bad moment ---------------------------------------------------------------------------------

FULL_DISK = """
import pytest
from pytest_rageval.runs.store import RunWriter
from pytest_rageval.values.errors import StorageError

def append(*_):
    raise StorageError("results.jsonl: cannot be written: No space left on device")

RunWriter.append = append

@pytest.fixture
def rag_client():
    raise OSError(28, "No space left on device")
"""


def test_a_disk_that_is_full_when_a_fixture_fails_ends_the_session_in_one_line(
    project: Project,
) -> None:
    project.write("conftest.py", FULL_DISK)
    result = project.run_apart()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = result.stdout.str() + result.stderr.str()
    assert "INTERNALERROR" not in text
    assert "No space left on device" in text


AT_THE_END = """
from pytest_rageval.plugin.controller import Controller

def interrupt(self, **_):
    if "{name}" == "_finish" or self.finished is not None:
        raise KeyboardInterrupt
    return True

Controller.{name} = interrupt
"""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("_mind_last_failed", "interrupted while the session ended; the run is stored"),
        ("_finish", "its records are kept: --rageval-resume one asks the other cases and"),
    ],
)
def test_an_interrupt_at_the_very_end_is_one_line(project: Project, name: str, words: str) -> None:
    conftest = (project.path / "conftest.py").read_text(encoding="utf-8")
    project.write("conftest.py", conftest + AT_THE_END.format(name=name))
    result = project.run_apart("--rageval-run-id", "one")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    text = result.stdout.str() + result.stderr.str()
    assert words in text
    assert "Traceback" not in text
    assert n_lines(project.folder("one")) == 4


def test_an_address_with_a_query_is_refused_in_one_line(project: Project) -> None:
    project.write("conftest.py", "")
    result = project.run("--rag-url", "http://127.0.0.1:1/?token=x")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "INTERNALERROR" not in result.stdout.str()
    assert "contains a query or a fragment" in result.stderr.str()


# --- signals --------------------------------------------------------------------------------------


@SERIAL_AND_PARALLEL
def test_ctrl_c_ends_soon_and_tells_what_is_done_and_how_to_go_on(
    project: Project, workers: Sequence[str]
) -> None:
    async def answer(question: Question, writer: object) -> bytes:
        slow = int(question.text.split()[-1]) >= 6
        reply = await after(2 * WAIT_S if slow else 0.0)(question, writer)  # type: ignore[arg-type]
        assert reply is not None
        return reply

    project.cases(numbered_cases(200))
    with loopback_server(answer) as server:
        ask_server(project, server.url)
        run_id = "cut"
        started = time.monotonic()
        session = start(project, "--rageval-run-id", run_id, *workers)
        in_flight = 8 * (2 if workers else 1)
        wait_until(lambda: server.in_flight == in_flight, "slow cases in flight")
        folder = project.path / "evals" / "results" / run_id
        wait_until(lambda: n_lines(folder) >= 2, "the first cases to be reported")
        began = time.monotonic()
        os.killpg(session.pid, signal.SIGINT)  # as a terminal does
        output, _ = session.communicate(timeout=WAIT_S)
        took_s = time.monotonic() - began
    assert session.returncode == 2, output
    # About 2 s; the target would take minutes. Where the session took long to start, it may take as
    # long again to end.
    assert took_s < max(15 if workers else 9, 3 * (began - started)), output
    assert f"--rageval-resume {run_id}" in output.replace(" \\\n", " ").replace("         ", "")
    records = list(lines_of(folder))
    assert {record["case_id"] for record in records} >= {"c000", "c001"}
    assert {record["status"] for record in records} == {"ok"}, "one that was cancelled is no error"
    assert "Traceback" not in output


def test_ctrl_c_does_not_wait_for_a_pause_that_the_target_asks_for(project: Project) -> None:
    refused = threading.Event()

    async def answer(question: Question, writer: object) -> bytes:
        if question.text.endswith("1"):
            refused.set()
            return http(b"", "429 Too Many Requests", "Retry-After: 60")
        return good_reply(question)

    project.cases(numbered_cases(2))
    with loopback_server(answer) as server:
        ask_server(project, server.url)
        settings = project.path / "pyproject.toml"
        settings.write_text(settings.read_text("utf-8").replace("retries = 0", "retries = 3"))
        session = start(project, "--rageval-run-id", "cut")
        wait_until(lambda: refused.is_set() and n_lines(project.folder("cut")) == 1, "both replies")
        began = time.monotonic()
        os.killpg(session.pid, signal.SIGINT)
        output, _ = session.communicate(timeout=WAIT_S)
    assert session.returncode == 2, output
    assert time.monotonic() - began < 12, output  # about 2 s


STARTING = """
import os, pathlib, time

def pytest_configure(config):
    if hasattr(config, "workerinput"):
        pathlib.Path(f"{os.getpid()}.pid").touch()
        time.sleep(60)
"""


def test_ctrl_c_ends_workers_that_are_starting(project: Project) -> None:
    project.cases(numbered_cases(2))
    project.write("conftest.py", STARTING)
    session = start(project, "-n", "2")
    wait_until(lambda: len(list(project.path.glob("*.pid"))) == 2, "both workers to start")
    began = time.monotonic()
    os.killpg(session.pid, signal.SIGINT)
    output, _ = session.communicate(timeout=WAIT_S)
    assert session.returncode == 2, output
    assert time.monotonic() - began < 15  # about 2 s


NOTING = (
    REPLY
    + """
import os, pathlib, time

@pytest.fixture(scope="session")
def rag_client():
    pathlib.Path(f"{os.getpid()}.pid").touch()
    def ask(request):
        time.sleep(0.03)
        while int(request.question.split()[-1]) % 30 >= 15 and not os.path.exists("interrupted"):
            time.sleep(0.01)  # no session is over before its signal
        with pathlib.Path("answered").open("a", encoding="utf-8") as file:
            file.write(request.question + "\\n")
        return reply(request.question)
    return ask
"""
)


def start_answering(
    project: Project, workers: Sequence[str], more: str = ""
) -> tuple[subprocess.Popen[str], set[str]]:
    """Start a session of 60 cases, and return it with the questions answered at first."""
    project.cases(numbered_cases(60))
    project.write("conftest.py", NOTING + more)
    answered = project.path / "answered"
    session = start(project, "--rageval-run-id", "cut", *workers)
    wait_until(lambda: answered.exists() and answered.stat().st_size > 0, "the first answer")
    return session, set(answered.read_text(encoding="utf-8").splitlines())


def stored_at_the_end(project: Project, session: subprocess.Popen[str]) -> set[str]:
    """Return the questions of the stored records of an interrupted session."""
    (project.path / "interrupted").touch()
    output, _ = session.communicate(timeout=WAIT_S)
    print(output)  # shown where a test fails
    assert session.returncode == 2
    assert "Traceback" not in output
    return {record["question"] for record in lines_of(project.folder("cut"))}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "to_all", "workers"),
    [
        ("SIGINT", True, ("-n", "2")),
        ("SIGTERM", False, ("-n", "2")),
        ("SIGINT", True, ()),
        ("SIGHUP", False, ()),
    ],
    ids=["ctrl-c-n2", "terminated-n2", "ctrl-c", "terminal closed"],
)
def test_what_was_answered_before_an_early_signal_is_stored(
    project: Project, name: str, to_all: bool, workers: Sequence[str]
) -> None:
    # While the first answers are scored, which waits for imports.
    session, before = start_answering(project, workers)
    (os.killpg if to_all else os.kill)(session.pid, getattr(signal, name))
    assert before
    assert stored_at_the_end(project, session) >= before


@pytest.mark.slow
def test_a_worker_that_is_interrupted_again_keeps_what_was_answered(project: Project) -> None:
    session, before = start_answering(project, ("-n", "2"))
    os.killpg(session.pid, signal.SIGINT)
    (project.path / "interrupted").touch()
    for _ in range(20):  # also while they score what has been answered
        time.sleep(0.02)
        for one in project.path.glob("*.pid"):
            with suppress(ProcessLookupError):
                os.kill(int(one.stem), signal.SIGINT)
    assert before
    assert stored_at_the_end(project, session) >= before


@pytest.mark.slow
def test_workers_that_ignore_ctrl_c_end_with_their_controller(project: Project) -> None:
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a job in the background inherits it
    try:
        session, before = start_answering(project, ("-n", "2"))
    finally:
        signal.signal(signal.SIGINT, handler)
    os.kill(session.pid, signal.SIGTERM)
    stored = stored_at_the_end(project, session)
    assert stored >= before
    assert len(stored) < 60


WHERE_A_CASE_BEGINS = (
    REPLY
    + """
import threading, time
from pytest_rageval.plugin.lookahead import Lookahead

note, begins = Lookahead._note_concurrency, threading.Event()

def interrupted(self, item, ready):
    if item.name == "c001":
        begins.set()
        raise KeyboardInterrupt
    note(self, item, ready)

Lookahead._note_concurrency = interrupted

@pytest.fixture(scope="session")
def rag_client():
    def ask(request):
        if request.question.endswith("1"):
            begins.wait()
            time.sleep(0.05)  # within what an interrupt waits for answers
        return reply(request.question)
    return ask
"""
)


def test_ctrl_c_where_a_case_begins_does_not_lose_its_answer(project: Project) -> None:
    project.cases(numbered_cases(2))
    project.write("conftest.py", WHERE_A_CASE_BEGINS)
    result = project.run_apart("--rageval-run-id", "cut", "--rageval-concurrency", "4")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    stored = {record["case_id"] for record in lines_of(project.folder("cut"))}
    assert stored == {"c000", "c001"}


SLOWLY = """
from pytest_rageval.plugin.items import CaseItem

deliver, slow = CaseItem.deliver, [8.0]  # as imports take where there is hardly any CPU

def deliver_slowly(*arguments):
    time.sleep(slow.pop() if slow else 0)
    deliver(*arguments)

CaseItem.deliver = deliver_slowly
"""


@pytest.mark.slow
def test_what_was_answered_is_stored_though_its_scoring_takes_long(project: Project) -> None:
    session, before = start_answering(project, ("-n", "2"), SLOWLY)
    os.killpg(session.pid, signal.SIGINT)
    assert before
    assert stored_at_the_end(project, session) >= before


BETWEEN = """
import signal

import pytest

def pytest_runtest_logreport(report):
    if report.when == "teardown" and {interrupted}:
        signal.raise_signal(signal.{first})

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtestloop():  # around the loop of the plugin, whose handlers have been left after it
    try:
        return (yield)
    finally:
        signal.raise_signal(signal.{then})

def pytest_keyboard_interrupt():
    signal.raise_signal(signal.{then})
"""


@pytest.mark.skipif(os.name == "nt", reason="no such signals there")
@pytest.mark.parametrize(("first", "then"), [("SIGTERM", "SIGHUP"), ("SIGINT", "SIGTERM")])
def test_a_signal_that_comes_again_after_the_loop_does_not_kill_the_session(
    project: Project, first: str, then: str
) -> None:
    conftest = (project.path / "conftest.py").read_text(encoding="utf-8")
    between = BETWEEN.format(interrupted=True, first=first, then=then)
    project.write("conftest.py", conftest + between)
    result = project.run_apart("--rageval-run-id", "cut", "--rageval-concurrency", "1")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "--rageval-resume cut" in result.stdout.str()
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


@pytest.mark.skipif(os.name == "nt", reason="no such signals there")
def test_a_first_signal_after_the_loop_shows_the_run_and_interrupts(project: Project) -> None:
    conftest = (project.path / "conftest.py").read_text(encoding="utf-8")
    between = BETWEEN.format(interrupted=False, first="SIGINT", then="SIGTERM")
    project.write("conftest.py", conftest + between)
    result = project.run_apart("--rageval-run-id", "one")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    text = result.stdout.str() + result.stderr.str()
    assert "interrupted while the session ended; the run is stored" in text
    assert "\nPASS " in text
    assert "Traceback" not in text
