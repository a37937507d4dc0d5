from __future__ import annotations

import asyncio
import itertools
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from functools import partial
from types import FrameType
from typing import Any

import pytest

from pytest_rageval.support.slots import Slots, waiting
from pytest_rageval.support.threads import (
    AHEAD,
    GivenUp,
    LoopThread,
    call_within,
    in_order,
    result_of,
    session_loop,
)


async def current_thread() -> threading.Thread:
    return threading.current_thread()


def test_the_thread_starts_with_the_first_coroutine_and_is_a_daemon() -> None:
    before = set(threading.enumerate())
    loop = LoopThread()
    assert before >= set(threading.enumerate())
    thread = loop.run(current_thread())
    assert thread.is_alive()
    assert thread.daemon
    assert thread is not threading.current_thread()
    loop.stop()
    assert not thread.is_alive()


def test_a_stopped_loop_may_be_started_again() -> None:
    loop = LoopThread()
    first = loop.run(current_thread())
    loop.stop()
    loop.stop()
    second = loop.run(current_thread())
    loop.stop()
    assert first is not second


FORKED = """
import multiprocessing
from pytest_rageval.support.threads import result_of, session_loop

async def answer(n):
    return n

def ask(n):
    return result_of(session_loop().submit(answer(n)), 10)

ask(0)
with multiprocessing.get_context("fork").Pool(1) as pool:
    print(pool.map(ask, [1, 2]))
"""


@pytest.mark.posix
def test_a_forked_process_starts_a_loop_of_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[1, 2]", done.stderr


def test_stopping_cancels_what_still_runs() -> None:
    loop = LoopThread()
    started, cancelled = threading.Event(), threading.Event()

    async def hang() -> None:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    future = loop.submit(hang())
    assert started.wait(5)
    loop.stop()
    assert cancelled.is_set()
    assert future.cancelled()


def test_waiting_on_the_loop_from_its_own_thread_is_refused() -> None:
    loop = LoopThread()

    async def nested() -> object:
        return loop.run(current_thread())

    with pytest.raises(RuntimeError, match="must await"):
        loop.run(nested())
    loop.stop()


@pytest.mark.parametrize("error", [KeyError("x"), TimeoutError("slow"), SystemExit(3)], ids=repr)
def test_what_a_coroutine_raises_is_raised_to_the_caller(error: BaseException) -> None:
    loop = LoopThread()

    async def fail() -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        loop.run(fail())
    assert raised.value is error
    assert raised.traceback[-1].name == "fail"
    assert loop.run(current_thread()).is_alive()
    loop.stop()


@pytest.mark.parametrize("error", [SystemExit("no key"), KeyboardInterrupt()])
def test_a_coroutine_that_ends_the_process_ends_the_wait_of_its_caller_alone(
    error: BaseException,
) -> None:
    loop = LoopThread()

    async def leave() -> None:
        raise error

    async def group() -> None:
        await asyncio.gather(leave(), asyncio.sleep(0))

    for function in (leave, group):
        with pytest.raises(type(error)):
            result_of(loop.submit(function()), 10)
        assert result_of(loop.submit(current_thread()), 10).is_alive()
    loop.stop()


def test_many_threads_share_one_loop() -> None:
    loop = LoopThread()
    found: list[threading.Thread] = []
    threads = [
        threading.Thread(target=lambda: found.append(loop.run(current_thread()))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    loop.stop()
    assert len(found) == 8
    assert len(set(found)) == 1


def test_the_session_has_one_loop() -> None:
    assert session_loop() is session_loop()


def test_an_interrupt_at_any_moment_of_a_wait_stays_one() -> None:
    before = sys.gettrace()
    for place in itertools.count(1):
        lines = itertools.count(1)

        def interrupt(
            frame: FrameType, event: str, _: object, lines: Any = lines, place: int = place
        ) -> Any:
            if event == "line" and next(lines) == place:
                sys.settrace(before)
                raise KeyboardInterrupt
            return interrupt

        future: Future[int] = Future()
        timer = threading.Timer(0.05, future.set_result, [1])
        timer.daemon = True
        timer.start()
        sys.settrace(interrupt)
        try:
            found = result_of(future)
        except KeyboardInterrupt:
            continue
        finally:
            sys.settrace(before)
            timer.cancel()
        assert found == 1
        return


def test_a_call_that_takes_too_long_is_given_up_and_holds_nobody() -> None:
    release = threading.Event()
    with pytest.raises(GivenUp, match=r"no result after 0\.01 s"):
        call_within(0.01, release.wait)
    release.set()
    assert call_within(60, lambda: 3) == 3
    assert call_within(1e300, lambda: threading.current_thread().daemon)


def test_results_come_in_the_order_of_their_tasks_while_several_run() -> None:
    slots, both = Slots(2), threading.Barrier(2, timeout=60)

    def task(n: int) -> int:
        with slots.hold(), waiting():
            both.wait()  # no task ends alone
        return n

    assert list(in_order((partial(task, n) for n in range(20)), slots)) == list(range(20))
    with slots.hold():
        assert slots.held == 1, "a caller that took all results may go on with the slots"


def test_tasks_are_read_a_window_ahead_and_none_is_started_after_an_early_end() -> None:
    slots, read = Slots(2), list[int]()

    def tasks() -> Iterator[Callable[[], int]]:
        for n in itertools.count():
            read.append(n)
            yield partial(int, n)

    results = in_order(tasks(), slots)
    assert list(itertools.islice(results, 5)) == [0, 1, 2, 3, 4]
    results.close()
    assert len(read) == AHEAD * 2 + 5
    with pytest.raises(CancelledError):
        slots.take()


@pytest.mark.parametrize("limited", [False, True])
def test_an_early_end_does_not_wait_for_a_request_that_pauses(*, limited: bool) -> None:
    slots, pausing, goes_on = Slots(2), threading.Event(), threading.Event()

    def pause() -> int:
        with waiting(), slots.pause(limited=limited):
            pausing.set()
            goes_on.wait(30)
        return 1

    results = in_order([lambda: 0, pause, pause], slots)
    assert next(results) == 0
    assert pausing.wait(10)
    began = time.monotonic()
    results.close()
    goes_on.set()
    assert time.monotonic() - began < 15


def test_an_error_of_a_task_or_of_their_source_ends_the_rest() -> None:
    def broken() -> Iterator[Callable[[], int]]:
        yield lambda: 1
        raise OSError("cut")

    with pytest.raises(ZeroDivisionError):
        list(in_order([lambda: 1, lambda: 1 // 0, lambda: 3], Slots(2)))
    with pytest.raises(OSError, match="cut"):
        list(in_order(broken(), Slots(2)))


def test_with_one_slot_the_thread_of_the_caller_does_everything() -> None:
    found = list(in_order([threading.current_thread] * 3, Slots(1)))
    assert found == [threading.current_thread()] * 3
