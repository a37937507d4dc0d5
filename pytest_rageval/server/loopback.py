"""HTTP on a loopback socket: the socket, the server on it, and the limits of its clients."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from h11 import ProtocolError
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

HOST = "127.0.0.1"
MOST_CONNECTIONS = 512
"""Others are closed at once: each takes a file, of which a process mostly has a thousand."""
SLOW_S = 10.0
"""Time between two looks at a connection, whose request must not be the same unfinished one."""
_GRACE_S = 5
_BACKLOG = 64


class LoopbackServer(uvicorn.Server):
    """A server that says when it has started, and keeps no slow or excess connection.

    Args:
        app: To serve.
        on_started: Called once connections are accepted.
    """

    def __init__(self, app: ASGIApp, on_started: Callable[[], None]) -> None:
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http=_Protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_GRACE_S,
            # That many are accepted at once, before any can be refused.
            backlog=max(1, min(_BACKLOG, most_connections() // 5)),
        )
        super().__init__(config)
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections."""
        await super().startup(sockets)
        if self.started:
            self._on_started()


def most_connections() -> int:
    """Return how many connections are kept at once: half of the files that may be open at most."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return MOST_CONNECTIONS
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    unlimited = files == resource.RLIM_INFINITY
    return MOST_CONNECTIONS if unlimited else max(2, min(MOST_CONNECTIONS, files // 2))


def _is_ours(record: logging.LogRecord) -> bool:
    """Whether a record is of ours, and not of a client that breaks HTTP or hangs up."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, ClientDisconnect | ProtocolError)


_LOG = logging.getLogger("uvicorn.error.rageval")
_LOG.addFilter(_is_ours)
_LOG.setLevel(logging.ERROR)  # uvicorn warns of each malformed request, of which there is no end


class _Protocol(H11Protocol):
    """A connection that ends where its client sends no more of a request, or reads no reply."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._most = most_connections()
        self.logger = _LOG  # not that of uvicorn, which other servers of this process have, too

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self._most:
            transport.abort()
            return
        self.loop.call_later(SLOW_S, self._look, None)

    def _look(self, seen: object) -> None:
        if self.transport.is_closing():
            return
        state = self.conn.their_state.__name__
        unread = self.transport.get_write_buffer_size()
        is_waiting = unread > 0 or state in {"IDLE", "SEND_BODY"}
        now = (id(self.cycle), state, unread) if is_waiting else None
        if now is not None and now == seen:
            self.transport.abort()
        else:
            self.loop.call_later(SLOW_S, self._look, now)


def listen(port: int) -> socket.socket:
    """Open a socket on 127.0.0.1; port 0 takes a free one.

    Raises:
        OSError, OverflowError: The port is taken, or is none.
    """
    # asyncio turns Nagle's algorithm off only where the protocol is named; with it on, each answer
    # waits 40 ms for the client's delayed acknowledgement.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            # Elsewhere the option would let two servers share the port.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(128)
    except BaseException:
        listener.close()
        raise
    return listener
