"""Cases in flight ahead of their turn: which are asked, how many at once, what becomes of them."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Sequence
from contextlib import suppress

import pytest

from tests.build.loopback import LoopbackServer, Question, after, good_reply, loopback_server
from tests.plugin.counting_client import ASYNC, COUNTING, REPLY, told
from tests.plugin.long_runs import (
    ask_server,
    document,
    lines_of,
    numbered_cases,
)
from tests.plugin.scratch import Project, case, outcomes


def session_of(project: Project, server: LoopbackServer, *arguments: str) -> pytest.RunResult:
    ask_server(project, server.url)
    return project.run(*arguments)


def questions(count: int) -> list[str]:
    return [str(one["question"]) for one in numbered_cases(count)]


# --- how many, and in which order ----------------------------------------------------------------


@pytest.mark.parametrize("concurrency", [1, 8])
def test_requests_to_target_and_judge_never_exceed_the_limit_and_come_in_order(
    project: Project, monkeypatch: pytest.MonkeyPatch, concurrency: int
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    project.cases(numbered_cases(20))
    order: list[bool] = []

    async def answer(question: Question, writer: object) -> bytes:
        order.append(question.of_judge)
        # A thread that is slow to send its request is waited for, while there are others to come.
        with suppress(TimeoutError):
            async with asyncio.timeout(2):
                while server.in_flight < concurrency and len(server.asked) < 20:
                    await asyncio.sleep(0.001)
        await asyncio.sleep(0.03 if question.of_judge else 0.02)
        return good_reply(question)

    with loopback_server(answer) as server:
        ask_server(project, server.url, judge="m-1")
        result = project.run(
            "--judge-base-url", f"{server.url}/v1", "--rageval-concurrency", str(concurrency)
        )
    assert outcomes(result).get("failed", 0) <= 1  # the check of the misses
    assert server.peak == concurrency
    assert server.judged >= 20
    assert len(server.asked) == 20
    # Threads may pass each other between their start and their request, by no more than that.
    places = {question: place for place, question in enumerate(questions(20))}
    off = [abs(place - places[question]) for place, question in enumerate(server.asked)]
    assert max(off) < concurrency + concurrency // 4 if concurrency > 1 else max(off) == 0
    if concurrency == 1:  # the judge has its say before the next case is asked
        asks = [place for place, of_judge in enumerate(order) if not of_judge]
        assert all(later - earlier > 1 for earlier, later in itertools.pairwise(asks))


def test_a_slow_case_at_the_head_does_not_keep_the_others_waiting(project: Project) -> None:
    done: list[str] = []
    others_done = asyncio.Event()

    async def answer(question: Question, writer: object) -> bytes:
        if question.text == "hit head":
            await others_done.wait()
        done.append(question.text)
        if len(done) == 60:
            others_done.set()
        return good_reply(question)

    project.cases([case("head", "hit head"), *numbered_cases(60)])
    with loopback_server(answer) as server:
        session_of(project, server, "--rageval-concurrency", "2")
        assert "hit head" in server.asked[:3]
    # All were answered while the first one was waited for.
    assert len(done) == 61
    assert done[-1] == "hit head"


def test_latency_is_that_of_the_request_and_not_of_the_wait_for_a_place(project: Project) -> None:
    project.cases(numbered_cases(160))
    with loopback_server(after(0.02)) as server:
        ask_server(project, server.url)
        began = time.monotonic()
        result = project.run_apart("--rageval-concurrency", "4")
        took_ms = (time.monotonic() - began) * 1000
    assert outcomes(result)["passed"] >= 100
    latencies = [record["latency"]["total_ms"] for record in project.records().values()]
    assert len(latencies) == 160
    assert min(latencies) >= 20
    # Four requests at a time cannot last longer in all. If what a case waits for its place counted,
    # it would be 160 times half the session.
    assert sum(latencies) <= 4 * took_ms


# --- clients from fixtures -----------------------------------------------------------------------

FIXTURE = """
@pytest.fixture(scope="{scope}")
def rag_client():
    client = Counting(together={together})
    yield client
    write(client)
"""


@pytest.mark.parametrize("scope", ["function", "class", "package"])
def test_a_client_of_any_scope_is_asked_and_a_short_lived_one_alone(
    project: Project, scope: str
) -> None:
    short = scope in {"function", "class"}
    fixture = FIXTURE.format(scope=scope, together=1 if short else 4)
    project.write("conftest.py", COUNTING + fixture)
    project.cases(numbered_cases(12))
    result = project.run("--rageval-concurrency", "4")
    assert outcomes(result)["passed"] >= 10
    clients = told(project)
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
    client = Counting(request.param, together=4)
    yield client
    write(client)
""",
    )
    project.cases(numbered_cases(10))
    result = project.run("--rageval-concurrency", "4")
    assert outcomes(result)["passed"] >= 16
    one, two = told(project)
    assert (one["name"], two["name"]) == ("one", "two")
    assert sorted(one["asked"]) == sorted(two["asked"]) == sorted(questions(10))  # type: ignore[call-overload]
    assert one["peak"] == two["peak"] == 4


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
    client = Counting("{folder}", together=4)
    yield client
    write(client)
""",
        )
        project.cases(
            [case(f"{folder}-{n}", f"hit {folder} {n}") for n in range(8)], f"{folder}/set"
        )
    (project.path / "evals" / "eval_set.jsonl").unlink()
    result = project.run("--rageval-concurrency", "4", "-p", "no:cacheprovider")
    assert outcomes(result)["passed"] >= 16
    clients = {client["name"]: client for client in told(project)}
    assert set(clients) == {"left", "right"}
    for name, client in clients.items():
        assert sorted(client["asked"]) == [f"hit {name} {n}" for n in range(8)]  # type: ignore[call-overload]
        assert client["peak"] == 4


@pytest.mark.parametrize("fixture", ["def", "async def"])
def test_an_async_client_has_many_cases_in_flight_too(project: Project, fixture: str) -> None:
    project.write("conftest.py", COUNTING + ASYNC.format(fixture=fixture))
    project.cases(numbered_cases(16))
    result = project.run("--rageval-concurrency", "4")
    assert outcomes(result)["passed"] >= 13
    (client,) = told(project)
    assert client["peak"] == 4
    assert len(client["asked"]) == 16  # type: ignore[arg-type]


BOUND = """
import sqlite3

@pytest.fixture(scope="{scope}")
def rag_client():
    database = sqlite3.connect(":memory:")
    def ask(request):
        database.execute("select 1")
        return reply(request.question)
    yield ask
    database.close()
"""
ALL_ASKED = {"passed": 3, "missed": 1, "checks passed": 2}


def test_a_client_bound_to_one_thread_works_one_by_one_and_says_so_otherwise(
    project: Project,
) -> None:
    project.write("conftest.py", REPLY + BOUND.format(scope="session"))
    assert outcomes(project.run("--rageval-concurrency", "1")) == ALL_ASKED
    many = project.run("--rageval-run-id", "many")
    assert outcomes(many)["errored"] == 4
    (record, *_) = lines_of(project.path / "evals" / "results" / "many")
    assert "created in a thread can only be used in that same thread" in record["error"]["message"]


# --- what is not reported ------------------------------------------------------------------------


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
    ("how", "workers"),
    [
        *((how, ()) for how in SKIPS),
        pytest.param("broken setup", ("-n", "1"), marks=pytest.mark.slow),
    ],
)
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
            assert outcomes(result)["skipped"] == 12
            return
    records = project.records()
    if how == "broken setup":
        assert outcomes(result)["errored"] == 6
        broken = {id: records.pop(id) for id in [f"c{n}" for n in range(1, 12, 2)]}
        assert {one["error"]["kind"] for one in broken.values()} == {"fixture"}
        assert {one["answer"] for one in broken.values()} == {None}  # not what came ahead
    else:
        assert outcomes(result)["skipped"] >= 6
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
        result = project.run(
            "-n", "2", "--dist", "worksteal", "--rageval-concurrency", str(concurrency)
        )
    assert outcomes(result)["passed"] >= 150
    assert len(project.records()) == 200
    # What was on its way when it was taken cannot be taken back; something is taken a few times.
    assert len(server.asked) <= 200 + 5 * concurrency


# --- how many were, as stored ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "concurrency"),
    [
        (["--rageval-concurrency", "3"], 3),
        pytest.param(["--rageval-concurrency", "3", "-n", "2"], 6, marks=pytest.mark.slow),
        (["--rageval-concurrency", "64"], 12),  # there are no more cases
        (["-k", "c001"], 1),
    ],
)
def test_the_concurrency_of_all_processes_is_stored_with_the_latency(
    project: Project, arguments: list[str], concurrency: int
) -> None:
    project.cases(numbered_cases(12))
    result = project.run("-v", "--rageval-run-id", "r1", *arguments)
    assert document(project.folder("r1"), "config.json")["concurrency"] == concurrency
    label = "conc." if concurrency > 9 else "concurrency"
    result.stdout.fnmatch_lines([f"latency_ms.p50 at {label} {concurrency} *"])
