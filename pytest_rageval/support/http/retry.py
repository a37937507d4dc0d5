"""When to ask a target again, and how long to wait first: pure decisions without a clock."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import Random
from typing import Final

from pytest_rageval.values.errors import TargetErrorKind

MIN_BACKOFF_S: Final = 0.5
MAX_BACKOFF_S: Final = 8.0
MAX_RETRY_AFTER_S: Final = 60.0
"""A server that asks for more is asked again after this long: a run must not hang for an hour."""

_DELTA_SECONDS = re.compile(r"\d{1,12}(\.\d{1,9})?", re.ASCII)


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
