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


def test_afterwards_nothing_is_held_back(
    pytestconfig: pytest.Config,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = list(logging.getLogger().handlers)
    with OutputKeeper(pytestconfig).keeping():
        pass
    assert logging.getLogger().handlers == before
    assert "write" not in vars(sys.stdout)
    on_a_thread("two")
    assert caplog.messages == ["log of two"]
    assert capsys.readouterr().out == "print of two\n"


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
