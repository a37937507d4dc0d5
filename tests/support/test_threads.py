from __future__ import annotations

import asyncio
import itertools
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from types import FrameType
from typing import Any

import pytest

from pytest_rageval.support.threads import (
    GivenUp,
    LoopThread,
    at_once,
    call_within,
    called,
    computed,
    result_of,
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


# --- calls from the loop --------------------------------------------------------------------------


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    loop = LoopThread()
    yield loop
    loop.stop()


def test_the_thread_that_waits_makes_the_calls(loop: LoopThread) -> None:
    async def ask() -> list[threading.Thread]:
        return [await called(threading.current_thread), await computed(threading.current_thread)]

    here = threading.current_thread()
    assert loop.run(ask()) == [here, here]
    assert at_once(ask()) == [here, here]


def test_a_call_that_hangs_keeps_neither_its_task_nor_the_next_call(loop: LoopThread) -> None:
    release, hanging = threading.Event(), threading.Event()

    def hang() -> None:
        hanging.set()
        release.wait(60)

    future = loop.submit(called(hang))
    assert hanging.wait(60)
    future.cancel()
    assert loop.submit(called(lambda: "next")).result(60) == "next"
    release.set()


@pytest.mark.parametrize("error", [KeyError("x"), SystemExit(3), KeyboardInterrupt()], ids=repr)
def test_what_a_call_raises_is_raised_to_its_task(loop: LoopThread, error: BaseException) -> None:
    def fail() -> None:
        raise error

    async def ask() -> None:
        await called(fail)

    with pytest.raises(type(error)):
        loop.submit(ask()).result(60)
    with pytest.raises(type(error)):
        loop.run(ask())
    assert loop.submit(called(lambda: "still there")).result(60) == "still there"
