"""One request and its reply, within limits of time and size; failures are values."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import urljoin

from pytest_rageval.support.http.address import Address, blot_out, blot_out_cut, without_secrets
from pytest_rageval.support.http.client import Client
from pytest_rageval.support.http.connection import TransportError, faults
from pytest_rageval.support.http.deadline import check, current
from pytest_rageval.support.http.reading import Incoming
from pytest_rageval.support.http.reason import page_text, reply_reason
from pytest_rageval.support.http.retry import is_retryable, long_pause_text, requested_pause_s
from pytest_rageval.support.http.room import Growth, drop_room
from pytest_rageval.support.http.route import basic_auth, find_route
from pytest_rageval.support.text import clean
from pytest_rageval.values.errors import EndpointError, TargetErrorKind

MAX_BODY_BYTES: Final = 16 * 1024 * 1024
"""A hundred times what an answer with its documents takes; some copies are made of a body."""
KEEPALIVE_S: Final = 5.0
"""Time after which an idle connection is closed."""
_HEAD_BYTES: Final = 4096
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_CONNECTION_TEXTS: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (ConnectionRefusedError, "connection refused: does the server run, and on this port?"),
    (socket.gaierror, "the host name cannot be resolved"),
    (ConnectionError, "connection reset: the server closed it before the reply was complete"),
)
"""Text for the first type that an error of the system is of."""
_UNREADABLE: Final = {
    "DecodingError": "the reply cannot be decoded",
    "HeadTooLarge": "the head of the reply is too large",
    "ReplyTooLarge": "the reply is too large",
}
"""Text for a fault that another attempt would meet as well."""


@dataclass(slots=True, kw_only=True)
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
    """Texts blotted out of the reason of a failure, before it is cut."""
    on_piece: Callable[[str, bytes], bool] | None = None
    """Called with the content type and each piece of a body with a 2xx status as it is received;
    true ends the reply there. Not called for a body that was read before, as from a cassette."""


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


def open_client(
    address: Address,
    *,
    headers: Mapping[str, str],
    connect_s: float | None = None,
    read_s: float | None = None,
    keepalive_s: float = KEEPALIVE_S,
) -> Client:
    """Open a client whose requests keep the ``Deadline``.

    Args:
        address: address of its requests, whose paths may differ.
        headers: sent with every request.
        connect_s: limit of each step of connecting; None: only the deadline ends them.
        read_s: limit of one wait for the server; None: only the deadline ends it.
        keepalive_s: time after which an idle connection is closed.

    Raises:
        TransportError: the URL cannot be used.
    """
    route = find_route(
        address.url,
        # A proxy would resolve a loopback address to itself; other addresses may be reachable only
        # through one.
        by_proxy=not address.loopback,
        connect_s=connect_s,
        read_s=read_s,
    )
    return Client(route, headers, basic_auth(address.credentials), keepalive_s)


def send(http: Client, request: Request) -> Reply:
    """Send one request and read its reply.

    Raises:
        EndpointError: it was not sent, such as when a cassette lacks it.
    """
    body, limit, too_large = bytearray(), request.max_error_bytes, False
    growth = Growth()
    most = MAX_BODY_BYTES if request.max_bytes is None else request.max_bytes
    head: Incoming | None = None
    fault: TransportError | None = None
    try:
        head = http.exchange(
            request.method, request.address.url, request.headers or {}, request.content, most
        )
        is_success = 200 <= head.status < 300
        if is_success:
            limit = most
            announced = head.headers.get("content-length", "")
            too_large = announced.isdecimal() and int(announced) > limit
        on_piece = request.on_piece if is_success and head.close is not None else None
        if not too_large:
            with faults("Read"):
                for piece in head.decoded():  # a compressed body may still exceed the limit
                    check()
                    growth.add(len(piece))
                    body += piece
                    if too_large := len(body) > limit:
                        break
                    if on_piece is not None and on_piece(head.content_type, piece):
                        break
    except TransportError as error:
        fault = error
        if (deadline := current()) is not None:
            deadline.received()
    finally:
        if head is not None and head.close is not None:
            head.close()
    if head is None:
        return Reply(fault=fault)
    location = head.headers.get("location") if head.status in _REDIRECTS else None
    kept = bytes(memoryview(body)[:limit])
    body.clear()  # the frames that a fault refers to would keep it
    return Reply(
        status=head.status,
        body=kept,
        too_large=too_large,
        content_type=head.content_type,
        delimited=head.is_delimited,
        fault=fault,
        retry_after_s=requested_pause_s(head.headers),
        location=None if location is None else _joined(request.address.url, location),
    )


def attempt(
    http: Client,
    request: Request,
    timeout_text: Callable[[TransportError], str],
    status_text: Callable[[Reply, Request], str] | None = None,
) -> Attempt:
    """Send one request and return its body or its error; that of an error is not kept.

    Args:
        http: result of ``open_client``.
        request: the request to send.
        timeout_text: describes a passed limit.
        status_text: describes a status that is not 2xx; None: ``failed_text``.
    """
    try:
        reply = send(http, request)
    except EndpointError as error:
        return Attempt(error=error)
    done = _attempt(reply, request, timeout_text, status_text)
    if done.error is not None:
        drop_room()
    return done


def _attempt(
    reply: Reply,
    request: Request,
    timeout_text: Callable[[TransportError], str],
    status_text: Callable[[Reply, Request], str] | None,
) -> Attempt:
    address = request.address
    fault = reply.fault
    if reply.status is not None and not reply.is_success:
        # The status decides, even if the error page is incomplete.
        return Attempt(
            error=failure("http", address, (status_text or failed_text)(reply, request)),
            status=reply.status,
            retry_after_s=reply.retry_after_s,
        )
    if fault is not None:
        return Attempt(error=_broken(request, fault, timeout_text))
    if reply.too_large:
        limit = (request.max_bytes or MAX_BODY_BYTES) >> 20
        return Attempt(error=failure("protocol", address, f"the reply is larger than {limit} MB"))
    return Attempt(
        body=reply.body,
        status=reply.status,
        content_type=reply.content_type,
        delimited=reply.delimited,
    )


def _broken(
    request: Request, fault: TransportError, timeout_text: Callable[[TransportError], str]
) -> EndpointError:
    address = request.address
    if fault.is_timeout:
        return failure("timeout", address, timeout_text(fault), cause=fault)
    if what := _UNREADABLE.get(fault.name):
        return failure("protocol", address, f"{what}: {clean(str(fault), 80)}", cause=fault)
    return failure("connection", address, _connection_text(fault, request.secrets), cause=fault)


def failure(
    kind: TargetErrorKind, address: Address, text: str, *, cause: BaseException | None = None
) -> EndpointError:
    """Return an error that names the address without its secrets."""
    error = EndpointError(kind, f"{address.shown}: {text}")
    error.__cause__ = cause
    return error


def failed_text(reply: Reply, request: Request) -> str:
    """Describe a status that is not 2xx, with the reason or the beginning of the reply."""
    text = f"HTTP {reply.status}"
    if reply.location is not None:
        location = clean(blot_out(without_secrets(reply.location), request.secrets), 200)
        login = ", or headers if it leads to a login" if reply.status in {302, 303} else ""
        text += f" redirects to {location}; redirects are not followed: "
        return f"{text}set the URL to the address itself{login}"
    body, pause = reply.body.decode("utf-8", "replace"), long_pause_text(reply.retry_after_s)
    if reason := reply_reason(body, partial(blot_out, secrets=request.secrets)):
        return f"{text}: {reason}{pause}"
    hide = blot_out_cut if reply.too_large else blot_out
    shown = clean(page_text(body, partial(hide, secrets=request.secrets)), 200)
    return f"{text}{pause}; the reply begins: {shown}" if shown else text + pause


def _joined(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError:  # such as http://[
        return location


def _connection_text(fault: TransportError, secrets: Sequence[str]) -> str:
    if fault.name == "RemoteProtocolError":
        return "connection cut short: the reply is not complete HTTP"
    for kind, text in _CONNECTION_TEXTS:
        if isinstance(fault.__cause__, kind):
            return text
    said = blot_out(str(fault), secrets)  # a proxy may repeat what was sent to it
    return f"connection failed: {clean(said, 160) or fault.name}"
