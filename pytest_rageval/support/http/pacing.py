"""Repeated attempts, and requests and tokens per minute, shared by all processes of a machine.

Does not import an HTTP library, so that a client can be set up before its first request loads one.

Requests leave evenly spaced, as from a leaky bucket without bursts (the generic cell rate
algorithm of ITU-T I.371 with tolerance 0): the file holds the time of the next one. A caller takes
the next free place under a lock, releases the lock, and then sleeps exactly once. A killed process
loses only its place: the kernel frees its lock.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import os
import re
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path
from random import Random
from typing import IO, Final, Protocol, TypeVar

import msgspec

from pytest_rageval.support.files import Lock
from pytest_rageval.support.in_flight import Slots
from pytest_rageval.support.threads import computed
from pytest_rageval.values.diagnoses.table import TargetErrorKind
from pytest_rageval.values.errors import ConfigError, StorageError

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


_MINUTE_S: Final = 60.0
_MAX_STATE_CHARS: Final = 4096
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
"""In a shared folder, the name may be a link to another file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceTimes:
    """Content of the file: times in seconds of the machine's monotonic clock."""

    seen: float = 0.0
    """Time of the last change, which reveals a clock that restarted."""
    request: float = 0.0
    """Time of the next request by the limit of requests."""
    token: float = 0.0
    """The same by the limit of tokens."""


_LINES: Final = msgspec.json.Decoder(PaceTimes)


def take_place(
    line: PaceTimes, now: float, tokens: float, per_request_s: float, per_token_s: float
) -> tuple[float, PaceTimes]:
    """Give a request the first place that both limits allow.

    Args:
        line: the line before the request.
        now: the current time.
        tokens: number of tokens that the request will use.
        per_request_s: seconds between two requests; 0: no limit.
        per_token_s: seconds per token; 0: no limit.

    Returns:
        Time at which the request may leave, not before ``now``, and the line behind it.

    >>> when, line = take_place(PaceTimes(), 100.0, 10, per_request_s=2.0, per_token_s=0.5)
    >>> when, line.request, line.token
    (100.0, 102.0, 105.0)
    >>> take_place(line, 100.0, 10, per_request_s=2.0, per_token_s=0.5)[0]
    105.0
    """
    if now < line.seen:
        line = PaceTimes()  # the machine was restarted, and its clock with it
    start = max(now, line.request, line.token)
    return start, PaceTimes(
        seen=now,
        request=start + per_request_s,
        token=start + tokens * per_token_s,
    )


class RateLimiter:
    """Limits shared by all processes with the same file.

    Safe to share between threads.

    Args:
        path: the file, one per endpoint and model; its folder is created.
        requests_per_minute: above 0; None: no limit.
        tokens_per_minute: above 0; None: no limit.
        clock: seconds of a monotonic clock that all processes of the machine share.
        sleep: pauses for seconds; what it returns is awaited if it can be.

    Raises:
        ConfigError: a limit is not a finite number above 0.
    """

    def __init__(
        self,
        path: Path,
        *,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = asyncio.sleep,
    ) -> None:
        self._path = path
        self._per_request_s = _spacing("requests_per_minute", requests_per_minute)
        self._per_token_s = _spacing("tokens_per_minute", tokens_per_minute)
        self._clock = clock
        self._sleep = sleep
        # Threads wait for one another without polling the file's lock.
        self._threads = threading.Lock()

    async def wait(self, tokens: float) -> float:
        """Wait for a place.

        Args:
            tokens: number of tokens that the request is expected to use, including the reply.

        Returns:
            Seconds waited.

        Raises:
            StorageError: the file cannot be opened or written.
        """
        if not self._per_request_s and not self._per_token_s:
            return 0.0
        now, start = await computed(partial(self._take_place, tokens))
        if start > now:
            pause = self._sleep(start - now)
            if inspect.isawaitable(pause):
                await pause
        return start - now

    def _take_place(self, tokens: float) -> tuple[float, float]:
        with self._locked() as file:
            now = self._clock()
            start, line = take_place(
                _read(file), now, tokens, self._per_request_s, self._per_token_s
            )
            _write(file, line)
        return now, start

    def settle(self, expected: float, used: float) -> None:
        """Correct the tokens of a request by those used, so that the next ones wait accordingly.

        Raises:
            StorageError: the file cannot be opened or written.
        """
        if not self._per_token_s or used == expected:
            return
        with self._locked() as file:
            line = _read(file)
            shift = (used - expected) * self._per_token_s
            # Unused time in the past is not saved up for a burst.
            behind = max(line.token + shift, self._clock())
            settled = behind if shift < 0 else line.token + shift
            _write(file, replace(line, token=settled))

    @contextmanager
    def _locked(self) -> Iterator[IO[str]]:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._threads, Lock(self._path, wait=True, keep=True) as lock:
                if not lock.held:  # two processes would take the same place
                    raise StorageError.of(self._path, "unusable", reason="it cannot be locked")
                # Not "w", which would erase the state, and not "a": writing starts at 0.
                handle = os.open(self._path, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o600)
                with open(handle, "r+", encoding="utf-8", errors="replace") as file:
                    yield file
        except OSError as error:
            raise StorageError.of(self._path, "unusable", reason=error.strerror or error) from error


def _spacing(name: str, per_minute: float | None) -> float:
    if per_minute is None:
        return 0.0
    if not math.isfinite(per_minute) or per_minute <= 0:
        raise ConfigError.of(
            f"[tool.rageval.judge] {name}",
            "value",
            found=repr(per_minute),
            expected="a number above 0",
        )
    return _MINUTE_S / per_minute


def _read(file: IO[str]) -> PaceTimes:
    """Read the line; a damaged file counts as empty, since only waiting times are lost."""
    file.seek(0)
    with suppress(ValueError, RecursionError):
        return _LINES.decode(file.read(_MAX_STATE_CHARS))
    return PaceTimes()


def _write(file: IO[str], line: PaceTimes) -> None:
    file.seek(0)
    json.dump(asdict(line), file)
    # After writing: a file that was cut to nothing is written to the disk when ext4 closes it,
    # which takes milliseconds.
    file.truncate()
