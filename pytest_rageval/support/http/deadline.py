"""One limit for a whole request over a blocking socket: resolving, connecting, sending, reading.

httpx limits each wait separately, so a server that sends one byte per second is never too slow.
Here no wait is longer than the time left for the whole request.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Final

import httpcore
import httpx

from pytest_rageval.support.slots import waiting

_current = threading.local()
_BUFFERED_BYTES: Final = 16 * 1024


@dataclass(frozen=True, slots=True)
class Deadline:
    """Deadline of a request, in seconds of the monotonic clock."""

    at_s: float
    on_read: Callable[[], object] | None = None
    """Called after each piece of the reply."""
    on_write: Callable[[], object] | None = None
    """Called before each piece of the request."""

    @property
    def passed(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self.at_s


@contextmanager
def within(
    seconds: float,
    on_read: Callable[[], object] | None = None,
    on_write: Callable[[], object] | None = None,
) -> Iterator[Deadline]:
    """Limit all work of a client of ``mind_deadlines`` on this thread."""
    deadline = Deadline(time.monotonic() + seconds, on_read, on_write)
    _current.deadline = deadline
    try:
        yield deadline
    finally:
        _current.deadline = None


def mind_deadlines(client: httpx.Client) -> httpx.Client:
    """Make a blocking client obey the deadline of the thread that uses it."""
    inner: Any = client
    for transport in (inner._transport, *inner._mounts.values()):  # mounts are proxies
        if transport is not None:
            # httpx offers no parameter for the backend of the pool.
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
    """Network backend that opens the connections of a pool."""

    def __init__(self) -> None:
        self._plain = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> _Stream:
        left = _left(timeout, httpcore.ConnectTimeout)
        give_up_at = None if left is None else time.monotonic() + left
        failure: Exception = httpcore.ConnectError(f"no address for {host}")
        with waiting():
            addresses = self._resolve(host, port, left)
        for address in addresses:
            if give_up_at is not None:
                left = give_up_at - time.monotonic()
                if left <= 0:
                    raise httpcore.ConnectTimeout("the time is up") from failure
            try:
                with waiting():
                    stream = self._plain.connect_tcp(
                        address, port, left, local_address, socket_options
                    )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
                continue
            return _Stream(stream)
        raise failure

    def _resolve(self, host: str, port: int, timeout: float | None) -> list[str]:
        try:
            return _look_up(host, port, timeout)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(f"no address for {host} in time") from error
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error


def _look_up(host: str, port: int, timeout: float | None) -> list[str]:
    """Look a host up on a separate thread, since the time of a resolver cannot be limited.

    Raises:
        OSError: it has no address, or (``TimeoutError``) was not resolved in time.
    """

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
        raise TimeoutError(f"no address for {host} in time") from None
    if isinstance(answer, OSError):
        raise answer
    return answer


class _Stream(httpcore.NetworkStream):
    """One connection."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        left = _left(timeout, httpcore.ReadTimeout)
        with waiting():
            data = self._stream.read(max_bytes, left)
            deadline: Deadline | None = getattr(_current, "deadline", None)
            if deadline is not None and deadline.on_read is not None:
                deadline.on_read()
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        left = _left(timeout, httpcore.WriteTimeout)
        deadline: Deadline | None = getattr(_current, "deadline", None)
        if deadline is not None and deadline.on_write is not None:
            deadline.on_write()
        # Small buffers fit into that of the socket.
        with waiting() if len(buffer) > _BUFFERED_BYTES else nullcontext():
            self._stream.write(buffer, left)

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> _Stream:
        left = _left(timeout, httpcore.ConnectTimeout)
        with waiting():
            stream = self._stream.start_tls(ssl_context, server_hostname, left)
        return _Stream(stream)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
