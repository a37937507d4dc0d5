"""One request over httpx and its reply, within limits of time and size; failures are values."""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final
from urllib.parse import urljoin

import httpx

from pytest_rageval.support.http.address import Address, blot_out, without_secrets
from pytest_rageval.support.http.deadline import mind_deadlines
from pytest_rageval.support.http.reason import reply_reason
from pytest_rageval.support.http.retry import is_retryable, parse_http_date, retry_after_seconds
from pytest_rageval.support.text import clean
from pytest_rageval.values.errors import EndpointError, TargetErrorKind

MAX_BODY_BYTES: Final = 64 * 1024 * 1024
KEEPALIVE_S: Final = 5.0
"""Time after which an idle connection is closed; the default of httpx."""
_HEAD_BYTES: Final = 4096
_CONNECTION_TEXTS: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (ConnectionRefusedError, "connection refused: does the server run, and on this port?"),
    (socket.gaierror, "the host name cannot be resolved"),
    (ConnectionError, "connection reset: the server closed it before the reply was complete"),
    (httpx.RemoteProtocolError, "connection cut short: the reply is not complete HTTP"),
)
"""Text for the first type that occurs among an error and its causes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request, with the limits of its reply."""

    address: Address
    content: bytes
    method: str = "POST"
    headers: Mapping[str, str] | None = None
    """Headers in addition to those of the client."""
    max_bytes: int | None = None
    """Maximum body of a reply with a 2xx status; None: ``MAX_BODY_BYTES``."""
    max_error_bytes: int = _HEAD_BYTES
    """Maximum body of any other reply."""
    secrets: Sequence[str] = ()
    """Texts blotted out of the reason of a failed reply, before it is cut."""
    on_piece: Callable[[str, bytes], bool] | None = None
    """Called with the content type and each piece of a body with a 2xx status as it is received;
    true ends the reply there. Not called for a body that was read before, as from a cassette."""


@dataclass(frozen=True, slots=True, kw_only=True)
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
    fault: httpx.HTTPError | None = None
    """Error that ended the exchange, before the reply or within its body."""
    retry_after_s: float | None = None
    """Pause requested by the server, in seconds."""
    location: str | None = None
    """Absolute URL of a redirect, including secrets."""

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx."""
        return self.status is not None and 200 <= self.status < 300


@dataclass(frozen=True, slots=True, kw_only=True)
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


def silence_loggers() -> None:
    """Keep httpx from logging URLs and headers, which contain keys."""
    for chatty in ("httpx", "httpcore"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


def tls_context(address: Address) -> ssl.SSLContext:
    """Return the TLS context of all clients of an address: creating it takes up to 0.3 s.

    Plain HTTP to this machine gets a context without certificates, which would refuse TLS.
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
    keepalive_s: float = KEEPALIVE_S,
) -> httpx.Client:
    """Open a client whose requests keep the deadlines of ``within``.

    Args:
        address: address of its requests.
        headers: sent with every request.
        timeout: limit of single waits; None: only the deadline ends them.
        tls: result of ``tls_context``; None: a new one.
        keepalive_s: time after which an idle connection is closed.
    """
    client = httpx.Client(
        headers=headers,
        # Cookies kept between requests would make scores depend on their order.
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        # A redirect turns POST into GET (301 to 303) or carries headers to another host.
        follow_redirects=False,
        # The engine limits the requests in flight.
        limits=httpx.Limits(max_connections=None, keepalive_expiry=keepalive_s),
        timeout=timeout,
        # A proxy would resolve a loopback address to itself; other addresses may be reachable only
        # through one (HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE).
        trust_env=not address.loopback,
        verify=tls or tls_context(address),
    )
    return mind_deadlines(client)


def send(http: httpx.Client, request: Request) -> Reply:
    """Send one request and read its reply.

    Raises:
        EndpointError: it was not sent, such as when a cassette lacks it.
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
            on_piece = request.on_piece if head.is_success and _is_live(head) else None
            if not too_large:
                for piece in head.iter_bytes():  # a compressed body may still exceed the limit
                    body += piece
                    if too_large := len(body) > limit:
                        break
                    if on_piece is not None and on_piece(_content_type(head), piece):
                        break
    except httpx.HTTPError as error:
        fault = error
    if head is None:
        return Reply(fault=fault)
    return Reply(
        status=head.status_code,
        body=bytes(body[:limit]),
        too_large=too_large,
        content_type=_content_type(head),
        delimited=not _is_live(head) or _is_delimited(head),
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
        http: result of ``open_client``.
        request: the request to send.
        timeout_text: describes a passed limit.
        status_text: describes a status that is not 2xx; None: the status, with the reason or
            the beginning of the reply.
    """
    address = request.address
    try:
        reply = send(http, request)
    except EndpointError as error:
        return Attempt(error=error)
    fault = reply.fault
    if reply.status is not None and not reply.is_success:
        # The status decides, even if the error page is incomplete.
        return Attempt(
            error=failure(
                "http", address, status_text(reply) if status_text else _status_text(reply, request)
            ),
            status=reply.status,
            retry_after_s=reply.retry_after_s,
        )
    if fault is not None:
        return Attempt(error=_broken(address, fault, timeout_text))
    if reply.too_large:
        limit = (request.max_bytes or MAX_BODY_BYTES) >> 20
        text = f"the reply is larger than {limit} MB"
        return Attempt(error=failure("protocol", address, text))
    return Attempt(
        body=reply.body,
        status=reply.status,
        content_type=reply.content_type,
        delimited=reply.delimited,
    )


def _content_type(head: httpx.Response) -> str:
    found: str = head.headers.get("content-type", "")
    return found


def _is_live(head: httpx.Response) -> bool:
    """Whether the body comes from the network; vcrpy hands on bodies that it has read."""
    return not isinstance(getattr(head.stream, "_stream", None), httpx.ByteStream)


def _is_delimited(head: httpx.Response) -> bool:
    marked = "content-length" in head.headers or "transfer-encoding" in head.headers
    return marked or head.http_version == "HTTP/2"


def _broken(
    address: Address,
    fault: httpx.HTTPError,
    timeout_text: Callable[[httpx.TimeoutException], str],
) -> EndpointError:
    if isinstance(fault, httpx.TimeoutException):
        return failure("timeout", address, timeout_text(fault), cause=fault)
    if isinstance(fault, httpx.DecodingError):
        text = f"the reply cannot be decoded: {clean(str(fault), 80)}"
        return failure("protocol", address, text, cause=fault)
    return failure("connection", address, _connection_text(fault), cause=fault)


def failure(
    kind: TargetErrorKind, address: Address, text: str, *, cause: BaseException | None = None
) -> EndpointError:
    """Return an error that names the address without its secrets."""
    error = EndpointError(kind, f"{address.shown}: {text}")
    error.__cause__ = cause
    return error


def _status_text(reply: Reply, request: Request) -> str:
    text = f"HTTP {reply.status}"
    if reply.location is not None:
        location = blot_out(without_secrets(reply.location), request.secrets)
        return (
            f"{text} redirects to {clean(location, 200)}; redirects are "
            "not followed: set the URL to the address itself"
        )
    body = reply.body.decode("utf-8", "replace")
    if reason := reply_reason(body, partial(blot_out, secrets=request.secrets)):
        return f"{text}: {reason}"
    shown = clean(blot_out(body, request.secrets), 200)
    return f"{text}; the reply begins: {shown}" if shown else text


def _location(head: httpx.Response) -> str:
    location: str = head.headers["location"]
    try:
        return urljoin(str(head.url), location)
    except ValueError:  # such as http://[
        return location


def _retry_after(headers: httpx.Headers) -> float | None:
    # By the server's clock if it sends a date: ours may differ by minutes.
    now = parse_http_date(headers.get("date")) or datetime.now(UTC)
    return retry_after_seconds(headers.get("retry-after"), now)


def _connection_text(error: httpx.HTTPError) -> str:
    causes = list(_causes(error))
    for kind, text in _CONNECTION_TEXTS:
        if any(isinstance(cause, kind) for cause in causes):
            return text
    return f"connection failed: {clean(str(error), 160) or type(error).__name__}"


def _causes(error: BaseException, depth: int = 10) -> Iterator[BaseException]:
    yield error
    if depth and isinstance(error, BaseExceptionGroup):  # one failure for each address tried
        for member in error.exceptions:
            yield from _causes(member, depth - 1)
    inner = error.__cause__ or error.__context__
    if depth and inner is not None:
        yield from _causes(inner, depth - 1)
