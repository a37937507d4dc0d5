"""Documents put into a target over HTTP, and the headers that a project's function returns.

``PUT`` with ``{"scope_prefix", "documents": [{"rel_path", "text"}]}`` adds or replaces, ``DELETE``
with ``{"scope_prefix"}`` takes away what is below, as the embedded reference server understands.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from pytest_rageval.project.case_variables import PLACEHOLDER
from pytest_rageval.project.documents import PREFIX_RULE, LoadedDocument, is_scope_prefix
from pytest_rageval.support.http.address import (
    HEADER_NAME,
    NAMING_HEADER,
    SENSITIVE_HEADER,
    TOKEN,
    environment_secrets,
    header_secrets,
    is_sendable,
    join_url,
    learn_secrets,
    resolve_headers,
    token_values,
)
from pytest_rageval.support.http.exchange import (
    Attempt,
    Reply,
    Request,
    attempt,
    open_client,
    status_error,
)
from pytest_rageval.support.http.pacing import Pacing, Sleep
from pytest_rageval.support.project_code import find_named
from pytest_rageval.support.text import batches, shown
from pytest_rageval.support.threads import called, is_async, session_loop
from pytest_rageval.values.errors import ConfigError, EndpointError, target_error
from pytest_rageval.values.lenient import number
from pytest_rageval.values.settings import TargetSettings

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


BATCH_CHARS: Final = 4_000_000
BATCH_DOCUMENTS: Final = 1000
TIMEOUT_S: Final = 300.0
"""Limit of one attempt from connecting to the last byte of the reply: a target may build its index
before it answers."""


class DocumentsClient:
    """Speaks to the document endpoint of one target.

    Args:
        target: its URL, headers and retries.
        path: of the endpoint, below the URL.
        environ: where ``env:NAME`` header values come from.
        sleep: pauses between attempts, in seconds.

    Raises:
        ConfigError: the URL is wrong, or a variable of a header is missing.
    """

    def __init__(
        self,
        target: TargetSettings,
        path: str,
        *,
        environ: Mapping[str, str],
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._address = join_url(target.url, path)
        # A header about a case cannot be sent with the documents of all cases.
        headers = {n: v for n, v in target.headers.items() if not PLACEHOLDER.search(v)}
        self._headers = resolve_headers(headers, environ)
        secrets = (*header_secrets(headers, environ), *self._address.secrets)
        self._of_errors = (*secrets, *environment_secrets(environ))
        self._auth = HeaderSource(target.auth) if target.auth is not None else None
        self._retries = target.retries
        self._pacing = Pacing(sleep=sleep)
        self.has_put = False
        """Whether the target has taken any document."""

    def put(self, scope_prefix: str, documents: Iterable[LoadedDocument]) -> int:
        """Put documents below a folder, in as many requests as their size needs.

        Returns:
            Number of documents put.

        Raises:
            EndpointError: the target failed; some documents may have been put.
        """
        _refuse(scope_prefix)
        n = 0
        for batch in batches(documents, BATCH_DOCUMENTS, BATCH_CHARS, lambda one: one.text):
            entries = [{"rel_path": one.rel_path, "text": one.text} for one in batch]
            self._send("PUT", {"scope_prefix": scope_prefix, "documents": entries})
            self.has_put = True
            n += len(batch)
        return n

    def delete(self, scope_prefix: str) -> None:
        """Delete the documents below a folder.

        Raises:
            EndpointError: the target failed.
        """
        _refuse(scope_prefix)
        self._send("DELETE", {"scope_prefix": scope_prefix})

    def _send(self, method: str, body: Mapping[str, object]) -> None:
        request = Request(
            address=self._address,
            content=json.dumps(body, allow_nan=False).encode("ascii"),
            method=method,
            headers=self._headers,
            secrets=self._of_errors,
            limit_s=TIMEOUT_S,
        )
        auth = self._auth
        with open_client(self._address, headers={"Content-Type": "application/json"}) as http:

            async def sent(request: Request) -> Attempt:
                return await attempt(http, request, refused=_refused)

            async def once() -> Attempt:
                return await (sent(request) if auth is None else auth.attempt(request, sent))

            settled = self._pacing.until_settled(once, retries=self._retries)
            last, attempts = session_loop().run(settled)
        if last.error is not None:
            last.error.attempts = attempts
            raise last.error


def _refuse(scope_prefix: str) -> None:
    """Refuse a folder whose deletion might remove documents of others."""
    if not is_scope_prefix(scope_prefix):
        raise ConfigError.of(
            "scope prefix", "value", found=shown(scope_prefix), expected=PREFIX_RULE
        )


def _refused(reply: Reply, request: Request) -> EndpointError:
    if reply.status in {404, 405, 501}:
        return target_error(
            "documents_refused",
            address=request.address.shown,
            status=reply.status,
            verb=request.method,
        )
    return status_error(reply, request, request.method)
