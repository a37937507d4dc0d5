"""The requests of ``rageval view``: pages are read, tags are changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from http import HTTPStatus
from typing import Any, Final, TypeVar

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from pytest_rageval.authoring.serving.loopback import json_body, refused
from pytest_rageval.authoring.viewing.project import ProjectRuns, begun
from pytest_rageval.report.html.links import Links
from pytest_rageval.report.html.markup import visible
from pytest_rageval.report.html.runs.page import fault_policy, render_fault
from pytest_rageval.runs.notes import now
from pytest_rageval.values.errors import RagEvalError
from pytest_rageval.values.run import CaseNote

_Asked = TypeVar("_Asked")
_MAX_BODY: Final = 100_000
_PIECE: Final = 1 << 16
"""Characters that are sent together: a page is made in thousands of pieces."""
_OFF: Final = "frame-ancestors 'none'"
"""The rest of the policy is in each page, since it names the hashes of its own script."""


def create_app(runs: ProjectRuns, *, start: str = "./") -> Starlette:
    """Build the app, which sends a browser that it admits to the page ``start``."""

    async def front(request: Request) -> Response:
        if "token" in request.query_params:
            return _forward(start)
        return await _page(runs.list_page)

    async def run(request: Request) -> Response:
        name, base = request.path_params["run_id"], request.query_params.get("base")
        return await _page(lambda: runs.run_page(name, base))

    async def compare(request: Request) -> Response:
        given, base = request.query_params.getlist("run"), request.query_params.get("base")
        return await _page(lambda: runs.compare_page(given, base or None))

    async def tag(request: Request) -> Response:
        def act(asked: _Tag) -> dict[str, Any]:
            (runs.take_tag if asked.remove else runs.give_tag)(asked.run, asked.tag)
            return {}

        return await _change(request, _Tag, act)

    async def note(request: Request) -> Response:
        def act(asked: _Note) -> dict[str, Any]:
            given = CaseNote(
                file=asked.file, case_id=asked.id, repeat=asked.repeat,
                text=asked.text.strip(), author=asked.author.strip(), time=now(),
            )  # fmt: skip
            return {"notes": runs.note(asked.run, given)}

        return await _change(request, _Note, act)

    routes = [
        Route("/", front, methods=["GET"]),
        Route("/run-{run_id}", run, methods=["GET"]),
        Route("/compare", compare, methods=["GET"]),
        Route("/tag", tag, methods=["POST"]),
        Route("/note", note, methods=["POST"]),
    ]
    return Starlette(routes=routes, exception_handlers={HTTPStatus.NOT_FOUND: _not_found})


async def _not_found(request: Request, error: Exception) -> Response:
    return _fault("There is no such page here.", HTTPStatus.NOT_FOUND)


def _forward(target: str) -> Response:
    # Not a redirection: a browser does not send the strict cookie on one that a link of another
    # page began, such as of a terminal in the browser.
    html = (
        '<!doctype html><html lang="en"><title>rageval</title>'
        f'<meta http-equiv="refresh" content="0;url={escape(target)}">'
        f'<a href="{escape(target)}">The runs</a></html>'
    )
    return HTMLResponse(html, headers={"Content-Security-Policy": f"default-src 'none'; {_OFF}"})


# --- pages -------------------------------------------------------------------------------------


async def _page(make: Callable[[], Iterator[str]]) -> Response:
    """Answer with a page, which is sent while it is made."""
    try:
        pieces = await run_in_threadpool(lambda: begun(make()))
    except RagEvalError as error:
        return _fault(str(error), HTTPStatus.NOT_FOUND)
    except Exception as error:  # the files of a run may hold anything
        return _fault(f"It could not be made: {type(error).__name__}: {error}")
    headers = {"Content-Security-Policy": _OFF}
    return StreamingResponse(_joined(pieces), media_type="text/html", headers=headers)


def _joined(pieces: Iterator[str]) -> Iterator[bytes]:
    held: list[str] = []
    size = 0
    try:
        for piece in pieces:
            held.append(piece)
            size += len(piece)
            if size > _PIECE:
                yield "".join(held).encode("utf-8", "backslashreplace")
                held, size = [], 0
    except Exception as error:  # a part is shown by now, so that no other answer is possible
        reason = escape(visible(f"{type(error).__name__}: {error}"))
        held.append(f"<p>The page could not be finished: {reason}</p>")
    yield "".join(held).encode("utf-8", "backslashreplace")


def _fault(sentence: str, status: HTTPStatus = HTTPStatus.INTERNAL_SERVER_ERROR) -> Response:
    page = "".join(render_fault(sentence, Links()))
    headers = {"Content-Security-Policy": f"{fault_policy()}; {_OFF}"}
    return HTMLResponse(page, status_code=status, headers=headers)


# --- changes -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tag:
    run: str
    tag: str
    remove: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Note:
    run: str
    file: str
    id: str
    repeat: int
    text: str
    author: str


async def _change(
    request: Request, kind: type[_Asked], act: Callable[[_Asked], dict[str, Any]]
) -> Response:
    """Answer a change that a page asks for: a JSON object in, one out."""
    asked = await json_body(request, _MAX_BODY, kind)
    if isinstance(asked, Response):
        return asked
    try:
        return JSONResponse(await run_in_threadpool(act, asked))
    except RagEvalError as error:
        return refused(HTTPStatus.CONFLICT, str(error))
    except Exception as error:  # the files of a run may hold anything
        sentence = f"it could not be done: {type(error).__name__}: {error}"
        return refused(HTTPStatus.INTERNAL_SERVER_ERROR, sentence)
