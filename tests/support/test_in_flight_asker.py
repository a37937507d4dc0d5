"""Coroutines in flight, and their results in order."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import CancelledError
from functools import partial
from typing import Any

import pytest

from pytest_rageval.support.in_flight import AHEAD, Asker, Slots, Work, in_order
from pytest_rageval.support.threads import called, computed, result_of


async def give(n: int) -> int:
    return n


def test_results_come_in_the_order_of_their_works_while_several_run() -> None:
    slots, both = Slots(2), asyncio.Barrier(2)

    async def ask(n: int) -> int:
        async with slots.hold(), asyncio.timeout(60):
            await both.wait()  # none ends alone
        return n

    assert list(in_order((partial(ask, n) for n in range(20)), slots)) == list(range(20))


def test_works_are_read_a_window_ahead_and_none_is_started_after_an_early_end() -> None:
    slots, read = Slots(2), list[int]()

    def works() -> Iterator[Callable[[], Coroutine[Any, Any, int]]]:
        for n in itertools.count():
            read.append(n)
            yield partial(give, n)

    results = in_order(works(), slots)
    assert list(itertools.islice(results, 5)) == [0, 1, 2, 3, 4]
    results.close()
    assert len(read) == AHEAD * 2 + 5


def test_an_early_end_does_not_wait_for_what_is_in_flight_and_scores_what_was_answered() -> None:
    slots, scored, in_flight = Slots(3), list[str](), threading.Event()
    scoring, go_on = threading.Event(), threading.Event()

    def score() -> None:
        scoring.set()
        go_on.wait(60)
        scored.append("answered")

    async def answered() -> None:
        async with slots.hold():
            pass
        await computed(score)

    async def slow() -> None:
        async with slots.hold():
            in_flight.set()
            await asyncio.sleep(600)

    async def hangs() -> None:
        async with slots.hold():
            await called(partial(threading.Event().wait, 600))

    async def first() -> None:
        pass

    works: list[Work[None]] = [first, answered, slow, hangs]
    results = in_order(works, slots)
    next(results)
    assert scoring.wait(60)
    assert in_flight.wait(60)
    threading.Timer(0.5, go_on.set).start()
    began = time.monotonic()
    results.close()
    assert scored == ["answered"]
    assert time.monotonic() - began < 30


def test_an_error_of_a_work_or_of_their_source_ends_the_rest() -> None:
    async def fail() -> int:
        raise ZeroDivisionError

    def broken() -> Iterator[Callable[[], Coroutine[Any, Any, int]]]:
        yield partial(give, 1)
        raise OSError("cut")

    works: list[Work[int]] = [partial(give, 1), fail, partial(give, 3)]
    with pytest.raises(ZeroDivisionError):
        list(in_order(works, Slots(2)))
    with pytest.raises(OSError, match="cut"):
        list(in_order(broken(), Slots(2)))


def test_with_one_slot_the_thread_of_the_caller_makes_the_calls() -> None:
    async def ask() -> threading.Thread:
        return await called(threading.current_thread)

    assert list(in_order([ask] * 3, Slots(1))) == [threading.current_thread()] * 3


def test_work_that_is_cancelled_never_starts_or_ends_where_it_waits() -> None:
    asker, started = Asker(Slots(1)), list[int]()
    ended = threading.Event()

    async def hang(n: int) -> None:
        started.append(n)
        try:
            await asyncio.sleep(600)
        finally:
            ended.set()

    jobs = [asker.start(partial(hang, n)) for n in range(3)]
    while len(started) < 2:
        time.sleep(0.001)
    jobs[2].cancel()
    jobs[0].cancel()
    assert ended.wait(60)
    with pytest.raises(CancelledError):
        result_of(jobs[0], 60)
    jobs[1].cancel()
    with pytest.raises(CancelledError):
        result_of(jobs[1], 60)
    assert started == [0, 1]
