"""A pool of clients: few requests on few of them, never too many on one."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from pytest_rageval.support.http.pool import REQUESTS_PER_CLIENT, ClientPool


def numbered() -> ClientPool[int]:
    numbers = iter(range(1000))
    return ClientPool(lambda: next(numbers))


def test_one_request_after_the_other_stays_on_one_client() -> None:
    pool = numbered()
    used = []
    for _ in range(10):
        with pool.lease() as client:
            used.append(client)
    assert used == [0] * 10


@pytest.mark.parametrize("requests", [1, 4, 5, 128])
def test_requests_at_once_are_spread_over_as_few_clients_as_hold_them(requests: int) -> None:
    pool = numbered()
    with ExitStack() as stack:
        used = [stack.enter_context(pool.lease()) for _ in range(requests)]
    counts = [used.count(client) for client in sorted(set(used))]
    assert max(counts) <= REQUESTS_PER_CLIENT
    assert len(counts) == -(-requests // REQUESTS_PER_CLIENT)


def test_a_drained_pool_hands_out_its_clients_and_opens_new_ones() -> None:
    pool = numbered()
    with pool.lease():
        assert pool.drain() == [0]
    # What was lent before belongs to no count any more.
    with pool.lease() as client:
        assert client == 1
    assert pool.drain() == [1]
    assert pool.drain() == []
