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
from pytest_rageval.support.threads import LoopThread, called, computed, result_of


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


# --- slots: how many requests are in flight


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Flight:
    """Counts who is inside."""

    def __init__(self) -> None:
        self.inside = 0
        self.peak = 0

    def __enter__(self) -> None:
        self.inside += 1
        self.peak = max(self.peak, self.inside)

    def __exit__(self, *error: object) -> None:
        self.inside -= 1


async def go_on() -> None:
    """Let all other tasks go on until they wait."""
    for _ in range(5):
        await asyncio.sleep(0)


async def fly(slots: Slots, flight: Flight) -> None:
    async with slots.hold():
        with flight:
            await go_on()


async def fly_all(slots: Slots, n: int) -> Flight:
    flight = Flight()
    await asyncio.gather(*(fly(slots, flight) for _ in range(n)))
    return flight


def test_tasks_never_hold_more_than_the_limit_and_use_all_of_it() -> None:
    assert asyncio.run(fly_all(Slots(3), 60)).peak == 3


def test_who_holds_a_slot_goes_through_on_the_same_also_from_a_thread() -> None:
    slots, loop = Slots(1), LoopThread()

    async def inner() -> str:
        async with slots.hold():
            return "asked"

    async def outer() -> str:
        async with slots.hold(), slots.hold():
            return await called(lambda: loop.submit(inner()).result(timeout=60))

    try:
        assert loop.submit(outer()).result(timeout=60) == "asked"
    finally:
        loop.stop()


@pytest.mark.parametrize("granted", [False, True])
def test_a_wait_that_is_cancelled_costs_no_slot(*, granted: bool) -> None:
    slots = Slots(1)

    async def cancelled() -> Flight:
        async with slots.hold():
            # Its context is that of a task of its own, and holds no slot.
            waiting = asyncio.get_running_loop().create_task(outside(fly(slots, Flight())))
            await go_on()
            if not granted:
                waiting.cancel()
        if granted:  # the slot is the task's, which has not gone on so far
            waiting.cancel()
        await asyncio.wait({waiting})
        assert waiting.cancelled()
        return await fly_all(slots, 1)

    assert asyncio.run(cancelled()).peak == 1
    assert slots.held == 0


async def outside(work: Coroutine[Any, Any, None]) -> None:
    from pytest_rageval.support.in_flight import _holding

    _holding.set(False)
    await work


@pytest.mark.parametrize("status", [429, 503])
def test_a_burst_of_refusals_halves_what_is_allowed_once(status: int) -> None:
    clock = Clock()
    slots = Slots(16, clock=clock)
    for _ in range(5):
        slots.saw(status)
    assert slots.allowed == 8


def test_answers_raise_it_again_to_the_limit_and_no_further() -> None:
    slots = Slots(8, clock=Clock())
    slots.saw(429)
    assert slots.allowed == 4
    for _ in range(4 + 5):
        slots.saw(200)
    assert 5 <= slots.allowed <= 6
    for _ in range(200):
        slots.saw(404)
    assert slots.allowed == 8


def test_closed_slots_cancel_what_is_in_flight_and_what_waits() -> None:
    slots = Slots(1)

    async def hang() -> None:
        async with slots.hold():
            await asyncio.sleep(60)

    async def close() -> list[BaseException | None]:
        tasks = [asyncio.create_task(hang()) for _ in range(2)]
        await go_on()
        slots.close()
        tasks.append(asyncio.create_task(hang()))
        return await asyncio.gather(*tasks, return_exceptions=True)

    found = asyncio.run(close())
    assert [type(one) for one in found] == [asyncio.CancelledError] * 3
    assert slots.held == 0


@pytest.mark.parametrize("limited", [False, True])
def test_a_request_that_pauses_is_counted_and_cancelled_at_the_end(*, limited: bool) -> None:
    slots = Slots(2)

    async def pause() -> None:
        with slots.pause(limited=limited):
            await asyncio.sleep(60)

    async def close() -> None:
        task = asyncio.create_task(pause())
        await go_on()
        assert (slots.pausing, slots.limited) == (not limited, limited)
        slots.close()
        await asyncio.wait({task})
        assert task.cancelled()

    asyncio.run(close())
    assert (slots.pausing, slots.limited) == (0, 0)
