"""Requests and tokens per minute, shared by all processes of a machine through one small file.

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
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Final

import msgspec

from pytest_rageval.support.files import Lock
from pytest_rageval.support.threads import computed
from pytest_rageval.values.errors import ConfigError, StorageError

_MINUTE_S: Final = 60.0
_MAX_STATE_CHARS: Final = 4096
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
"""In a shared folder, the name may be a link to another file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Content of the file: times in seconds of the machine's monotonic clock."""

    seen: float = 0.0
    """Time of the last change, which reveals a clock that restarted."""
    request: float = 0.0
    """Time of the next request by the limit of requests."""
    token: float = 0.0
    """The same by the limit of tokens."""


_LINES: Final = msgspec.json.Decoder(Line)


def take_place(
    line: Line, now: float, tokens: float, per_request_s: float, per_token_s: float
) -> tuple[float, Line]:
    """Give a request the first place that both limits allow.

    Args:
        line: the line before the request.
        now: the current time.
        tokens: number of tokens that the request will use.
        per_request_s: seconds between two requests; 0: no limit.
        per_token_s: seconds per token; 0: no limit.

    Returns:
        Time at which the request may leave, not before ``now``, and the line behind it.

    >>> when, line = take_place(Line(), 100.0, 10, per_request_s=2.0, per_token_s=0.5)
    >>> when, line.request, line.token
    (100.0, 102.0, 105.0)
    >>> take_place(line, 100.0, 10, per_request_s=2.0, per_token_s=0.5)[0]
    105.0
    """
    if now < line.seen:
        line = Line()  # the machine was restarted, and its clock with it
    start = max(now, line.request, line.token)
    return start, Line(
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


def _read(file: IO[str]) -> Line:
    """Read the line; a damaged file counts as empty, since only waiting times are lost."""
    file.seek(0)
    with suppress(ValueError, RecursionError):
        return _LINES.decode(file.read(_MAX_STATE_CHARS))
    return Line()


def _write(file: IO[str], line: Line) -> None:
    file.seek(0)
    json.dump(asdict(line), file)
    # After writing: a file that was cut to nothing is written to the disk when ext4 closes it,
    # which takes milliseconds.
    file.truncate()
