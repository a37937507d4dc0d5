"""Room for the replies that all threads read at once."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from pytest_rageval.support.http.deadline import Deadline
from pytest_rageval.support.http.room import FREE_BYTES, Growth, Reading, Room, take_for_values
from pytest_rageval.support.json_cost import MOST_BYTES, json_cost
from pytest_rageval.support.slots import Turns


def started(task: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=task, daemon=True)
    thread.start()
    return thread


def test_a_reply_waits_until_another_has_been_read() -> None:
    room, got = Room(100), threading.Event()

    def other() -> None:
        with Reading(room) as reading:
            reading.take(60)
            got.set()

    with Reading(room) as reading:
        reading.take(60)
        with Reading(room) as privileged:
            privileged.take(60)  # one may have more than is left
            thread = started(other)
            assert not got.wait(0.1)
        assert got.wait(60)
    thread.join(60)


def test_replies_that_each_need_more_than_is_left_do_not_wait_for_ever() -> None:
    room, gate, done = Room(100), threading.Barrier(8), []

    def grow() -> None:
        with Reading(room) as reading:
            reading.take(10)
            gate.wait()
            for _ in range(20):
                reading.take(10)
            done.append(reading.taken)

    threads = [started(grow) for _ in range(8)]
    for thread in threads:
        thread.join(60)
    assert done == [210] * 8


def test_whoever_waits_for_room_leaves_the_turn_to_compute_to_others() -> None:
    room, turns, got, computed = Room(100), Turns(), threading.Event(), threading.Event()

    def waits() -> None:
        with turns.computing(), Reading(room) as reading:
            reading.take(60)
            got.set()

    with Reading(room) as first, Reading(room) as second:
        first.take(60)
        second.take(60)
        waiting = started(waits)
        assert not got.wait(0.05)
        computing = started(lambda: _in_turn(turns, computed))
        assert computed.wait(60)
    assert got.wait(60)
    waiting.join(60)
    computing.join(60)


def _in_turn(turns: Turns, computed: threading.Event) -> None:
    with turns.computing():
        computed.set()


def test_the_wait_for_room_ends_with_the_limit_and_counts_for_no_duration() -> None:
    room = Room(100)
    with Reading(room) as first, Reading(room) as second:
        first.take(60)
        second.take(60)
        found: list[float] = []
        ended = threading.Event()

        def waits() -> None:
            with Deadline(0.2) as deadline, Reading(room) as reading:
                deadline.sending()
                with pytest.raises(TimeoutError, match="lower concurrency"):
                    reading.take(60)
                found.extend([deadline.elapsed_ms, reading.taken])
            ended.set()
            with Reading(room) as reading:
                reading.take(60)
                found.append(reading.taken)

        thread = started(waits)
        assert ended.wait(60), "the limit of 0.2 s did not end it"
    thread.join(60)
    assert abs(found[0]) < 150
    assert found[1:] == [0, 60]


def test_only_what_exceeds_a_usual_reply_takes_room() -> None:
    with Reading(Room(100)) as reading:
        growth = Growth()
        growth.add(FREE_BYTES)
        assert reading.taken == 0
        growth.add(70)
        growth.add(7)
        assert reading.taken == 77
        assert take_for_values(b"{}" * 1000)
        assert reading.taken == 77
        reading.drop()
        body = b'"' * 200_000
        assert take_for_values(body)
        assert reading.taken == json_cost(body)
    assert reading.taken == 0


@pytest.mark.parametrize("piece", [b"[]", b"{}", b'"', b"x", "\U0001f600".encode()])
def test_values_that_exceed_the_limit_of_one_reply_are_not_made(piece: bytes) -> None:
    most = MOST_BYTES // json_cost(piece)
    for times in (1, most // 2, most, most + 1):
        body = piece * times
        assert take_for_values(body) is (json_cost(body) <= MOST_BYTES)
