from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.support.http.exchange import Attempt
from pytest_rageval.support.http.pacing import (
    Pacing,
    Sleep,
    backoff_seconds,
    is_retryable,
    retry_after_seconds,
    wait_seconds,
)
from pytest_rageval.support.in_flight import Slots
from pytest_rageval.values.errors import TARGET_ERROR_KINDS, EndpointError
from tests.build.targets import Pauses

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 599])
def test_statuses_that_may_pass_are_retried(status: int) -> None:
    assert is_retryable("http", status)


@pytest.mark.parametrize("status", [None, 300, 307, 400, 401, 404, 409, 422, 499, 600])
def test_other_statuses_are_not_retried(status: int | None) -> None:
    assert not is_retryable("http", status)


def test_of_the_other_kinds_only_connection_errors_are_retried() -> None:
    assert [kind for kind in TARGET_ERROR_KINDS if is_retryable(kind)] == ["connection"]


@given(st.integers(min_value=1, max_value=10_000), st.integers())
def test_the_pause_doubles_with_jitter_up_to_eight_seconds(attempt: int, seed: int) -> None:
    ceiling = min(8.0, 0.5 * 2 ** min(attempt, 20))
    pause = backoff_seconds(attempt, Random(seed))
    assert ceiling / 2 <= pause <= ceiling
    assert 0.5 <= pause <= 8.0


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("", None),
        ("0", 0.0),
        (" 7 ", 7.0),
        ("1.5", 1.5),
        ("60", 60.0),
        ("3600", 3600.0),
        ("9" * 12, 999_999_999_999.0),
        ("9" * 400, None),
        ("-5", None),
        ("soon", None),
        ("nan", None),
        ("٣", None),
        ("Sun, 01 Mar 2026 12:00:09 GMT", 9.0),
        ("Sun, 01 Mar 2026 12:00:09 -0000", 9.0),
        ("Sun, 01 Mar 2026 13:00:09 +0100", 9.0),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0.0),
        ("Mon, 02 Mar 2026 12:00:00 GMT", 86_400.0),
        ("Sun, 99 Mar 2026 12:00:00 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_from_now_on(header: str, seconds: float | None) -> None:
    assert retry_after_seconds(header, NOW) == seconds


def test_the_wait_is_never_shorter_than_the_server_asks_nor_than_the_backoff() -> None:
    assert wait_seconds(1, Random(0), 30.0) == 30.0
    assert wait_seconds(1, Random(0), 61.0) == 60.0
    assert 0.5 <= wait_seconds(1, Random(0), 0.0) <= 1.0
    assert 0.5 <= wait_seconds(1, Random(0), None) <= 1.0


# --- attempts one after the other ------------------------------------------------------------

GOOD = Attempt(body=b"{}")


def refused(status: int, retry_after_s: float | None = None) -> Attempt:
    error = EndpointError("http", f"HTTP {status}")
    return Attempt(error=error, status=status, retry_after_s=retry_after_s)


def settle(*attempts: Attempt, retries: int = 3, sleep: Sleep) -> tuple[Attempt, int]:
    pacing, left = Pacing(sleep=sleep, rng=Random(7)), iter(attempts)

    async def once() -> Attempt:
        return next(left)

    return asyncio.run(pacing.until_settled(once, retries=retries))


def test_a_pause_is_at_least_as_long_as_the_server_asks() -> None:
    pauses = Pauses()
    assert settle(refused(503, 9.0), refused(429), GOOD, sleep=pauses) == (GOOD, 3)
    assert pauses[0] == 9.0
    assert 1 <= pauses[1] <= 2
    assert len(pauses) == 2


def test_a_pause_longer_than_all_that_are_left_is_not_begun() -> None:
    pauses = Pauses()
    tomorrow = refused(429, 180.5)
    assert settle(tomorrow, GOOD, sleep=pauses) == (tomorrow, 1)
    assert settle(refused(429, 180.0), refused(429, 120.0), GOOD, sleep=pauses) == (GOOD, 3)
    assert pauses == [60.0, 60.0]
    late = refused(429, 61.0)
    assert settle(refused(503), refused(503), late, GOOD, sleep=Pauses()) == (late, 3)


def test_a_request_counts_as_pausing_while_it_pauses() -> None:
    slots = Slots(2)
    seen: list[int] = []
    attempts = iter([refused(429, 60.0), refused(503), GOOD])
    pacing = Pacing(sleep=lambda _: seen.append(slots.pausing), rng=Random(7), slots=slots)

    async def once() -> Attempt:
        return next(attempts)

    asyncio.run(pacing.until_settled(once, retries=3))
    assert (seen, slots.pausing) == ([1, 1], 0)


@pytest.mark.parametrize("retries", [0, 2])
def test_there_are_no_more_attempts_than_were_asked_for(retries: int) -> None:
    busy = [refused(503) for _ in range(9)]
    last, attempts = settle(*busy, retries=retries, sleep=Pauses())
    assert (last, attempts) == (busy[retries], retries + 1)
