"""Idle connections: the last one first, none that is old or closed."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from pytest_rageval.support.http import pool as http_pool
from pytest_rageval.support.http.connection import Socket
from pytest_rageval.support.http.pool import Pool

Ends = tuple[Socket, socket.socket]


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds of the pool's clock."""
    seconds = [100.0]
    monkeypatch.setattr(http_pool, "time", _Clock(seconds))
    return seconds


class _Clock:
    def __init__(self, seconds: list[float]) -> None:
        self._seconds = seconds

    def monotonic(self) -> float:
        return self._seconds[0]


@pytest.fixture
def ends() -> Iterator[list[Ends]]:
    """Three connections: our end and that of the server."""
    found = []
    for _ in range(3):
        ours, theirs = socket.socketpair()
        found.append((Socket(fileno=ours.detach()), theirs))
    yield found
    for one in found:
        for sock in one:
            sock.close()


def test_the_connection_used_last_is_used_next(ends: list[Ends]) -> None:
    pool = Pool(2.0)
    assert pool.take() is None
    for ours, _ in ends:
        pool.give(ours, pool.generation)
    assert [pool.take() for _ in range(4)] == [ends[2][0], ends[1][0], ends[0][0], None]


def test_a_pool_that_was_used_after_it_was_closed_closes_its_connections_with_itself(
    ends: list[Ends],
) -> None:
    pool = Pool(2.0)
    pool.close()
    pool.give(ends[0][0], pool.generation)
    del pool
    assert ends[0][0].fileno() == -1


def test_a_pool_that_lives_until_the_interpreter_ends_closes_in_silence() -> None:
    code = (
        f"import gc, threading; from {Pool.__module__} import Pool; threading.kept = Pool(2.0); "
        "gc.freeze()"  # as a run does at its end
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert ended.stderr == b""


def test_old_connections_are_closed_while_newer_ones_serve(
    ends: list[Ends], now: list[float]
) -> None:
    pool = Pool(2.0)
    for ours, _ in ends:
        pool.give(ours, pool.generation)
        now[0] += 0.9
    used = pool.take()
    assert used is ends[2][0]
    pool.give(used, pool.generation)
    assert [ours.fileno() < 0 for ours, _ in ends] == [True, False, False]
    now[0] += 2.1
    assert pool.take() is None
    assert [ours.fileno() for ours, _ in ends] == [-1, -1, -1]


@pytest.mark.parametrize("unasked", [b"", b"HTTP/1.1 408 Request Timeout\r\n\r\n"])
def test_a_connection_that_the_server_closed_or_spoke_on_is_not_used(
    ends: list[Ends], unasked: bytes
) -> None:
    pool = Pool(2.0)
    for ours, _ in ends[:2]:
        pool.give(ours, pool.generation)
    theirs = ends[1][1]
    theirs.sendall(unasked)
    theirs.close()
    assert pool.take() is ends[0][0]
    assert ends[1][0].fileno() == -1


def test_a_closed_pool_closes_what_is_in_use_when_it_is_given_back(ends: list[Ends]) -> None:
    pool = Pool(2.0)
    pool.give(ends[0][0], pool.generation)
    generation = pool.generation
    pool.close()
    pool.give(ends[1][0], generation)
    assert [ours.fileno() < 0 for ours, _ in ends] == [True, True, False]
    assert pool.take() is None
    pool.give(ends[2][0], pool.generation)
    assert pool.take() is ends[2][0]
