"""One request and its reply, within limits of time and size; failures are values."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urljoin

from pytest_rageval.support.http.address import (
    Address,
    basic_credentials,
    blot_out,
    without_secrets,
)
from pytest_rageval.support.http.bodies import TransportError, page_text, reply_reason
from pytest_rageval.support.http.client import Client
from pytest_rageval.support.http.pacing import is_retryable, long_pause_s, requested_pause_s
from pytest_rageval.support.http.route import find_route
from pytest_rageval.support.http.transport import WATCH, Stopwatch, fault_of
from pytest_rageval.support.text import clean, part
from pytest_rageval.values.diagnoses.target import http_code, tls_code
from pytest_rageval.values.errors import EndpointError, target_error

if TYPE_CHECKING:
    import httpx

MAX_BODY_BYTES: Final = 8 * 1024 * 1024
"""A hundred times what an answer with its documents takes; some copies are made of a body."""
KEEPALIVE_S: Final = 5.0
"""Time after which an idle connection is closed."""
_HEAD_BYTES: Final = 4096
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_LOST: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (ConnectionRefusedError, "connection_refused"),
    (ConnectionError, "connection_reset"),
)
"""Code for the first type that an error of the system is of."""
_CODES: Final = {
    "TotalTimeout": "timeout_total",
    "ConnectTimeout": "timeout_connect",
    "DecodingError": "reply_undecodable",
    "HeadTooLarge": "reply_head_too_large",
    "ReplyTooLarge": "reply_too_large",
    "RemoteProtocolError": "connection_cut",
    "ResolveError": "connection_unresolved",
}
"""Codes of faults of the transport by name. Another attempt would meet those of a reply as well."""
Limits = Mapping[str, tuple[float, str]]
"""Seconds and the setting of each limit, by the code of its timeout."""


@dataclass(slots=True, kw_only=True)
class Request:
    """One request, with the limits of its reply."""

    address: Address
    content: Any
    """Body, or what the sender makes it of."""
    method: str = "POST"
    headers: Mapping[str, str] | None = None
    """Headers in addition to those of the client."""
    max_bytes: int | None = None
    """Maximum body of a reply with a 2xx status; None: ``MAX_BODY_BYTES``."""
    max_error_bytes: int = _HEAD_BYTES
    """Maximum body of any other reply."""
    secrets: Sequence[str] = ()
    """Texts blotted out of the reason of a failure, before it is cut."""
    on_piece: Callable[[str, bytes], bool] | None = None
    """Called on the loop with the content type and each piece of a body with a 2xx status as it is
    received; true ends the reply there. Not called for a body that a cassette holds."""
    limit_s: float | None = None
    """Limit of the whole exchange; None: no limit."""
    watch: Stopwatch = field(default_factory=Stopwatch)


@dataclass(slots=True, kw_only=True)
class Reply:
    """A reply, or the part that was received."""

    status: int | None = None
    """HTTP status; None: no reply was received."""
    body: bytes = b""
    """Decoded, up to the limit of its size."""
    too_large: bool = False
    """Whether the body exceeds the limit."""
    content_type: str = ""
    delimited: bool = True
    """Whether HTTP marks the end of the body, so that a cut one is a fault; otherwise it ends with
    the connection."""
    fault: TransportError | None = None
    """Error that ended the exchange, before the reply or within its body."""
    retry_after_s: float | None = None
    """Pause requested by the server, in seconds."""
    location: str | None = None
    """Absolute URL of a redirect, including secrets."""

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx."""
        return self.status is not None and 200 <= self.status < 300


@dataclass(slots=True, kw_only=True)
class Attempt:
    """Body or error of one request, and its duration."""

    body: bytes = b""
    error: EndpointError | None = None
    """May contain secrets that a server echoes."""
    status: int | None = None
    """Status of a complete reply; None: not received."""
    content_type: str = ""
    delimited: bool = True
    """As of a ``Reply``."""
    retry_after_s: float | None = None
    total_ms: float = 0.0
    reader: Any = None
    """Object behind ``on_piece`` of the request, if the caller keeps it."""
    sent_at: float | None = None
    """Time at which it was sent, in seconds since 1970; None: not noted."""

    @property
    def retryable(self) -> bool:
        """Whether another attempt may succeed."""
        return self.error is not None and is_retryable(self.error.kind, self.status)


class Sender(Protocol):
    """Sends requests on the running loop."""

    def asked(
        self, method: str, url: str, content: Any, headers: Mapping[str, str]
    ) -> AbstractAsyncContextManager[httpx.Response]:
        """Send one request, and open its reply.

        Raises:
            Exception: of any type: a library's own, or a ``TransportError``.
        """


def open_client(
    address: Address,
    *,
    headers: Mapping[str, str],
    connect_s: float | None = None,
    read_s: float | None = None,
    keepalive_s: float = KEEPALIVE_S,
) -> Client:
    """Open a client of one server.

    Args:
        address: address of its requests, whose paths may differ.
        headers: sent with every request.
        connect_s: limit of connecting; None: only that of the request.
        read_s: limit of one wait for the server; None: only that of the request.
        keepalive_s: time after which an idle connection is closed.

    Raises:
        TransportError: the URL cannot be used.
    """
    route = find_route(
        address, headers=headers, connect_s=connect_s, read_s=read_s, keepalive_s=keepalive_s
    )
    found = address.credentials
    return Client(route, part("Basic {}", found and basic_credentials(found)))


async def send(http: Sender, request: Request) -> Reply:
    """Send one request and read its reply.

    Raises:
        EndpointError: it was not sent, such as when a cassette lacks it.
    """
    # The first time, this imports libraries, which must not count for the limit. Where rich is
    # installed, httpx would import its command line with it, as long as all else of httpx.
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]

    WATCH.set(request.watch)
    found, watch = Reply(), request.watch
    if request.limit_s is not None:
        watch.ends_at = time.monotonic() + request.limit_s
    try:
        async with asyncio.timeout(request.limit_s):
            await _receive(http, request, found)
    except TimeoutError:
        watch.received()
        name = "TotalTimeout" if watch.is_live else "ConnectTimeout"
        found.fault = TransportError(name, "the time is up")
    except Exception as error:
        watch.received()
        found.fault = fault_of(error)
        if found.fault is None:
            raise
    finally:
        if watch.reply is not None:
            await watch.reply.aclose()
    if found.status is None and watch.reply is not None:
        _take_head(watch.reply, request, found)
    return found


async def _receive(http: Sender, request: Request, found: Reply) -> None:
    """Fill in a reply as it is received."""
    watch = request.watch
    async with http.asked(
        request.method, request.address.url, request.content, request.headers or {}
    ) as reply:
        watch.received()
        _take_head(reply, request, found)
        limit, on_piece = request.max_error_bytes, None
        if found.is_success:
            limit = MAX_BODY_BYTES if request.max_bytes is None else request.max_bytes
            announced = reply.headers.get("content-length", "")
            found.too_large = announced.isdecimal() and int(announced) > limit
            on_piece = request.on_piece if watch.is_live and not watch.is_recorded else None
        body = bytearray()
        try:
            if not found.too_large:
                async for piece in reply.aiter_bytes():
                    watch.check()
                    body += piece
                    found.too_large = len(body) > limit
                    if found.too_large or (on_piece and on_piece(found.content_type, piece)):
                        break
        finally:
            found.body = bytes(memoryview(body)[:limit])


def _take_head(reply: httpx.Response, request: Request, found: Reply) -> None:
    found.status = reply.status_code
    found.content_type = reply.headers.get("content-type", "")
    marked = "content-length" in reply.headers or "transfer-encoding" in reply.headers
    found.delimited = marked or not request.watch.is_live
    found.retry_after_s = requested_pause_s(reply.headers)
    if reply.status_code in _REDIRECTS and "location" in reply.headers:
        found.location = _joined(request.address.url, reply.headers["location"])


async def attempt(
    http: Sender,
    request: Request,
    limits: Limits | None = None,
    refused: Callable[[Reply, Request], EndpointError] | None = None,
) -> Attempt:
    """Send one request and return its body or its error; that of an error is not kept.

    Args:
        http: result of ``open_client``.
        request: the request to send.
        limits: of its phases; of one without, that of the request is named.
        refused: makes the error of a status that is not 2xx; None: ``status_error``.
    """
    try:
        reply = await send(http, request)
    except EndpointError as error:
        return Attempt(error=error)
    return _attempt(reply, request, limits or {}, refused or status_error)


def _attempt(
    reply: Reply,
    request: Request,
    limits: Limits,
    refused: Callable[[Reply, Request], EndpointError],
) -> Attempt:
    if reply.status is not None and not reply.is_success:
        # The status decides, even if the error page is incomplete.
        return Attempt(
            error=refused(reply, request), status=reply.status, retry_after_s=reply.retry_after_s
        )
    shown = request.address.shown
    if reply.fault is not None:
        error = _broken(request, reply.fault, limits)
        error.__cause__ = reply.fault
        return Attempt(error=error)
    if reply.too_large:
        limit = (request.max_bytes or MAX_BODY_BYTES) >> 20
        return Attempt(error=target_error("reply_too_large", address=shown, limit_mb=limit))
    return Attempt(
        body=reply.body,
        status=reply.status,
        content_type=reply.content_type,
        delimited=reply.delimited,
    )


def _broken(request: Request, fault: TransportError, limits: Limits) -> EndpointError:
    address, code = request.address.shown, _CODES.get(fault.name, "")
    if fault.is_timeout:
        code = code or "timeout_read"
        limit, setting = limits.get(code, (request.limit_s or 0.0, ""))
        return target_error(code, address=address, limit_s=f"{limit:g}", setting=setting)
    if code.startswith("connection"):
        return target_error(code, address=address)
    if code:
        return target_error(code, address=address, reason=clean(str(fault), 80) or fault.name)
    for kind, lost in _LOST:
        if isinstance(fault.__cause__, kind):
            return target_error(lost, address=address)
    said = blot_out(str(fault), request.secrets)  # a proxy may repeat what was sent to it
    code = tls_code(said) or "connection_failed"
    return target_error(code, address=address, reason=clean(said, 160) or fault.name)


def status_error(reply: Reply, request: Request, verb: str = "") -> EndpointError:
    """Return the error of a status that is not 2xx, with the reason or the beginning of the reply.

    Args:
        reply: what was received.
        request: what was sent.
        verb: method to be named; empty: none.
    """
    status, shown = reply.status or 0, request.address.shown
    if reply.location is not None:
        location = clean(blot_out(without_secrets(reply.location), request.secrets), 200)
        page = "login" if status in {302, 303} else ""
        return target_error(
            "http_moved", address=shown, verb=verb, status=status, location=location, page=page
        )
    body = reply.body.decode("utf-8", "replace")
    begins, reason = "", reply_reason(body, partial(blot_out, secrets=request.secrets))
    if not reason:
        hide = partial(blot_out, secrets=request.secrets, cut=reply.too_large)
        begins = clean(page_text(body, hide), 200)
    return target_error(
        http_code(status, reason or begins),
        address=shown,
        verb=verb,
        status=status,
        reason=reason,
        begins=begins,
        pause_s=long_pause_s(reply.retry_after_s),
    )


def _joined(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError:  # such as http://[
        return location
