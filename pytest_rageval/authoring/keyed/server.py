"""Serves the page on a loopback socket in the foreground until the session ends.

There are two requests: the page itself, and one per key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from http import HTTPStatus
from typing import Any, Final, TypeVar

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from pytest_rageval.authoring.keyed.page import Key, KeyPage, page_policy
from pytest_rageval.authoring.keyed.session import MAX_INPUT
from pytest_rageval.authoring.serving.loopback import GuardedServer, json_body, refused
from pytest_rageval.support.threads import computed

_MAX_BODY: Final = 16 * MAX_INPUT
"""Maximum bytes of a request: a character takes up to twelve in JSON."""
_POLL_S: Final = 0.1
_GRACE_S: Final = 2.0
"""Time for the current key to finish when the command ends: enough for a save."""
_ENDED: Final = "The command in the terminal has ended.\n"
_FAILED: Final = "An error ended the session; the terminal says which.\n"

_Result = TypeVar("_Result")


class _EndedError(Exception):
    """The command ended before an answer was available."""


def _create_app(face: KeyPage[Any], running: KeyServer) -> Starlette:
    """Build the app; only jobs of the server touch the face of the session."""

    async def page(request: Request) -> Response:
        html = await _result(running, face.page)
        return HTMLResponse(html, headers={"Content-Security-Policy": page_policy()})

    async def press(request: Request) -> Response:
        key = await json_body(request, _MAX_BODY, Key)
        if isinstance(key, Response):
            return key
        shown = await _result(running, partial(face.press, key))
        status = HTTPStatus.CONFLICT if shown.stale else HTTPStatus.OK
        return JSONResponse(asdict(shown), status_code=status)

    async def ended(request: Request, error: Exception) -> Response:
        return refused(HTTPStatus.SERVICE_UNAVAILABLE, _ENDED)

    async def failed(request: Request, error: Exception) -> Response:
        running.fail(error)
        return refused(HTTPStatus.INTERNAL_SERVER_ERROR, _FAILED)

    routes = [Route("/", page, methods=["GET"]), Route("/key", press, methods=["POST"])]
    return Starlette(routes=routes, exception_handlers={_EndedError: ended, _JobError: failed})


class _JobError(Exception):
    """A job raised an error, which is the cause."""


async def _result(running: KeyServer, job: Callable[[], _Result]) -> _Result:
    """Wait for a job, but not for a slow target when the command ends.

    Raises:
        _EndedError: the command ended first.
        _JobError: the job raised an error, which is the cause.
    """
    future = asyncio.create_task(running.do(job))
    left_s = _GRACE_S
    while not future.done():
        await asyncio.wait({future}, timeout=_POLL_S)
        left_s -= _POLL_S if running.stopping else 0
        if left_s <= 0 and not future.done():
            future.cancel()
            raise _EndedError
    error = future.exception()
    if error is not None:
        raise _JobError from error
    return future.result()


class KeyServer(GuardedServer):
    """Serves the page of one session; port and announcement are as for ``GuardedServer``.

    Raises:
        ConfigError: the port is taken.
    """

    def __init__(
        self, face: KeyPage[Any], *, port: int = 0, announce: Callable[[str], None]
    ) -> None:
        self._session = face.session
        self._failure: BaseException | None = None
        app = _create_app(face, self)
        super().__init__(app, name=face.command, port=port, announce=announce)

    def run(self) -> None:
        """Serve until the session is closed.

        Raises:
            KeyboardInterrupt: Ctrl-C, after a running save is complete.
            Exception: the error that ended the session.
        """
        super().run()
        if self._failure is not None:
            raise self._failure

    # --- interface for the app ----------------------------------------------------------------

    async def do(self, job: Callable[[], _Result]) -> _Result:
        """Do a job after those before it, and end once the session is closed."""
        try:
            return await computed(job)
        finally:
            if self._session.closed:
                self.stop()

    def fail(self, error: BaseException) -> None:
        """End with an error."""
        self._failure = error.__cause__ or error
        self.stop()
