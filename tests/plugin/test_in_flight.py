"""Cases in flight ahead of their turn: which are asked, how many at once, what becomes of them."""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import signal
import time
from collections.abc import Sequence

import pytest

from tests.build.loopback import LoopbackServer, Question, after, loopback_server
from tests.plugin.long_runs import (
    WAIT_S,
    ask_server,
    lines_of,
    n_lines,
    numbered_cases,
    start,
    wait_until,
)
from tests.plugin.scratch import CONFTEST, SERIAL_AND_PARALLEL, Project, case, outcomes

REPLY = CONFTEST.split("@pytest.fixture")[0]
COUNTING = (
    REPLY
    + """
import threading, time

class Counting:
    '''Notes what it is asked, and how much of it at once.'''
    def __init__(self, name="only"):
        self.name, self.asked, self.inside, self.peak = name, [], 0, 0
        self.lock = threading.Lock()

    def enter(self, question):
        with self.lock:
            self.asked.append(question)
            self.inside += 1
            self.peak = max(self.peak, self.inside)

    def ask(self, request):
        self.enter(request.question)
        time.sleep(0.02)
        with self.lock:
            self.inside -= 1
        return reply(request.question)

def write(client):
    import json, pathlib
    told = {"asked": client.asked, "peak": client.peak}
    with pathlib.Path("asked.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"name": client.name, **told}) + "\\n")
"""
)


ALONE = ("-p", "no:asyncio")
"""It warns of settings that it wants, and warnings are errors."""


def session_of(project: Project, server: LoopbackServer, *arguments: str) -> pytest.RunResult:
    ask_server(project, server.url)
    return project.run(*arguments)


def questions(count: int) -> list[str]:
    return [str(one["question"]) for one in numbered_cases(count)]


def told(project: Project) -> list[dict[str, object]]:
    text = (project.path / "asked.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


# --- how many, and in which order ----------------------------------------------------------------


def test_a_run_loads_no_http_client_but_that_of_the_standard_library(project: Project) -> None:
    project.cases(numbered_cases(3))
    with loopback_server(after(0, 0)) as server:
        ask_server(project, server.url, judge="m-1")
        project.write(
            "conftest.py",
            "import sys\ndef pytest_unconfigure():\n"
            "    clients = ('httpx', 'httpcore', 'h11', 'anyio', 'openai')\n"
            "    print('LOADED', *[name for name in clients if name in sys.modules], 'in all')\n",
        )
        judge = ("--judge-base-url", f"{server.url}/v1")
        result = project.run_apart("-s", "-p", "no:anyio", *judge)
        assert server.judged > 0
    result.stdout.fnmatch_lines(["*LOADED in all"])


@pytest.mark.parametrize("concurrency", [1, 3, 8])
def test_requests_to_target_and_judge_never_exceed_the_limit_and_come_in_order(
    project: Project, monkeypatch: pytest.MonkeyPatch, concurrency: int
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    project.cases(numbered_cases(20))
    with loopback_server(after(0.02, 0.03)) as server:
        ask_server(project, server.url, judge="m-1")
        result = project.run(
            "--judge-base-url", f"{server.url}/v1", "--rageval-concurrency", str(concurrency)
        )
    assert result.parseoutcomes().get("failed", 0) <= 1  # the check of the misses
    assert server.peak == concurrency
    assert server.judged >= 20
    assert len(server.asked) == 20
    # Threads may pass each other between their start and their request, by no more than that.
    places = {question: place for place, question in enumerate(questions(20))}
    off = [abs(place - places[question]) for place, question in enumerate(server.asked)]
    assert max(off) < concurrency + concurrency // 4 if concurrency > 1 else max(off) == 0


def test_one_at_a_time_the_judge_has_its_say_before_the_next_case_is_asked(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    project.cases(numbered_cases(4))
    order: list[bool] = []

    async def answer(question: Question, writer: object) -> bytes:
        order.append(question.of_judge)
        return await after(0.0)(question, writer)  # type: ignore[arg-type,return-value]

    with loopback_server(answer) as server:
        ask_server(project, server.url, judge="m-1")
        project.run("--judge-base-url", f"{server.url}/v1", "--rageval-concurrency", "1")
    asks = [place for place, of_judge in enumerate(order) if not of_judge]
    assert len(asks) == 4
    assert all(later - earlier > 1 for earlier, later in itertools.pairwise(asks))
    assert server.peak == 1


def test_a_slow_case_at_the_head_does_not_keep_the_others_waiting(project: Project) -> None:
    done: list[float] = []

    async def answer(question: Question, writer: object) -> bytes:
        reply = await after(1.5 if question.text == "hit head" else 0.0)(question, writer)  # type: ignore[arg-type]
        done.append(time.monotonic())
        assert reply is not None
        return reply

    project.cases([case("head", "hit head"), *numbered_cases(60)])
    with loopback_server(answer) as server:
        session_of(project, server, "--rageval-concurrency", "2")
        assert "hit head" in server.asked[:3]
    # All were answered while the first one was waited for.
    assert len(done) == 61
    assert sum(when < done[-1] for when in done) == 60
    assert done[-1] - done[-2] > 0.2


def test_latency_is_that_of_the_request_and_not_of_the_wait_for_a_place(project: Project) -> None:
    project.cases(numbered_cases(320))
    with loopback_server(after(0.02)) as server:
        ask_server(project, server.url)
        began = time.monotonic()
        result = project.run_apart("--rageval-concurrency", "4")
        took_ms = (time.monotonic() - began) * 1000
    assert result.parseoutcomes()["passed"] >= 200
    latencies = [record["latency"]["total_ms"] for record in project.records().values()]
    assert len(latencies) == 320
    assert min(latencies) >= 20
    # Four requests at a time cannot last longer in all. If what a case waits for its place counted,
    # it would be 320 times half the session.
    assert sum(latencies) <= 4 * took_ms


# --- clients from fixtures -----------------------------------------------------------------------

FIXTURE = """
@pytest.fixture(scope="{scope}")
def rag_client():
    client = Counting()
    yield client
    write(client)
"""


@pytest.mark.parametrize("scope", ["function", "class", "module", "package", "session"])
def test_a_client_of_any_scope_is_asked_and_a_short_lived_one_alone(
    project: Project, scope: str
) -> None:
    project.write("conftest.py", COUNTING + FIXTURE.format(scope=scope))
    project.cases(numbered_cases(12))
    result = project.run("--rageval-concurrency", "4")
    assert result.parseoutcomes()["passed"] >= 10
    clients = told(project)
    short = scope in {"function", "class"}
    assert len(clients) == (12 if short else 1)
    assert all(client["peak"] == (1 if short else 4) for client in clients)
    assert project.stored("config.json")["concurrency"] == (1 if short else 4)


def test_each_of_two_parameters_of_a_session_is_asked_by_its_own_client(project: Project) -> None:
    project.write(
        "conftest.py",
        COUNTING
        + """
@pytest.fixture(scope="session", params=["one", "two"])
def rag_client(request):
    client = Counting(request.param)
    yield client
    write(client)
""",
    )
    project.cases(numbered_cases(10))
    result = project.run("--rageval-concurrency", "4")
    assert result.parseoutcomes()["passed"] >= 16
    one, two = told(project)
    assert (one["name"], two["name"]) == ("one", "two")
    assert sorted(one["asked"]) == sorted(two["asked"]) == sorted(questions(10))  # type: ignore[call-overload]
    assert one["peak"] == two["peak"] == 4


def test_parameters_that_no_client_depends_on_do_not_keep_cases_back(project: Project) -> None:
    project.write("conftest.py", COUNTING + FIXTURE.format(scope="session"))
    project.write(
        "evals/eval_set.py",
        "import pytest\n"
        "@pytest.mark.parametrize('mode', ['a', 'b'])\n"
        "def test_it(mode, eval_record):\n"
        "    assert eval_record\n",
    )
    project.cases(numbered_cases(10))
    result = project.run("--rageval-concurrency", "4")
    assert result.parseoutcomes()["passed"] >= 16
    (client,) = told(project)
    assert client["peak"] == 4
    assert sorted(client["asked"]) == sorted(questions(10) * 2)  # type: ignore[call-overload]


def test_folders_with_clients_of_their_own_ask_their_own(project: Project) -> None:
    project.write("counting.py", COUNTING)
    project.write("conftest.py", "")
    for folder in ("left", "right"):
        project.write(
            f"evals/{folder}/conftest.py",
            f"""
import pytest
from counting import Counting, write

@pytest.fixture(scope="session")
def rag_client():
    client = Counting("{folder}")
    yield client
    write(client)
""",
        )
        project.cases(
            [case(f"{folder}-{n}", f"hit {folder} {n}") for n in range(8)], f"{folder}/set"
        )
    (project.path / "evals" / "eval_set.jsonl").unlink()
    result = project.run("--rageval-concurrency", "4", "-p", "no:cacheprovider")
    assert result.parseoutcomes()["passed"] >= 16
    clients = {client["name"]: client for client in told(project)}
    assert set(clients) == {"left", "right"}
    for name, client in clients.items():
        assert sorted(client["asked"]) == [f"hit {name} {n}" for n in range(8)]  # type: ignore[call-overload]
        assert client["peak"] == 4


ASYNC = """
@pytest.fixture(scope="session")
{fixture} rag_client():
    client = Counting()
    async def ask(request):
        import asyncio
        client.enter(request.question)
        await asyncio.sleep(0.05)
        client.inside -= 1
        return reply(request.question)
    yield ask
    write(client)
"""


@pytest.mark.parametrize("fixture", ["def", "async def"])
def test_an_async_client_has_many_cases_in_flight_too(project: Project, fixture: str) -> None:
    project.write("conftest.py", COUNTING + ASYNC.format(fixture=fixture))
    project.cases(numbered_cases(16))
    result = project.run("--rageval-concurrency", "4")
    assert result.parseoutcomes()["passed"] >= 13
    (client,) = told(project)
    assert client["peak"] == 4
    assert len(client["asked"]) == 16  # type: ignore[arg-type]


def test_a_client_bound_to_one_thread_works_one_by_one_and_says_so_otherwise(
    project: Project,
) -> None:
    project.write(
        "conftest.py",
        REPLY
        + """
import sqlite3

@pytest.fixture(scope="session")
def rag_client():
    database = sqlite3.connect(":memory:")
    def ask(request):
        database.execute("select 1")
        return reply(request.question)
    yield ask
    database.close()
""",
    )
    assert outcomes(project.run("--rageval-concurrency", "1")) == {
        "passed": 3,
        "missed": 1,
        "checks passed": 2,
    }
    many = project.run("--rageval-run-id", "many")
    assert many.parseoutcomes()["errored"] == 4
    (record, *_) = lines_of(project.path / "evals" / "results" / "many")
    assert "created in a thread can only be used in that same thread" in record["error"]["message"]


# --- what is not reported ------------------------------------------------------------------------


@pytest.mark.parametrize("flag", ["-x", "--maxfail=1"])
def test_what_is_asked_in_vain_after_a_failure_is_bounded(project: Project, flag: str) -> None:
    cases = numbered_cases(60)
    cases[3]["required"] = True  # a miss
    project.cases(cases)
    with loopback_server(after(0.02)) as server:
        result = session_of(project, server, flag, "--rageval-concurrency", "4")
    assert result.parseoutcomes()["failed"] == 1
    assert 4 <= len(server.asked) <= 4 + 4


def test_only_what_is_selected_is_asked(project: Project) -> None:
    project.cases(numbered_cases(20))
    with loopback_server(after(0.0)) as server:
        missed = [q for q in questions(20) if q.startswith("miss")]
        session_of(project, server)
        assert sorted(server.asked) == sorted(questions(20))
        for arguments, expected in (
            (("--lf",), missed),
            (("-k", "c003 or c017"), ["miss number 3", "miss number 17"]),
            (
                ("evals", "--deselect", "evals/eval_set.jsonl::c000", "-k", "c000 or c001"),
                ["hit number 1"],
            ),
            (("-m", "case(category='even')", "-k", "c00"), questions(10)[::2]),
        )[: 4 if pytest.version_tuple >= (8, 3) else 3]:
            server.forget()
            session_of(project, server, *arguments)
            assert sorted(server.asked) == sorted(expected), arguments


@pytest.mark.parametrize("flag", ["--collect-only", "--setup-plan"])
def test_a_session_that_runs_no_case_asks_nothing(project: Project, flag: str) -> None:
    with loopback_server(after(0.0)) as server:
        result = session_of(project, server, flag)
        assert server.asked == []
    assert result.ret == 0


SKIPS = {
    "mark": "import pytest\n\n@pytest.mark.skipif('True')\ndef test_it(eval_record):\n    pass\n",
    "fixture": """
import pytest, time

@pytest.fixture(autouse=True)
def picky(request):
    time.sleep(0.02)
    if int(request.node.name[1:]) % 2:
        pytest.skip("an odd one")

def test_it(eval_record):
    pass
""",
    "function": """
import pytest

def test_it(eval_case, eval_record):
    if int(eval_case.id[1:]) % 2:
        pytest.skip("an odd one")
""",
    "broken setup": """
import pytest, time

@pytest.fixture(autouse=True)
def broken(request):
    time.sleep(0.02)
    if int(request.node.name[1:]) % 2:
        raise RuntimeError("an odd one")

def test_it(eval_record):
    pass
""",
}


@pytest.mark.parametrize(
    "workers", [(), pytest.param(("-n", "1"), marks=pytest.mark.slow)], ids=["serial", "worker"]
)
@pytest.mark.parametrize("how", SKIPS)
def test_a_case_that_was_asked_ahead_and_then_skipped_leaves_no_answer(
    project: Project, how: str, workers: Sequence[str]
) -> None:
    project.cases([case(f"c{n}", f"hit {n}") for n in range(12)])
    project.write("evals/eval_set.py", SKIPS[how])
    with loopback_server(after(0.05)) as server:
        ask_server(project, server.url)
        result = project.run("--rageval-concurrency", "3", *workers)
        if how == "mark":
            assert server.asked == []
            assert result.parseoutcomes()["skipped"] == 12
            return
    records = project.records()
    if how == "broken setup":
        assert result.parseoutcomes()["errored"] == 6
        broken = {id: records.pop(id) for id in [f"c{n}" for n in range(1, 12, 2)]}
        assert {one["error"]["kind"] for one in broken.values()} == {"fixture"}
        assert {one["answer"] for one in broken.values()} == {None}  # not what came ahead
    else:
        assert result.parseoutcomes()["skipped"] >= 6
    assert sorted(records) == sorted(f"c{n}" for n in range(0, 12, 2))


@pytest.mark.slow
def test_what_another_worker_takes_over_is_not_asked_twice(project: Project) -> None:
    async def answer(question: Question, writer: object) -> bytes:
        # The second half, which is the second worker's at first, is done at once.
        first_half = int(question.text.split()[-1]) < 100
        reply = await after(0.2 if first_half else 0.0)(question, writer)  # type: ignore[arg-type]
        assert reply is not None
        return reply

    project.cases(numbered_cases(200))
    with loopback_server(answer) as server:
        ask_server(project, server.url)
        concurrency = 4
        result = project.run_apart(
            "-n", "2", "--dist", "worksteal", "--rageval-concurrency", str(concurrency)
        )
    assert result.parseoutcomes()["passed"] >= 150
    assert len(project.records()) == 200
    # What was on its way when it was taken cannot be taken back; something is taken a few times.
    assert len(server.asked) <= 200 + 5 * concurrency


@SERIAL_AND_PARALLEL
def test_ctrl_c_ends_soon_and_tells_what_is_done_and_how_to_go_on(
    project: Project, workers: Sequence[str]
) -> None:
    async def answer(question: Question, writer: object) -> bytes:
        slow = int(question.text.split()[-1]) >= 6
        reply = await after(30.0 if slow else 0.0)(question, writer)  # type: ignore[arg-type]
        assert reply is not None
        return reply

    project.cases(numbered_cases(200))
    with loopback_server(answer) as server:
        ask_server(project, server.url)
        run_id = "cut"
        session = start(project, "--rageval-run-id", run_id, *workers)
        in_flight = 8 * (2 if workers else 1)
        wait_until(lambda: server.in_flight == in_flight, "slow cases in flight")
        folder = project.path / "evals" / "results" / run_id
        wait_until(lambda: n_lines(folder) >= 2, "the first cases to be reported")
        began = time.monotonic()
        os.killpg(session.pid, signal.SIGINT)  # as a terminal does
        output, _ = session.communicate(timeout=30)
        took_s = time.monotonic() - began
    assert session.returncode == 2, output
    # About 2 s; the target would take 30. A worker that has not ended after 10 is killed, which
    # on a machine with much else to do may come first.
    assert took_s < (15 if workers else 9), output
    assert f"--rageval-resume {run_id}" in output.replace(" \\\n", " ").replace("         ", "")
    assert {record["case_id"] for record in lines_of(folder)} >= {"c000", "c001"}
    assert "Traceback" not in output


NOTING = (
    REPLY
    + """
import pathlib, time

@pytest.fixture(scope="session")
def rag_client():
    def ask(request):
        time.sleep(0.03)
        with pathlib.Path("answered").open("a", encoding="utf-8") as file:
            file.write(request.question + "\\n")
        return reply(request.question)
    return ask
"""
)


@pytest.mark.slow
@pytest.mark.parametrize("to_all", [False, True], ids=["controller", "group"])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
@SERIAL_AND_PARALLEL
def test_what_was_answered_before_an_early_signal_is_stored(
    project: Project, workers: Sequence[str], name: str, to_all: bool
) -> None:
    project.cases(numbered_cases(60))
    project.write("conftest.py", NOTING)
    answered = project.path / "answered"
    # While the first answers are scored, which waits for imports.
    session = start(project, "--rageval-run-id", "cut", *workers)
    wait_until(lambda: answered.exists() and answered.stat().st_size > 0, "the first answer")
    before = answered.read_text(encoding="utf-8").splitlines()
    (os.killpg if to_all else os.kill)(session.pid, getattr(signal, name))
    output, _ = session.communicate(timeout=WAIT_S)
    assert session.returncode == 2, output
    assert "Traceback" not in output
    stored = {record["question"] for record in lines_of(project.folder("cut"))}
    assert before
    assert stored >= set(before), output


# --- what cases say ------------------------------------------------------------------------------

CHATTY = """
import logging, pytest, sys, time

@pytest.fixture(scope="session")
def rag_client():
    def ask(request):
        logging.getLogger("rag").warning("log of %s", request.question)
        print("print of", request.question)
        print("complaint of", request.question, file=sys.stderr)
        time.sleep(0.01)
        return {"answer": "It is so.", "abstained": False, "debug": {"retrieved_chunks": []}}
    return ask
"""


@pytest.mark.parametrize("concurrency", ["1", "4"])
def test_logs_and_prints_of_a_case_stand_in_its_own_report(
    project: Project, concurrency: str
) -> None:
    project.write("conftest.py", CHATTY)
    project.cases([case(f"c{n}", f"hit {n}") for n in range(8)])
    project.write(
        "evals/eval_set.py",
        "def test_it(eval_case, eval_record, caplog, capsys):\n"
        "    said = [r.getMessage() for r in caplog.get_records('setup')]\n"
        "    assert said == [f'log of {eval_case.question}'], said\n"
        "    assert eval_case.id not in {'c2', 'c5'}\n",
    )
    result = project.run("--rageval-concurrency", concurrency, "-p", "no:randomly")
    assert result.parseoutcomes()["failed"] >= 2
    text = result.stdout.str()
    for n in range(8):
        wanted = 1 if n in {2, 5} else 0
        for what in ("log", "print", "complaint"):
            found = text.count(f"{what} of hit {n}")
            assert (found >= 1) == bool(wanted), f"{what} of hit {n}: {found}\n{text}"
    for n in (2, 5):
        section = text.split(f"_ c{n} _")[1].split("____")[1:]
        assert f"print of hit {n}" in "".join(section)


def test_prints_reach_the_terminal_where_nothing_is_captured(project: Project) -> None:
    project.write("conftest.py", CHATTY)
    project.cases([case("c1", "hit 1"), case("c2", "hit 2")])
    text = project.run("-s").stdout.str()
    assert "print of hit 1" in text
    assert "print of hit 2" in text


# --- beside other plugins ------------------------------------------------------------------------


def test_beside_pytest_asyncio_and_uvloop(project: Project) -> None:
    pytest.importorskip("pytest_asyncio")
    uvloop = "uvloop" if _importable("uvloop") else "asyncio"
    project.write(
        "conftest.py",
        COUNTING
        + ASYNC.format(fixture="async def")
        + f"""
@pytest.fixture(scope="session")
def event_loop_policy():
    import {uvloop}
    return {uvloop}.{"EventLoopPolicy" if uvloop == "uvloop" else "DefaultEventLoopPolicy"}()
""",
    )
    project.write(
        "evals/eval_set.py",
        "import asyncio\n"
        "async def test_it(eval_record):\n"
        "    await asyncio.sleep(0)\n"
        "    assert eval_record.case_id\n",
    )
    project.cases(numbered_cases(12))
    result = project.run_apart(
        "-o",
        "asyncio_mode=auto",
        "-o",
        "asyncio_default_fixture_loop_scope=session",
        "--rageval-concurrency",
        "4",
        "-W",
        "default",
    )
    assert result.parseoutcomes()["passed"] >= 10
    (client,) = told(project)
    assert client["peak"] == 4


def test_beside_pytest_timeout_a_case_that_takes_too_long_fails_alone(project: Project) -> None:
    pytest.importorskip("pytest_timeout")

    async def answer(question: Question, writer: object) -> bytes:
        slow = question.text.endswith(" 5")
        reply = await after(30.0 if slow else 0.0)(question, writer)  # type: ignore[arg-type]
        assert reply is not None
        return reply

    project.cases(numbered_cases(10))
    with loopback_server(answer) as server:
        ask_server(project, server.url)
        result = project.run_apart(*ALONE, "--timeout", "3", "--rageval-concurrency", "3")
    assert result.parseoutcomes()["failed"] >= 1
    assert sorted(project.records()) == sorted(f"c{n:03}" for n in range(10) if n != 5)
    result.stdout.fnmatch_lines(["*c005*Timeout*"])


def test_beside_pytest_rerunfailures_a_case_is_asked_again_and_kept_once(project: Project) -> None:
    pytest.importorskip("pytest_rerunfailures")
    cases = numbered_cases(10, miss_every=100)
    project.cases(cases)
    project.write(
        "evals/eval_set.py",
        "SEEN = set()\n"
        "def test_it(eval_case, eval_record):\n"
        "    first = eval_case.id not in SEEN\n"
        "    SEEN.add(eval_case.id)\n"
        "    assert not (first and eval_case.id in {'c004', 'c007'})\n",
    )
    with loopback_server(after(0.01)) as server:
        ask_server(project, server.url)
        result = project.run_apart(*ALONE, "--reruns", "1", "--rageval-concurrency", "3")
        assert sorted(server.asked) == sorted(
            [*questions_of(cases), "hit number 4", "hit number 7"]
        )
    assert result.parseoutcomes()["rerun"] == 2
    (folder,) = project.run_folders()
    assert [r["case_id"] for r in lines_of(folder)] == [f"c{n:03}" for n in range(10)]


def test_beside_pytest_randomly_cases_are_asked_in_its_order(project: Project) -> None:
    pytest.importorskip("pytest_randomly")
    project.cases(numbered_cases(30))
    with loopback_server(after(0.0)) as server:
        ask_server(project, server.url)
        result = project.pytester.runpytest_subprocess(
            "-v", *ALONE, "-p", "no:cacheprovider", "--rageval-concurrency", "1"
        )
        lines = [line for line in result.outlines if "eval_set.jsonl::c" in line and "%" in line]
        reported = [int(line.split("::c")[1][:3]) for line in lines]
        assert [int(q.split()[-1]) for q in server.asked] == reported
        assert sorted(reported) == list(range(30))
        assert reported != sorted(reported)


def _importable(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def questions_of(cases: Sequence[dict[str, object]]) -> list[str]:
    return [str(one["question"]) for one in cases]


@pytest.mark.parametrize(
    ("arguments", "concurrency"),
    [
        (["--rageval-concurrency", "3"], 3),
        (["--rageval-concurrency", "3", "-n", "2"], 6),
        (["--rageval-concurrency", "1", "-n", "2"], 2),
        (["--rageval-concurrency", "64"], 12),  # there are no more cases
        (["-k", "c001"], 1),
    ],
)
def test_the_concurrency_of_all_processes_is_stored_with_the_latency(
    project: Project, arguments: list[str], concurrency: int
) -> None:
    project.cases(numbered_cases(12))
    result = project.run("--rageval-run-id", "r1", *arguments)
    folder = project.path / "evals" / "results" / "r1"
    config, metrics = (
        json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("config", "metrics")
    )
    assert config["concurrency"] == concurrency
    assert metrics["aggregate_metrics"]["latency"]["concurrency"] == concurrency
    label = "conc." if concurrency > 9 else "concurrency"
    result.stdout.fnmatch_lines([f"latency_ms.p50 at {label} {concurrency} *"])


@pytest.mark.parametrize("arguments", [(), ("-n", "2")], ids=["serial", "n2"])
def test_the_concurrency_is_that_of_the_client_and_not_the_setting(
    project: Project, arguments: tuple[str, ...]
) -> None:
    project.cases(numbered_cases(12))
    project.write("conftest.py", CONFTEST.replace('(scope="session")', ""))
    project.run(*arguments)
    assert project.stored("config.json")["concurrency"] == (2 if arguments else 1)


@SERIAL_AND_PARALLEL
def test_a_process_without_a_core_left_is_noted_with_the_run(
    project: Project, workers: Sequence[str]
) -> None:
    project.write_pages()
    project.cases(numbered_cases(6))
    quiet = project.run("evals", *workers, "--rageval-run-id", "quiet")
    quiet.stdout.no_fnmatch_line("*of a core*")
    busy = (
        "from pytest_rageval.support.slots import Turns\nTurns.cores_needed = lambda self: 0.96\n"
    )
    project.write("conftest.py", CONFTEST + busy)
    result = project.run_apart("evals", *workers, "--rageval-run-id", "busy")
    result.stdout.fnmatch_lines(["note*the process needed 96 % of a core while it asked: *"])
    folder = project.folder("busy")
    assert json.loads((folder / "config.json").read_text(encoding="utf-8"))["cores_needed"] == 0.96
    assert "96 % of a core" in (folder / "report.html").read_text(encoding="utf-8")
