"""Serves the page on a loopback socket in the foreground until the session ends."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, TypeVar

import uvicorn

from pytest_rageval.authoring.labelling.session import LabelSession
from pytest_rageval.authoring.labelling.web.app import create_app
from pytest_rageval.authoring.labelling.web.guard import Entrance, Guard
from pytest_rageval.authoring.labelling.web.page import WebFace
from pytest_rageval.support.threads import Worker
from pytest_rageval.values.errors import ConfigError

HOST: Final = "127.0.0.1"
_GRACE_S: Final = 5

_Result = TypeVar("_Result")


class LabelServer:
    """Serves the page of one session on 127.0.0.1; the socket is open from the start.

    Args:
        session: to drive.
        port: to listen on; 0 takes a free one.
        announce: is called once with each address that admits a browser; a new one is made when a
            used one is presented.

    Raises:
        ConfigError: the port is taken.
    """

    def __init__(
        self, session: LabelSession, *, port: int = 0, announce: Callable[[str], None]
    ) -> None:
        self._session = session
        self._worker = Worker()
        self._failure: BaseException | None = None
        self._listener = _listen(port)
        self.port: int = self._listener.getsockname()[1]
        self._announce = announce
        self._entrance = Entrance(
            cookie_name=f"rageval-label-{self.port}", on_used=lambda _: announce(self.address)
        )
        app = create_app(WebFace(session), self)
        self._server = _Server(_config(Guard(app, self._entrance)), lambda: announce(self.address))

    @property
    def address(self) -> str:
        """The address that admits one browser."""
        return f"http://{HOST}:{self.port}/?token={self._entrance.token}"

    def run(self) -> None:
        """Serve until the session is closed.

        Raises:
            KeyboardInterrupt: Ctrl-C, after a running save is complete.
            Exception: the error that ended the session.
        """
        try:
            self._server.run([self._listener])
        finally:
            self._listener.close()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Finish requests in flight, then stop."""
        self._server.should_exit = True

    # --- interface for the app ----------------------------------------------------------------

    @property
    def stopping(self) -> bool:
        """Whether the command is about to end."""
        return self._server.should_exit

    def submit(self, job: Callable[[], _Result]) -> Future[_Result]:
        """Do a job after those before it, and end once the session is closed."""
        future = self._worker.submit(job)
        future.add_done_callback(lambda _: self._end_if_closed())
        return future

    def fail(self, error: BaseException) -> None:
        """End with an error."""
        self._failure = error.__cause__ or error
        self.stop()

    def _end_if_closed(self) -> None:
        if self._session.closed:
            self.stop()


class _Server(uvicorn.Server):
    """A server that says when it has started."""

    def __init__(self, config: uvicorn.Config, on_started: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_started()


def _config(app: Guard) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
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
    except OSError as error:
        listener.close()
        raise ConfigError(f"--port: cannot listen on {HOST}:{port}: {error.strerror}") from error
    return listener
