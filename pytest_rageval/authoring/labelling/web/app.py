"""The two requests of the page: the page itself, and one per key."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import asdict
from http import HTTPStatus
from typing import Final, Protocol, TypeVar

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from pytest_rageval.authoring.labelling.session import MAX_INPUT
from pytest_rageval.authoring.labelling.web.page import Key, WebFace, page_policy

_MAX_BODY: Final = 16 * MAX_INPUT
"""Maximum bytes of a request: a character takes up to twelve in JSON."""
_POLL_S: Final = 0.1
_GRACE_S: Final = 2.0
"""Time for the current key to finish when the command ends: enough for a save."""
_ENDED: Final = "The command in the terminal has ended.\n"
_FAILED: Final = "An error ended the session; the terminal says which.\n"

_Result = TypeVar("_Result")


class Running(Protocol):
    """The runner of the app."""

    @property
    def stopping(self) -> bool:
        """Whether the command is about to end."""
        ...

    def submit(self, job: Callable[[], _Result]) -> Future[_Result]:
        """Run a job after all earlier ones."""
        ...

    def fail(self, error: BaseException) -> None:
        """End the command with an error."""
        ...


class _EndedError(Exception):
    """The command ended before an answer was available."""


def create_app(face: WebFace, running: Running) -> Starlette:
    """Build the app.

    Args:
        face: of the session; only jobs of ``running`` touch it.
        running: runs the jobs and receives errors.
    """

    async def page(request: Request) -> Response:
        html = await _result(running, face.page)
        return HTMLResponse(html, headers={"Content-Security-Policy": page_policy()})

    async def press(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return _refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "expected application/json")
        body = await _body(request)
        if body is None:
            return _refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the text is too long")
        try:
            key = _key(body)
        except ValueError as error:
            return _refused(HTTPStatus.BAD_REQUEST, str(error))
        shown = await _result(running, lambda: face.press(key))
        status = HTTPStatus.CONFLICT if shown.stale else HTTPStatus.OK
        return JSONResponse(asdict(shown), status_code=status)

    async def ended(request: Request, error: Exception) -> Response:
        return _refused(HTTPStatus.SERVICE_UNAVAILABLE, _ENDED)

    async def failed(request: Request, error: Exception) -> Response:
        running.fail(error)
        return _refused(HTTPStatus.INTERNAL_SERVER_ERROR, _FAILED)

    async def gone(request: Request, error: Exception) -> Response:
        return _refused(HTTPStatus.BAD_REQUEST, "the request was cut short")

    routes = [
        Route("/", page, methods=["GET"]),
        Route("/key", press, methods=["POST"]),
    ]
    handlers = {_EndedError: ended, _JobError: failed, ClientDisconnect: gone}
    return Starlette(routes=routes, exception_handlers=handlers)


class _JobError(Exception):
    """A job raised an error, which is the cause."""


def _refused(status: HTTPStatus, sentence: str) -> Response:
    return PlainTextResponse(f"{sentence.rstrip()}\n", status_code=status)


async def _result(running: Running, job: Callable[[], _Result]) -> _Result:
    """Wait for a job, but not for a slow target when the command ends.

    Raises:
        _EndedError: the command ended first.
        _JobError: the job raised an error, which is the cause.
    """
    future = asyncio.wrap_future(running.submit(job))
    left_s = _GRACE_S
    while not future.done():
        await asyncio.wait({future}, timeout=_POLL_S)
        left_s -= _POLL_S if running.stopping else 0
        if left_s <= 0 and not future.done():
            future.cancel()  # otherwise it would call back into a closed loop
            raise _EndedError
    error = future.exception()
    if error is not None:
        raise _JobError from error
    return future.result()


async def _body(request: Request) -> bytes | None:
    """Read a body; None: it is too long."""
    found = bytearray()
    async for part in request.stream():
        found += part
        if len(found) > _MAX_BODY:
            return None
    return bytes(found)


def _key(body: bytes) -> Key:
    """Read a key.

    Raises:
        ValueError: it is not a key.
    """
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("expected JSON") from None
    if not isinstance(given, dict):
        raise ValueError("expected an object")
    key, text, revision = given.get("key"), given.get("text", ""), given.get("revision")
    if not (isinstance(key, str) and isinstance(text, str) and type(revision) is int):
        raise ValueError("expected key, revision and perhaps text")
    return Key(key=key[:MAX_INPUT], text=text, revision=revision)
