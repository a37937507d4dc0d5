"""Slots: how many requests are in flight."""

from __future__ import annotations

import contextvars
import threading
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor

import pytest

from pytest_rageval.support.slots import Slots
from pytest_rageval.support.threads import LoopThread


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Flight:
    """Counts who is inside."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.peak = 0

    def __enter__(self) -> None:
        with self.lock:
            self.inside += 1
            self.peak = max(self.peak, self.inside)

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.inside -= 1


def test_threads_never_hold_more_than_the_limit_and_use_all_of_it() -> None:
    slots, flight = Slots(3), Flight()

    def work(_: int) -> None:
        with slots.hold(), flight:
            time.sleep(0.002)

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(work, range(60)))

    assert flight.peak == 3


def test_who_holds_a_slot_goes_through_on_the_same_also_on_an_event_loop() -> None:
    slots, loop = Slots(1), LoopThread()

    async def inner() -> str:
        with slots.hold():
            return "asked"

    try:
        with slots.hold(), slots.hold():
            assert loop.submit(inner()).result(timeout=60) == "asked"
    finally:
        loop.stop()


def test_a_slot_is_free_again_after_an_error() -> None:
    slots = Slots(1)
    with pytest.raises(KeyError), slots.hold():
        raise KeyError("x")
    with slots.hold():
        pass


def test_a_wait_that_is_interrupted_costs_no_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    slots = Slots(1)

    def interrupt() -> None:
        raise KeyboardInterrupt

    with slots.hold():
        elsewhere, waiting = contextvars.Context(), slots.hold()
        with monkeypatch.context() as patch:
            patch.setattr("pytest_rageval.support.slots.waiting", interrupt)
            with pytest.raises(KeyboardInterrupt):
                elsewhere.run(waiting.__enter__)
    with slots.hold():
        pass


@pytest.mark.parametrize("status", [429, 503])
def test_a_burst_of_refusals_halves_what_is_allowed_once(status: int) -> None:
    clock = Clock()
    slots = Slots(16, clock=clock)
    for _ in range(5):
        slots.saw(status)
    assert slots.allowed == 8


def test_refusals_that_go_on_lower_it_to_one_and_no_further() -> None:
    clock = Clock()
    slots = Slots(16, clock=clock)
    for _ in range(12):
        slots.saw(429)
        clock.now += 1.5
    assert slots.allowed == 1


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


def test_a_request_without_a_reply_says_nothing() -> None:
    slots = Slots(8, clock=Clock())
    slots.saw(429)
    slots.saw(None)
    assert slots.allowed == 4


def test_lowered_slots_let_no_new_request_go_until_enough_came_back() -> None:
    slots, flight = Slots(4, clock=Clock()), Flight()
    slots.saw(429)

    def work(_: int) -> None:
        with slots.hold(), flight:
            time.sleep(0.002)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(20)))

    assert flight.peak == 2


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="got 0, expected at least 1"):
        Slots(0)


def test_closed_ones_let_no_request_begin_and_disturb_none_in_flight() -> None:
    slots = Slots(1)
    waits = threading.Event()

    def wait_for_one() -> None:
        waits.set()
        with slots.hold():
            raise AssertionError("begun after the end")

    with ThreadPoolExecutor(1) as pool, slots.hold():
        waiting = pool.submit(wait_for_one)
        waits.wait()
        slots.close()
        with pytest.raises(CancelledError):
            waiting.result(timeout=60)
    with pytest.raises(CancelledError, match="ended"), slots.hold():
        pass
