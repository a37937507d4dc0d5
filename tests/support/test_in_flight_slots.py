"""Slots: how many requests are in flight."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from pytest_rageval.support.in_flight import Slots
from pytest_rageval.support.threads import LoopThread, called


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
