"""Bodies of streams, and servers on the loopback interface that send them slowly."""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field


def sse(data: object, event: str = "") -> bytes:
    """One server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data)
    named = f"event: {event}\n" if event else ""
    return f"{named}data: {text}\n\n".encode()


def line(data: object) -> bytes:
    """One line of JSON."""
    return json.dumps(data).encode() + b"\n"


@dataclass
class SlowStream:
    """Reply of a fake target: pieces, each after its pause, noting when they were sent.

    ``cut`` closes the connection without the end of the chunked body.
    """

    pieces: Sequence[tuple[float, bytes]]
    content_type: str = "text/event-stream"
    chunked: bool = True
    cut: bool = False
    sent: list[float] = field(default_factory=list)
    """Time of each piece, in seconds since 1970."""

    def __call__(self, connection: socket.socket) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {self.content_type}\r\nConnection: close\r\n"
        head += "Transfer-Encoding: chunked\r\n\r\n" if self.chunked else "\r\n"
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(head.encode())
        for pause, piece in self.pieces:
            # Not a sleep: it would outlast the test, and be among those that a later one counts.
            if select.select([connection], [], [], pause)[0]:
                return  # whoever asked has left
            framed = b"%x\r\n%s\r\n" % (len(piece), piece) if self.chunked else piece
            self.sent.append(time.time())
            connection.sendall(framed)
        if self.chunked and not self.cut:
            connection.sendall(b"0\r\n\r\n")


def whole(body: bytes, content_type: str = "text/event-stream") -> bytes:
    """A reply of known length."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body
