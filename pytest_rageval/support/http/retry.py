"""Repeated attempts: their conditions and the pauses between them.

Does not import an HTTP library, so that a client can be set up before its first request loads one.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import Random
from typing import Final, Protocol, TypeVar

from pytest_rageval.support.slots import Slots
from pytest_rageval.values.diagnoses.table import TargetErrorKind

MIN_BACKOFF_S: Final = 0.5
MAX_BACKOFF_S: Final = 8.0
MAX_RETRY_AFTER_S: Final = 60.0
"""Longest pause before an attempt: a run must not hang for an hour."""

_DELTA_SECONDS = re.compile(r"\d{1,12}(\.\d{1,9})?", re.ASCII)

Sleep = Callable[[float], object]
"""Pauses for seconds; what it returns is awaited if it can be."""


class Tried(Protocol):
    """The outcome of one attempt, as far as the next one depends on it."""

    @property
    def status(self) -> int | None:
        """HTTP status; None: no reply was received."""

    @property
    def retryable(self) -> bool:
        """Whether another attempt may succeed."""

    @property
    def retry_after_s(self) -> float | None:
        """Pause requested by the server, in seconds."""


_Tried = TypeVar("_Tried", bound=Tried)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pacing:
    """Limits and pauses of requests."""

    sleep: Sleep = asyncio.sleep
    """Pauses between attempts, in seconds."""
    rng: Random = field(default_factory=Random)
    """Jitter of the pauses."""
    slots: Slots | None = None
    """Slots held by requests, but not in pauses between attempts; None: no limit."""

    async def in_slot(self, once: Callable[[], Awaitable[_Tried]]) -> _Tried:
        """Make one attempt, and report its status to the slots."""
        if self.slots is None:
            return await once()
        async with self.slots.hold():
            attempt = await once()
            self.slots.saw(attempt.status)
        return attempt

    async def until_settled(
        self, once: Callable[[], Awaitable[_Tried]], *, retries: int
    ) -> tuple[_Tried, int]:
        """Make attempts until one is final, and return it with their number."""
        attempts = 1
        attempt = await once()
        while attempts <= retries and attempt.retryable:
            if (attempt.retry_after_s or 0.0) > MAX_RETRY_AFTER_S * (retries + 1 - attempts):
                break  # longer than all pauses that are left: each attempt would be refused
            with self.slots.pause() if self.slots else nullcontext():
                pause = self.sleep(wait_seconds(attempts, self.rng, attempt.retry_after_s))
                if inspect.isawaitable(pause):
                    await pause
            attempts += 1
            attempt = await once()
        return attempt, attempts


def is_retryable(kind: TargetErrorKind, status: int | None = None) -> bool:
    """Return whether a failed attempt may be followed by another.

    Connection errors and the statuses 408, 429 and 5xx are retried. Timeouts are not: the wait was
    already long, and an overloaded target would get even more load.
    """
    if kind == "http" and status is not None:
        return status in {408, 429} or 500 <= status <= 599
    return kind == "connection"


def backoff_seconds(attempt: int, rng: Random) -> float:
    """Draw the pause after the n-th failed attempt: half fixed, half jitter, doubling each time.

    Uniform over [0.5, 1), [1, 2), [2, 4), then [4, 8) seconds; the jitter keeps clients that
    failed at the same time from retrying at the same time.
    """
    # The exponent is bounded so that a huge attempt number cannot overflow the float.
    ceiling = min(MAX_BACKOFF_S, MIN_BACKOFF_S * 2.0 ** min(attempt, 16))
    return rng.uniform(ceiling / 2, ceiling)


def requested_pause_s(headers: Mapping[str, str]) -> float | None:
    """Return the pause that the headers of a reply ask for, in seconds; None: none."""
    # By the server's clock if it sends a date: ours may differ by minutes.
    now = parse_http_date(headers.get("date")) or datetime.now(UTC)
    return retry_after_seconds(headers.get("retry-after", ""), now)


def retry_after_seconds(header: str, now: datetime) -> float | None:
    """Read a ``Retry-After`` header: seconds, or an HTTP date (RFC 9110, 10.2.3).

    Args:
        header: the header's value.
        now: the current time, with a time zone, by the same clock as the header's date.

    Returns:
        Seconds from 0; None if the header is malformed.
    """
    text = header.strip()
    if _DELTA_SECONDS.fullmatch(text):
        return float(text)
    date = parse_http_date(text)
    return None if date is None else max((date - now).total_seconds(), 0.0)


def parse_http_date(text: str | None) -> datetime | None:
    """Read the date of an HTTP header; None if malformed. Without a zone it is UTC."""
    if not text:
        return None
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)


def wait_seconds(attempt: int, rng: Random, retry_after: float | None = None) -> float:
    """Return the pause before the next attempt: the backoff or a longer one of the server."""
    return max(backoff_seconds(attempt, rng), min(retry_after or 0.0, MAX_RETRY_AFTER_S))


def long_pause_s(retry_after: float | None) -> int | None:
    """Return the pause that a server asks for if it is longer than is made; None: it is not."""
    return round(retry_after or 0.0) if (retry_after or 0.0) > MAX_RETRY_AFTER_S else None
