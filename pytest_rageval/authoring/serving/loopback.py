"""A server on a loopback socket, in the foreground, that only an admitted browser can use."""

from __future__ import annotations

import json
from collections.abc import Callable
from http import HTTPStatus
from typing import TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp

from pytest_rageval.authoring.serving.guard import Entrance, Guard
from pytest_rageval.report.html.markup import visible
from pytest_rageval.server.loopback import HOST, LoopbackServer, listen
from pytest_rageval.values.errors import ConfigError

_Body = TypeVar("_Body")


class GuardedServer:
    """Serves an app on 127.0.0.1; the socket is open from the start.

    Args:
        app: to serve, behind the guard.
        name: of the command, for its cookie.
        port: to listen on; 0 takes a free one.
        announce: is called once with each address that admits a browser; a new one is made when a
            used one is presented.

    Raises:
        ConfigError: the port is taken.
    """

    def __init__(
        self, app: ASGIApp, *, name: str, port: int, announce: Callable[[str], None]
    ) -> None:
        try:
            self._listener = listen(port)
        except OSError as error:
            where = f"{HOST}:{port}"
            raise ConfigError.of(f"--port: {where}", "unusable", reason=error.strerror) from error
        self.port: int = self._listener.getsockname()[1]
        self._entrance = Entrance(
            cookie_name=f"rageval-{name}-{self.port}", on_used=lambda _: announce(self.address)
        )
        guarded = Guard(app, self._entrance)
        self._server = LoopbackServer(guarded, lambda: announce(self.address))

    @property
    def address(self) -> str:
        """The address that admits one browser."""
        return f"http://{HOST}:{self.port}/{self._entrance.folder}/?token={self._entrance.token}"

    @property
    def stopping(self) -> bool:
        """Whether the server is about to end."""
        return self._server.should_exit

    def run(self) -> None:
        """Serve until ``stop`` is called.

        Raises:
            KeyboardInterrupt: Ctrl-C, after the requests in flight.
        """
        try:
            self._server.run([self._listener])
        finally:
            self._listener.close()

    def stop(self) -> None:
        """Finish requests in flight, then stop."""
        self._server.should_exit = True


async def json_body(request: Request, most: int, kind: type[_Body]) -> _Body | Response:
    """Return the body of a request that says it is JSON, of ``most`` bytes, or the refusal."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "expected application/json")
    found = bytearray()
    try:
        async for part in request.stream():
            found += part
            if len(found) > most:
                return refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the text is too long")
        return msgspec.convert(json.loads(found), kind)
    except ClientDisconnect:
        return refused(HTTPStatus.BAD_REQUEST, "the request was cut short")
    except (ValueError, RecursionError) as error:
        return refused(HTTPStatus.BAD_REQUEST, f"not a request of this page: {error}")


def refused(status: HTTPStatus, sentence: str) -> Response:
    """Return the answer to a request that cannot be carried out."""
    return PlainTextResponse(f"{visible(sentence).rstrip()}\n", status_code=status)
