"""HTTP on a loopback socket: the socket, and the server on it."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from h11 import ProtocolError
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

HOST = "127.0.0.1"


class LoopbackServer(uvicorn.Server):
    """A server that says when it has started.

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
            timeout_graceful_shutdown=5,
        )
        super().__init__(config)
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections."""
        await super().startup(sockets)
        if self.started:
            self._on_started()


def _is_ours(record: logging.LogRecord) -> bool:
    """Whether a record is of ours, and not of a client that breaks HTTP or hangs up."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, ClientDisconnect | ProtocolError)


_LOG = logging.getLogger("uvicorn.error.rageval")
_LOG.addFilter(_is_ours)
_LOG.setLevel(logging.ERROR)  # uvicorn warns of each malformed request, of which there is no end


class _Protocol(H11Protocol):
    """A connection whose faults are not in the log of uvicorn, which other servers have, too."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.logger = _LOG


def listen(port: int) -> socket.socket:
    """Open a socket on 127.0.0.1; port 0 takes a free one.

    Raises:
        OSError, OverflowError: The port is taken, or no valid one.
    """
    # asyncio turns Nagle's algorithm off only where the protocol is named; with it on, each answer
    # waits 40 ms for the client's delayed acknowledgement.
    opened = socket.create_server((HOST, port), backlog=128).detach()
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, opened)
