"""Turns: one thread computes, any number wait."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from pytest_rageval.support.slots import Turns, waiting


class Room:
    """Counts who is inside, and how many at most."""

    def __init__(self) -> None:
        self.inside = 0
        self.peak = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self.inside += 1
            self.peak = max(self.peak, self.inside)

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self.inside -= 1


def test_one_thread_computes_while_all_may_wait() -> None:
    turns, computing, resting = Turns(), Room(), Room()

    def work(_: int) -> None:
        with turns.computing():
            for _ in range(3):
                with computing:
                    time.sleep(0.001)
                with waiting(), resting:
                    time.sleep(0.005)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(16)))

    assert computing.peak == 1
    assert resting.peak > 1


def test_who_has_no_turn_waits_as_ever() -> None:
    turns = Turns()
    with turns.computing(), ThreadPoolExecutor(1) as threads:
        # Another thread has none to give away, so it takes none back either.
        assert threads.submit(wait_and_return).result(timeout=60)


def wait_and_return() -> bool:
    with waiting():
        return True


def test_waiting_within_waiting_gives_one_turn_away() -> None:
    turns = Turns()
    with turns.computing():
        with waiting(), waiting():
            with ThreadPoolExecutor(1) as threads:
                assert threads.submit(take, turns).result(timeout=60)
        with ThreadPoolExecutor(1) as threads:
            taken = threads.submit(take, turns)
            with pytest.raises(TimeoutError):
                taken.result(timeout=0.05)
            with waiting():
                assert taken.result(timeout=60)


def take(turns: Turns) -> bool:
    with turns.computing():
        return True


def test_an_error_while_waiting_leaves_the_turn_where_it_was() -> None:
    turns = Turns()
    with turns.computing(), pytest.raises(KeyError), waiting():
        raise KeyError("x")
    assert take(turns)


def test_the_cores_needed_are_known_after_some_seconds_and_looked_up_once_a_second() -> None:
    seconds, cores = iter([10.0, 14.9, 20.0, 20.5, 21.0]), iter([2.0, 11.6, 13.0])
    turns = Turns(clock=lambda: next(seconds), core_clock=lambda: next(cores))
    found = [turns.cores_needed() for _ in range(4)]
    assert found == [None, pytest.approx(0.96), pytest.approx(0.96), pytest.approx(1.0)]
