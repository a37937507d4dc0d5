"""Headers that a function of the project returns, such as a token that expires in an hour."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from pytest_rageval.support.http.address import (
    HEADER_NAME,
    NAMING_HEADER,
    SENSITIVE_HEADER,
    TOKEN,
    is_sendable,
    learn_secrets,
    token_values,
)
from pytest_rageval.support.http.exchange import Attempt, Request
from pytest_rageval.support.named_code import find_named
from pytest_rageval.support.threads import called, is_async
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.json_documents import number

NO_HEADERS: Final = f"{__name__}:no_headers"
"""Function for a replay, which sends nothing and still asks again after a recorded 401."""
RUNNING: Final = threading.Event()
"""Set while a function for headers runs: requests that it sends are not recorded in cassettes."""
_WHERE: Final = "[tool.rageval.target] auth"


def no_headers() -> dict[str, str]:
    """Return no headers."""
    return {}


class HeaderSource:
    """Headers of a function, kept until they expire; for use by several tasks.

    Args:
        setting: the function as ``module:name``, sync or async. It returns headers, or headers and
            the number of seconds for which they are valid.
        clock: monotonic seconds.

    Raises:
        ConfigError: the function does not exist; what its module raises comes through.
    """

    def __init__(self, setting: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        found = find_named(setting, _WHERE)
        if not callable(found):
            raise ConfigError.of(_WHERE, "type", found=repr(setting), expected="a function")
        self._function: Callable[[], object] = found
        self._setting = setting
        self._clock = clock
        self._lock = asyncio.Lock()
        self._headers: Mapping[str, str] | None = None
        self._until: float | None = None
        self._secrets: set[str] = set()

    @property
    def secrets(self) -> tuple[str, ...]:
        """Secret values of all headers so far."""
        return tuple(self._secrets)

    async def attempt(
        self, request: Request, once: Callable[[Request], Awaitable[Attempt]]
    ) -> Attempt:
        """Make an attempt with the headers; if it gets status 401, one more with new ones.

        Raises:
            Exception: of the function.
            ConfigError: the function returned no headers that can be sent.
        """
        sent = await self._current()
        done = await once(self._with(request, sent))
        if done.status == 401:
            if self._headers is sent:  # another task may have renewed them meanwhile
                self._headers = None
            done = await once(self._with(request, await self._current()))
        return done

    def _with(self, request: Request, headers: Mapping[str, str]) -> Request:
        given = {name.lower() for name in headers}
        kept = {n: v for n, v in (request.headers or {}).items() if n.lower() not in given}
        secrets = (*request.secrets, *self.secrets)
        return replace(request, headers={**kept, **headers}, secrets=secrets)

    async def _current(self) -> Mapping[str, str]:
        async with self._lock:
            expired = self._until is not None and self._clock() >= self._until
            if self._headers is None or expired:
                self._headers = None
                asked_at = self._clock()
                headers, seconds = self._checked(await self._called())
                self._until = None if seconds is None else asked_at + seconds
                self._headers = headers
            return self._headers

    async def _called(self) -> object:
        RUNNING.set()
        try:
            function = self._function
            found = function() if is_async(function) else await called(function)
            return await found if inspect.isawaitable(found) else found
        finally:
            RUNNING.clear()

    def _checked(self, found: object) -> tuple[Mapping[str, str], float | None]:
        seconds: Any = None
        headers = found
        if isinstance(found, tuple) and len(found) == 2:
            headers, seconds = found
            if number(seconds) is None:
                came = f"{type(seconds).__name__} for the seconds after its headers"
                raise self._wrong(f"{came}, expected a number")
        if not isinstance(headers, Mapping):
            expected = "expected a mapping of headers, or (headers, seconds)"
            raise self._wrong(f"{type(headers).__name__}, {expected}")
        for name, value in headers.items():
            text = isinstance(value, str) and is_sendable(value)
            if not isinstance(name, str) or not HEADER_NAME.fullmatch(name) or not text:
                raise self._wrong(f"{name!r}, which cannot be sent")
        self._note({str(name): str(value) for name, value in headers.items()})
        return dict(headers), seconds

    def _wrong(self, what: str) -> ConfigError:
        return ConfigError.of(f"{_WHERE}: {self._setting}", "auth_returned", reason=what)

    def _note(self, headers: Mapping[str, str]) -> None:
        found = {
            text
            for name, value in headers.items()
            for text in token_values([value])
            if SENSITIVE_HEADER.search(name)
            or (TOKEN.fullmatch(text) and not NAMING_HEADER.search(name))
        }
        self._secrets |= found
        learn_secrets(found)
