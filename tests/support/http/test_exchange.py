"""Attempts and pauses of an exchange, without a network."""

from __future__ import annotations

import random

import pytest

from pytest_rageval.support.http.address import join_url
from pytest_rageval.support.http.exchange import Attempt, Sleep, failure, post_until_settled
from pytest_rageval.values.errors import EndpointError

GOOD = Attempt(body=b"{}")


def refused(status: int, retry_after_s: float | None = None) -> Attempt:
    error = EndpointError("http", f"HTTP {status}")
    return Attempt(error=error, status=status, retry_after_s=retry_after_s)


def settle(*attempts: Attempt, retries: int = 3, sleep: Sleep) -> tuple[Attempt, int]:
    left = iter(attempts)

    return post_until_settled(
        lambda: next(left), retries=retries, sleep=sleep, rng=random.Random(7)
    )


class Pauses(list[float]):
    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def test_a_pause_is_at_least_as_long_as_the_server_asks() -> None:
    pauses = Pauses()
    assert settle(refused(503, 9.0), refused(429), GOOD, sleep=pauses) == (GOOD, 3)
    assert pauses[0] == 9.0
    assert 1 <= pauses[1] <= 2
    assert len(pauses) == 2


def test_what_will_not_pass_is_the_last_attempt() -> None:
    pauses = Pauses()
    lasting = refused(404)
    assert settle(refused(500), lasting, GOOD, sleep=pauses) == (lasting, 2)
    assert len(pauses) == 1


@pytest.mark.parametrize("retries", [0, 2])
def test_there_are_no_more_attempts_than_were_asked_for(retries: int) -> None:
    busy = [refused(503) for _ in range(9)]
    last, attempts = settle(*busy, retries=retries, sleep=Pauses())
    assert (last, attempts) == (busy[retries], retries + 1)


def test_a_failure_names_the_address_without_its_secrets_and_keeps_its_cause() -> None:
    address = join_url("http://ann:pa55word@rag.test", "/ask?api_key=s3cret")
    cause = OSError("down")
    error = failure("connection", address, "no way", cause=cause)
    assert str(error) == "http://rag.test/ask: no way"
    assert (error.kind, error.__cause__) == ("connection", cause)
