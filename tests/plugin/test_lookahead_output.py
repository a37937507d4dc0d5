"""Output of cases on threads, held back until pytest runs them."""

from __future__ import annotations

import logging
import sys
import threading
from concurrent.futures import Future

import pytest

from pytest_rageval.plugin.lookahead import OutputKeeper, held_back
from pytest_rageval.plugin.state import CaseOutput
from pytest_rageval.support.threads import LoopThread
from tests.plugin.scratch import Project, case, outcomes

LOGGER = logging.getLogger("some.rag")


def say(name: str) -> CaseOutput:
    output = CaseOutput()
    with held_back(output):
        LOGGER.warning("log of %s", name)
        print("print of", name)
        print("complaint of", name, file=sys.stderr)
    return output


def on_a_thread(name: str) -> CaseOutput:
    found: list[CaseOutput] = []
    thread = threading.Thread(target=lambda: found.append(say(name)))
    thread.start()
    thread.join(5)
    return found[0]


def test_what_a_thread_says_comes_out_when_it_is_let_out(
    pytestconfig: pytest.Config,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    keeper = OutputKeeper(pytestconfig)
    with keeper.keeping():
        output = on_a_thread("one")
        assert caplog.messages == []
        assert capsys.readouterr() == ("", "")
        keeper.let_out(output)
        assert caplog.messages == ["log of one"]
        assert capsys.readouterr() == ("print of one\n", "complaint of one\n")


def test_what_a_case_says_while_it_is_let_out_is_left_to_it(pytestconfig: pytest.Config) -> None:
    keeper = OutputKeeper(pytestconfig)
    seen: list[str] = []

    class Busy(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(record.getMessage())
            if len(seen) < 9:
                output.records.append(record)

    with keeper.keeping():
        output = on_a_thread("one")
        keeper._log_handlers = [Busy()]
        keeper.let_out(output)
    assert seen == ["log of one"]


def test_what_others_say_goes_where_it_went(
    pytestconfig: pytest.Config,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with OutputKeeper(pytestconfig).keeping():
        LOGGER.warning("mine")
        print("mine")
        assert caplog.messages == ["mine"]
        assert capsys.readouterr().out == "mine\n"


def test_what_an_awaited_coroutine_says_is_of_the_case_that_awaits_it(
    pytestconfig: pytest.Config,
) -> None:
    loop = LoopThread()

    async def ask() -> None:
        LOGGER.warning("from the loop")

    output = CaseOutput()
    with OutputKeeper(pytestconfig).keeping(), held_back(output):
        loop.run(ask())
    loop.stop()
    assert [record.getMessage() for record in output.records] == ["from the loop"]


def test_live_logs_are_shown_while_the_case_runs(pytestconfig: pytest.Config) -> None:
    seen: list[str] = []
    shown = threading.Event()

    class Live(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            assert threading.current_thread() is threading.main_thread()
            seen.append(record.getMessage())
            shown.set()

    keeper, output, running = OutputKeeper(pytestconfig), CaseOutput(), Future[None]()
    keeper._live = Live()

    def run() -> None:
        with held_back(output):
            LOGGER.warning("first")
            shown.wait(5)
            LOGGER.warning("second, after %d", len(seen))
        running.set_result(None)

    with keeper.keeping():
        thread = threading.Thread(target=run)
        thread.start()
        keeper.show_live(output, running)
        thread.join(5)
    assert seen == ["first", "second, after 1"]


# --- in a session --------------------------------------------------------------------------------

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
    assert outcomes(result)["failed"] >= 2
    text = result.stdout.str()
    for n in range(8):
        wanted = 1 if n in {2, 5} else 0
        for what in ("log", "print", "complaint"):
            found = text.count(f"{what} of hit {n}")
            assert (found >= 1) == bool(wanted), f"{what} of hit {n}: {found}\n{text}"
    for n in (2, 5):
        section = text.split(f"_ c{n} _")[1].split("____")[1:]
        assert f"print of hit {n}" in "".join(section)
