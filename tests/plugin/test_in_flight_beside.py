"""Cases in flight beside other plugins that change what pytest runs, and when."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

import pytest

from tests.build.loopback import Question, after, loopback_server
from tests.plugin.counting_client import ASYNC, COUNTING, told
from tests.plugin.long_runs import ask_server, lines_of, numbered_cases
from tests.plugin.scratch import CONFTEST, Project, outcomes

ALONE = ("-p", "no:asyncio")
"""It warns of settings that it wants, and warnings are errors."""


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
        "    assert eval_record.case.id\n",
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
    assert outcomes(result)["passed"] >= 10
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
    assert outcomes(result)["failed"] == 1
    assert "INCOMPLETE: 9 of 10 cases reported" in result.outlines
    assert sorted(project.records()) == sorted(f"c{n:03}" for n in range(10) if n != 5)


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
    assert outcomes(result)["rerun"] == 2
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


TIMING = """
SUMS_UP = ("pytest_rageval.analysis.aggregate.run", "pytest_rageval.report.html.run.page")

@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    before = [name in sys.modules for name in SUMS_UP]
    result = yield
    after = [name in sys.modules for name in SUMS_UP]
    print(f"\\ntimed {item.name} {before} {after}")
    return result
"""


def test_no_time_limit_of_a_case_counts_the_loading_of_what_sums_up(project: Project) -> None:
    # pytest-timeout would raise its exception in a hook, which ends the session.
    project.write("conftest.py", f"import sys\n{CONFTEST}{TIMING}")
    project.write_pages()
    result = project.run_apart(*ALONE, "-s")
    found = [line for line in result.outlines if line.startswith("timed")]
    # Nor would requests in flight be timed right while the interpreter loads modules.
    assert found[:2] == [f"timed ok-{n} [False, False] [False, False]" for n in (1, 2)]
