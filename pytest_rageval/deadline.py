"""One limit for a whole request over a blocking socket: resolving, connecting, sending, reading.

httpx limits each wait by itself, so a server that drips one byte a second is never too slow. Here
no wait lasts longer than what is left of the whole.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Final

import httpcore
import httpx

_current = threading.local()
_CONNECTS: Final = httpcore.SyncBackend()


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a request must be done, in seconds of the monotonic clock."""

    at_s: float

    @property
    def passed(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self.at_s


@contextmanager
def within(seconds: float) -> Iterator[Deadline]:
    """Limit all that a client made by ``mind_deadlines`` does on this thread."""
    deadline = Deadline(time.monotonic() + seconds)
    _current.deadline = deadline
    try:
        yield deadline
    finally:
        _current.deadline = None


def mind_deadlines(client: httpx.Client) -> httpx.Client:
    """Make a client mind the deadline of the thread that uses it, proxies included."""
    transports = [client._transport, *client._mounts.values()]
    for transport in transports:
        if isinstance(transport, httpx.HTTPTransport):
            # Neither httpx nor its transports pass a backend on to the pool, which takes one.
            transport._pool._network_backend = _Backend()
    return client


def _left(timeout: float | None, error: type[Exception]) -> float | None:
    deadline: Deadline | None = getattr(_current, "deadline", None)
    if deadline is None:
        return timeout
    left = deadline.at_s - time.monotonic()
    if left <= 0:
        raise error("the time is up")
    return left if timeout is None else min(left, timeout)


class _Backend(httpcore.NetworkBackend):
    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        left = _left(timeout, httpcore.ConnectTimeout)
        give_up_at = None if left is None else time.monotonic() + left
        failure: Exception = httpcore.ConnectError(f"no address for {host}")
        for address in _resolve(host, port, left):
            if give_up_at is not None:
                left = give_up_at - time.monotonic()
                if left <= 0:
                    raise httpcore.ConnectTimeout("the time is up") from failure
            try:
                stream = _CONNECTS.connect_tcp(address, port, left, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
                continue
            return _Stream(stream)
        raise failure


def _resolve(host: str, port: int, timeout: float | None) -> list[str]:
    """Look a host up on a thread of its own: a resolver takes as long as it likes."""

    def look_up() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            answers.put(list(dict.fromkeys(str(entry[4][0]) for entry in found)))
        except OSError as error:
            answers.put(error)

    answers: SimpleQueue[list[str] | OSError] = SimpleQueue()
    threading.Thread(target=look_up, name="rageval-resolve", daemon=True).start()
    try:
        answer = answers.get(timeout=timeout)
    except Empty:
        raise httpcore.ConnectTimeout(f"no address for {host} in time") from None
    if isinstance(answer, OSError):
        raise httpcore.ConnectError(str(answer)) from answer
    return answer


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        left = _left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
