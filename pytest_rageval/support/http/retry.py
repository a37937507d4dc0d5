"""Attempts one after the other: when to ask again, and how long to wait first.

Imports no HTTP library, so that a client can be set up before its first request loads one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import Random
from typing import Final, Protocol, TypeVar

from pytest_rageval.support.slots import Slots, waiting
from pytest_rageval.values.errors import TargetErrorKind

MIN_BACKOFF_S: Final = 0.5
MAX_BACKOFF_S: Final = 8.0
MAX_RETRY_AFTER_S: Final = 60.0
"""A server that asks for more is asked again after this long: a run must not hang for an hour."""

_DELTA_SECONDS = re.compile(r"\d{1,12}(\.\d{1,9})?", re.ASCII)

Sleep = Callable[[float], object]
"""Pauses for seconds."""


class Tried(Protocol):
    """The outcome of one attempt, as far as the next one depends on it."""

    @property
    def status(self) -> int | None:
        """HTTP status; None: no reply came."""

    @property
    def retryable(self) -> bool:
        """Whether another attempt may fare better."""

    @property
    def retry_after_s(self) -> float | None:
        """Pause that the server asked for, in seconds."""


class Limiter(Protocol):
    """Requests and tokens per minute."""

    def wait(self, tokens: float) -> float:
        """Wait for a place; return the seconds waited."""

    def settle(self, expected: float, used: float) -> None:
        """Tell how many tokens were really used."""


_Tried = TypeVar("_Tried", bound=Tried)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pacing:
    """Everything that requests wait for before they are sent."""

    sleep: Sleep = time.sleep
    """Pauses between attempts, in seconds."""
    rng: Random = field(default_factory=Random)
    """Jitter of the pauses."""
    slots: Slots | None = None
    """Of which every request holds one, pauses between attempts none; None: no limit."""
    limiter: Limiter | None = None
    """Limits per minute; None: the client's own, if it has any."""

    def in_slot(self, once: Callable[[], _Tried]) -> _Tried:
        """Make one attempt, and tell the slots how it ended."""
        if self.slots is None:
            return once()
        with self.slots.hold():
            attempt = once()
            self.slots.saw(attempt.status)
        return attempt

    def until_settled(self, once: Callable[[], _Tried], *, retries: int) -> tuple[_Tried, int]:
        """Make attempts until one needs no other, and return the last with their number.

        Args:
            once: makes one attempt.
            retries: attempts after the first.
        """
        attempts = 1
        attempt = once()
        while attempts <= retries and attempt.retryable:
            with waiting():
                self.sleep(wait_seconds(attempts, self.rng, attempt.retry_after_s))
            attempts += 1
            attempt = once()
        return attempt, attempts


def is_retryable(kind: TargetErrorKind, status: int | None = None) -> bool:
    """Say whether a failed attempt may be followed by another.

    Connection errors and the statuses 408, 429 and 5xx may pass. Timeouts are not retried: the
    wait is already long, and a target that is overloaded would only be loaded more.

    Args:
        kind: why the attempt failed.
        status: HTTP status of an ``http`` error.
    """
    if kind == "http" and status is not None:
        return status in {408, 429} or 500 <= status <= 599
    return kind == "connection"


def backoff_seconds(attempt: int, rng: Random) -> float:
    """Draw the pause after a failed attempt: half fixed, half jitter, doubling each time.

    Uniform over [0.5, 1), [1, 2), [2, 4), then [4, 8) seconds; the jitter keeps clients that
    failed together from coming back together.

    Args:
        attempt: number of the attempt that failed, from 1.
        rng: source of the jitter.
    """
    # The exponent is bounded so that a huge attempt number cannot overflow the float.
    ceiling = min(MAX_BACKOFF_S, MIN_BACKOFF_S * 2.0 ** min(attempt, 16))
    return rng.uniform(ceiling / 2, ceiling)


def retry_after_seconds(header: str | None, now: datetime) -> float | None:
    """Read a ``Retry-After`` header: seconds, or an HTTP date (RFC 9110, 10.2.3).

    Args:
        header: the header's value; None: the server sent none.
        now: the present, with a time zone, by the same clock as the header's date.

    Returns:
        Seconds from 0 to 60; None if there is no header or it makes no sense.
    """
    if header is None:
        return None
    text = header.strip()
    if _DELTA_SECONDS.fullmatch(text):
        return min(float(text), MAX_RETRY_AFTER_S)
    date = parse_http_date(text)
    if date is None:
        return None
    return min(max((date - now).total_seconds(), 0.0), MAX_RETRY_AFTER_S)


def parse_http_date(text: str | None) -> datetime | None:
    """Read the date of an HTTP header; None if it is none. Without a zone it is UTC."""
    if not text:
        return None
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)


def wait_seconds(attempt: int, rng: Random, retry_after: float | None = None) -> float:
    """Return the pause before the next attempt: the backoff, or longer if the server asks so."""
    return max(backoff_seconds(attempt, rng), retry_after or 0.0)
