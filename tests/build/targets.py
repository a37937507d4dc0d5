"""Targets that misbehave, over real sockets on the loopback interface."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import aiohttp
import pytest

Reply: TypeAlias = "bytes | Callable[[socket.socket], None]"


@dataclass
class Received:
    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class FakeTarget:
    """Answers the n-th request with the n-th reply, and the last one for ever after."""

    replies: list[Reply]
    received: list[Received] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(5)
            self.received.append(read_request(connection))
            reply = self.replies[min(len(self.received), len(self.replies)) - 1]
            if callable(reply):
                reply(connection)
            else:
                connection.sendall(reply)


@contextlib.contextmanager
def accepting(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """Hand every connection to a port to a thread of its own."""
    over = threading.Event()

    def serve() -> None:
        while True:
            connection, _ = listener.accept()
            if over.is_set():
                connection.close()
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            over.set()
            # Closing a listener does not wake accept(); one more connection does. A thread left
            # there accepts connections of another server once that has the number of its socket
            # and the process was paused. `create_connection` would ask a replaced resolver.
            with socket.socket() as last:
                last.connect(listener.getsockname())
            thread.join(60)
            assert not thread.is_alive()


@contextlib.contextmanager
def fake_target(*replies: Reply) -> Iterator[FakeTarget]:
    target = FakeTarget(list(replies))
    with accepting(target.answer) as target.port:
        yield target


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def read_request(connection: socket.socket) -> Received:
    with connection.makefile("rb") as stream:
        line = stream.readline().decode("latin-1").strip()
        headers: dict[str, str] = {}
        while (raw := stream.readline().decode("latin-1").strip()) != "":
            name, _, value = raw.partition(":")
            headers[name.lower()] = value.strip()
        body = stream.read(int(headers.get("content-length", "0")))
    return Received(line, headers, body)


def http_reply(
    body: bytes = b"", status: str = "200 OK", *, length: int | None = None, **headers: str
) -> bytes:
    """A whole HTTP reply; ``length`` may lie, ``retry_after="2"`` becomes ``Retry-After: 2``."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}"]
    lines += [f"{name.replace('_', '-').title()}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode() + body


def json_reply(payload: object, status: str = "200 OK", **headers: str) -> bytes:
    return http_reply(json.dumps(payload).encode(), status, length=None, **headers)


def hang_up(connection: socket.socket) -> None:
    """Close without a word."""


def reset(connection: socket.socket) -> None:
    """Close with RST, as a crashed server does."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def drip(data: bytes, every_s: float, until: threading.Event) -> Callable[[socket.socket], None]:
    """Send a byte at a time until all is sent or the test is over."""

    def reply(connection: socket.socket) -> None:
        for byte in data:
            connection.sendall(bytes([byte]))
            if until.wait(every_s):
                return

    return reply


class Pauses(list[float]):
    """Stands in for sleep: notes the seconds and returns at once."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def kept_seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Collect how long each client that is opened from now on keeps idle connections."""
    kept: list[float] = []
    connector = aiohttp.TCPConnector

    def noted(*, keepalive_timeout: float, **options: Any) -> aiohttp.TCPConnector:
        kept.append(keepalive_timeout)
        return connector(keepalive_timeout=keepalive_timeout, **options)

    monkeypatch.setattr(aiohttp, "TCPConnector", noted)
    return kept


def silence(until: threading.Event) -> Callable[[socket.socket], None]:
    """Send nothing and keep the connection open until the test is over."""

    def reply(connection: socket.socket) -> None:
        until.wait(5)

    return reply
