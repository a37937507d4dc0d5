"""The reference server on a loopback socket: in a thread of this process, or in the foreground."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType

import uvicorn
from starlette.middleware.trustedhost import TrustedHostMiddleware

from pytest_rageval.server.app import create_app
from pytest_rageval.server.config import ReferenceConfig
from pytest_rageval.server.engine import ReferenceEngine

HOST = "127.0.0.1"
START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 30.0
_GRACE_S = 5


class ServerStartError(RuntimeError):
    """The server could not listen."""


@dataclass(slots=True)
class ServerHandle:
    """A server running in a thread; also a context manager that stops it."""

    url: str
    """`http://127.0.0.1:PORT`, without a slash at its end."""
    engine: ReferenceEngine
    _server: uvicorn.Server = field(repr=False)
    _thread: threading.Thread = field(repr=False)

    def stop(self) -> None:
        """Let requests in flight end, close the socket and join the thread; safe to call twice."""
        self._server.should_exit = True
        self._thread.join(STOP_TIMEOUT_S)

    def __enter__(self) -> ServerHandle:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def start_in_thread(config: ReferenceConfig, *, port: int = 0) -> ServerHandle:
    """Index the vault, then serve it from a thread; returns once requests are accepted.

    Raises:
        VaultError: The vault is not a readable folder.
        UpstreamError: The embedding endpoint failed.
        ServerStartError: The port is taken.
    """
    engine = ReferenceEngine(config)
    listener = _listen(port)
    settled = threading.Event()
    server = _Server(_uvicorn_config(engine), settled.set)

    def run() -> None:
        try:
            server.run([listener])
        finally:
            settled.set()

    thread = threading.Thread(target=run, name="rageval-reference", daemon=True)
    thread.start()
    settled.wait(START_TIMEOUT_S)
    if not server.started:
        server.should_exit = True
        thread.join(STOP_TIMEOUT_S)
        listener.close()
        raise ServerStartError("the reference server did not start; its log says why")
    return ServerHandle(_url(listener), engine, server, thread)


def serve(
    config: ReferenceConfig, port: int = 0, on_ready: Callable[[str], None] | None = None
) -> None:
    """Index the vault and serve it until Ctrl-C or SIGTERM.

    Args:
        config: The server's settings.
        port: Port on 127.0.0.1; 0 takes a free one.
        on_ready: Called with the URL once connections are accepted.

    Raises:
        VaultError: The vault is not a readable folder.
        UpstreamError: The embedding endpoint failed.
        ServerStartError: The port is taken.
        KeyboardInterrupt: Ctrl-C, after a clean shutdown.
    """
    engine = ReferenceEngine(config)
    listener = _listen(port)
    url = _url(listener)
    server = _Server(_uvicorn_config(engine), lambda: on_ready(url) if on_ready else None)
    try:
        server.run([listener])
    finally:
        listener.close()


class _Server(uvicorn.Server):
    """A server that reports when it has started."""

    def __init__(self, config: uvicorn.Config, on_started: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_started()


def _uvicorn_config(engine: ReferenceEngine) -> uvicorn.Config:
    # A web page whose host name resolves to 127.0.0.1 must not read the vault (DNS rebinding).
    app = TrustedHostMiddleware(create_app(engine), allowed_hosts=[HOST, "localhost"])
    return uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=_GRACE_S,
    )


def _listen(port: int) -> socket.socket:
    # asyncio turns Nagle's algorithm off only where the protocol is named; with it on, each answer
    # waits 40 ms for the client's delayed acknowledgement.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            # Elsewhere the option would let two servers share the port.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(128)
    except (OSError, OverflowError) as error:
        listener.close()
        raise ServerStartError(f"cannot listen on {HOST}:{port}: {error}") from error
    return listener


def _url(listener: socket.socket) -> str:
    return f"http://{HOST}:{listener.getsockname()[1]}"
