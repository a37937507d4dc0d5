"""One request over httpx and its reply, within limits of time and size; failures are values."""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final
from urllib.parse import urljoin

import httpx

from pytest_rageval.support.http.address import Address, without_secrets
from pytest_rageval.support.http.deadline import mind_deadlines
from pytest_rageval.support.http.retry import is_retryable, parse_http_date, retry_after_seconds
from pytest_rageval.support.text import excerpt
from pytest_rageval.values.errors import EndpointError, TargetErrorKind

MAX_BODY_BYTES: Final = 64 * 1024 * 1024
_HEAD_BYTES: Final = 4096
_CONNECTION_TEXTS: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (ConnectionRefusedError, "connection refused: does the server run, and on this port?"),
    (socket.gaierror, "the host name cannot be resolved"),
    (ConnectionError, "connection reset: the server closed it before the reply was complete"),
    (httpx.RemoteProtocolError, "connection cut short: the reply is not complete HTTP"),
)
"""The first that occurs among an error and its causes tells what happened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request, and how much of its reply is read."""

    address: Address
    content: bytes
    method: str = "POST"
    headers: Mapping[str, str] | None = None
    """Besides those of the client."""
    max_bytes: int | None = None
    """Of the body of a reply with a 2xx status; None: ``MAX_BODY_BYTES``."""
    max_error_bytes: int = _HEAD_BYTES
    """Of the body of any other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A reply, or as much of one as came."""

    status: int | None = None
    """None: none came."""
    body: bytes = b""
    """Decoded, up to the limit of its size."""
    too_large: bool = False
    """Whether there is more of it than the limit allows."""
    fault: httpx.HTTPError | None = None
    """Broke the exchange off, before the reply or within its body."""
    retry_after_s: float | None = None
    """Pause that the server asked for, in seconds."""
    location: str | None = None
    """Absolute URL that a redirect leads to, with its secrets."""

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx."""
        return self.status is not None and 200 <= self.status < 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The body or the error that one request came to, and how long it took."""

    body: bytes = b""
    error: EndpointError | None = None
    """Not free of secrets that a server may echo."""
    status: int | None = None
    """Of a whole reply; None: none came."""
    retry_after_s: float | None = None
    total_ms: float = 0.0

    @property
    def retryable(self) -> bool:
        """Whether another attempt may fare better."""
        return self.error is not None and is_retryable(self.error.kind, self.status)


def silence_loggers() -> None:
    """Keep httpx from logging whole URLs and headers, and with them keys, into captured logs."""
    for chatty in ("httpx", "httpcore"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


def tls_context(address: Address) -> ssl.SSLContext:
    """Return what all clients of an address share: loading certificates takes up to 0.3 s.

    Plain HTTP to this machine need not pay that; a context that trusts nobody refuses TLS should
    it ever come to that.
    """
    if address.is_plain_local:
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx.create_ssl_context()


def open_client(
    address: Address,
    *,
    headers: Mapping[str, str],
    timeout: httpx.Timeout | None = None,
    tls: ssl.SSLContext | None = None,
) -> httpx.Client:
    """Open a client whose requests keep the deadlines of ``within``.

    Args:
        address: where its requests go.
        headers: sent with every request.
        timeout: of single waits; None: only the deadline ends them.
        tls: as of ``tls_context``; None: a new one.
    """
    client = httpx.Client(
        headers=headers,
        # A session kept from one request to the next would make scores depend on their order.
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        # A redirect turns POST into GET (301 to 303) or carries headers to another host.
        follow_redirects=False,
        # How many requests are in flight is the engine's to decide. Idle connections go before
        # a server would close them (uvicorn: 5 s) and the next request would run into that.
        limits=httpx.Limits(max_connections=None, keepalive_expiry=2.0),
        timeout=timeout,
        # A proxy would look for a loopback address on its own machine; for others it may be
        # the only way out (HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE).
        trust_env=not address.loopback,
        verify=tls or tls_context(address),
    )
    return mind_deadlines(client)


def send(http: httpx.Client, request: Request) -> Reply:
    """Send one request and read its reply.

    Raises:
        EndpointError: it was not sent, as where a cassette holds no reply to it.
    """
    address = request.address
    auth = httpx.BasicAuth(*address.credentials) if address.credentials else None
    body, limit, too_large = bytearray(), request.max_error_bytes, False
    head: httpx.Response | None = None
    fault: httpx.HTTPError | None = None
    try:
        with http.stream(
            request.method,
            address.url,
            content=request.content,
            headers=request.headers,
            auth=auth,
        ) as head:
            if head.is_success:
                limit = MAX_BODY_BYTES if request.max_bytes is None else request.max_bytes
                announced = head.headers.get("content-length", "")
                too_large = announced.isdecimal() and int(announced) > limit
            if not too_large:
                for piece in head.iter_bytes():  # a compressed one may still grow past the limit
                    body += piece
                    if too_large := len(body) > limit:
                        break
    except httpx.HTTPError as error:
        fault = error
    if head is None:
        return Reply(fault=fault)
    return Reply(
        status=head.status_code,
        body=bytes(body[:limit]),
        too_large=too_large,
        fault=fault,
        retry_after_s=_retry_after(head.headers),
        location=_location(head) if head.has_redirect_location else None,
    )


def attempt(
    http: httpx.Client,
    request: Request,
    timeout_text: Callable[[httpx.TimeoutException], str],
    status_text: Callable[[Reply], str] | None = None,
) -> Attempt:
    """Send one request and return its body or its error.

    Args:
        http: as of ``open_client``.
        request: what to send.
        timeout_text: says which limit passed.
        status_text: says what is wrong where the status is not 2xx; None: the status and the
            beginning of the reply.
    """
    address = request.address
    try:
        reply = send(http, request)
    except EndpointError as error:
        return Attempt(error=error)
    fault = reply.fault
    if reply.status is not None and not reply.is_success:
        # The status is what counts: an error page that breaks off is still that error.
        return Attempt(
            error=failure("http", address, (status_text or _status_text)(reply)),
            status=reply.status,
            retry_after_s=reply.retry_after_s,
        )
    if fault is not None:
        return Attempt(error=_broken(address, fault, timeout_text))
    if reply.too_large:
        limit = (request.max_bytes or MAX_BODY_BYTES) >> 20
        text = f"the reply is larger than {limit} MB"
        return Attempt(error=failure("protocol", address, text))
    return Attempt(body=reply.body, status=reply.status)


def _broken(
    address: Address,
    fault: httpx.HTTPError,
    timeout_text: Callable[[httpx.TimeoutException], str],
) -> EndpointError:
    if isinstance(fault, httpx.TimeoutException):
        return failure("timeout", address, timeout_text(fault), cause=fault)
    if isinstance(fault, httpx.DecodingError):
        text = f"the reply cannot be decoded: {excerpt(str(fault))}"
        return failure("protocol", address, text, cause=fault)
    return failure("connection", address, _connection_text(fault), cause=fault)


def failure(
    kind: TargetErrorKind, address: Address, text: str, *, cause: BaseException | None = None
) -> EndpointError:
    """Return an error that names the address without its secrets."""
    error = EndpointError(kind, f"{address.shown}: {text}")
    error.__cause__ = cause
    return error


def _status_text(reply: Reply) -> str:
    text = f"HTTP {reply.status}"
    if reply.location is not None:
        return (
            f"{text} redirects to {excerpt(without_secrets(reply.location), 200)}; redirects are "
            "not followed: set the URL to the address itself"
        )
    shown = excerpt(reply.body.decode("utf-8", "replace"), 200)
    return f"{text}; the reply begins: {shown}" if shown else text


def _location(head: httpx.Response) -> str:
    location: str = head.headers["location"]
    try:
        return urljoin(str(head.url), location)
    except ValueError:  # such as http://[
        return location


def _retry_after(headers: httpx.Headers) -> float | None:
    # By the server's own clock, if it tells the time: ours may be off by minutes.
    now = parse_http_date(headers.get("date")) or datetime.now(UTC)
    return retry_after_seconds(headers.get("retry-after"), now)


def _connection_text(error: httpx.HTTPError) -> str:
    causes = list(_causes(error))
    for kind, text in _CONNECTION_TEXTS:
        if any(isinstance(cause, kind) for cause in causes):
            return text
    return f"connection failed: {excerpt(str(error), 160) or type(error).__name__}"


def _causes(error: BaseException, depth: int = 10) -> Iterator[BaseException]:
    yield error
    if depth and isinstance(error, BaseExceptionGroup):  # one failure for each address tried
        for member in error.exceptions:
            yield from _causes(member, depth - 1)
    inner = error.__cause__ or error.__context__
    if depth and inner is not None:
        yield from _causes(inner, depth - 1)
