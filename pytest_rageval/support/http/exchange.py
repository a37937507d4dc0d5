"""One POST and its reply over httpx, tried again while that may help; failures are values.

What asking a target and asking for vectors have in common. Each client keeps its own limits of
time, headers and way of reading a reply.
"""

from __future__ import annotations

import contextlib
import logging
import random
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urljoin

import httpx

from pytest_rageval.support.http.address import Address, without_secrets
from pytest_rageval.support.http.retry import (
    is_retryable,
    parse_http_date,
    retry_after_seconds,
    wait_seconds,
)
from pytest_rageval.support.slots import waiting
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

Sleep = Callable[[float], object]
"""Pauses for seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What one request came to: a body or an error, and how long it took."""

    body: bytes = b""
    error: EndpointError | None = None
    """Not yet free of secrets that a server may echo."""
    status: int | None = None
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


def post(
    http: httpx.Client,
    address: Address,
    content: bytes,
    headers: Mapping[str, str] | None = None,
) -> Attempt:
    """Send one request and read its reply, or of an error page the beginning.

    Raises:
        httpx.TimeoutException: a limit of ``http`` passed; only its owner can name it.
    """
    auth = httpx.BasicAuth(*address.credentials) if address.credentials else None
    try:
        with http.stream(
            "POST", address.url, content=content, headers=headers, auth=auth
        ) as response:
            if response.is_success:
                return Attempt(body=_whole_body(response, address))
            return Attempt(
                error=failure("http", address, _status_text(response, _head(response))),
                status=response.status_code,
                retry_after_s=_retry_after(response.headers),
            )
    except httpx.TimeoutException:
        raise
    except httpx.DecodingError as error:
        reason = f"the reply cannot be decoded: {excerpt(str(error))}"
        return Attempt(error=failure("protocol", address, reason, cause=error))
    except httpx.HTTPError as error:
        return Attempt(error=failure("connection", address, _connection_text(error), cause=error))
    except EndpointError as error:
        return Attempt(error=error)


def post_until_settled(
    once: Callable[[], Attempt], *, retries: int, sleep: Sleep, rng: random.Random
) -> tuple[Attempt, int]:
    """Make attempts until one needs no other, and return the last with their number.

    Args:
        once: makes one attempt.
        retries: attempts after the first.
        sleep: pauses between them, in seconds.
        rng: jitter of the pauses.
    """
    attempts = 1
    attempt = once()
    while attempts <= retries and attempt.retryable:
        with waiting():
            sleep(wait_seconds(attempts, rng, attempt.retry_after_s))
        attempts += 1
        attempt = once()
    return attempt, attempts


def failure(
    kind: TargetErrorKind, address: Address, text: str, *, cause: BaseException | None = None
) -> EndpointError:
    """Return an error that names the address without its secrets."""
    error = EndpointError(kind, f"{address.shown}: {text}")
    error.__cause__ = cause
    return error


def _whole_body(response: httpx.Response, address: Address) -> bytes:
    size = f"the reply is larger than {MAX_BODY_BYTES >> 20} MB"
    announced = response.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > MAX_BODY_BYTES:
        raise failure("protocol", address, size)
    body = bytearray()
    for piece in response.iter_bytes():  # a compressed one may still grow past the limit
        body += piece
        if len(body) > MAX_BODY_BYTES:
            raise failure("protocol", address, size)
    return bytes(body)


def _head(response: httpx.Response) -> bytes:
    head = bytearray()
    # The status is what counts: an error page that breaks off is still that error.
    with contextlib.suppress(httpx.HTTPError):
        for piece in response.iter_bytes():
            head += piece
            if len(head) >= _HEAD_BYTES:
                break
    return bytes(head[:_HEAD_BYTES])


def _status_text(response: httpx.Response, head: bytes) -> str:
    text = f"HTTP {response.status_code}"
    if response.is_redirect:
        location = urljoin(str(response.url), response.headers["location"])
        return (
            f"{text} redirects to {excerpt(without_secrets(location), 200)}; redirects are "
            "not followed: set the URL to the address itself"
        )
    shown = excerpt(head.decode("utf-8", "replace"), 200)
    return f"{text}; the reply begins: {shown}" if shown else text


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
