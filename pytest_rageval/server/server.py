"""The HTTP application, and its server on a loopback socket: in a thread or the foreground."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from pytest_rageval.server.config import ReferenceConfig
from pytest_rageval.server.engine import ReferenceEngine
from pytest_rageval.server.loopback import HOST, LoopbackServer, listen
from pytest_rageval.server.requests import (
    Deletion,
    Documents,
    RequestError,
    embed_texts,
    parse_ask,
    parse_body,
    rerank_texts,
)
from pytest_rageval.server.upstream import UpstreamError

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 30.0


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

    def __exit__(self, *error: object) -> None:
        self.stop()


def start_in_thread(config: ReferenceConfig) -> ServerHandle:
    """Index the vault, then serve it from a thread; returns once requests are accepted.

    The port on 127.0.0.1 is a free one.

    Raises:
        VaultError: The vault is not a readable folder.
        UpstreamError: The embedding endpoint failed.
        ServerStartError: There is no port to listen on.
    """
    engine = ReferenceEngine(config)
    listener = _listen(0)
    settled = threading.Event()
    server = _started(engine, settled.set)

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


def serve(config: ReferenceConfig, port: int, on_ready: Callable[[str], None]) -> None:
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
    server = _started(engine, lambda: on_ready(_url(listener)))
    try:
        server.run([listener])
    finally:
        listener.close()


def _started(engine: ReferenceEngine, on_started: Callable[[], None]) -> LoopbackServer:
    # A web page whose host name resolves to 127.0.0.1 must not read the vault (DNS rebinding).
    app = TrustedHostMiddleware(_OwnPages(create_app(engine)), allowed_hosts=[HOST, "localhost"])
    return LoopbackServer(app, on_started)


class _OwnPages:
    """Wraps an app, and refuses what a page of another origin sends without reading the reply."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        headers = Headers(scope=scope)
        app = self._app
        if headers.get("origin", "") not in {"", f"http://{headers.get('host')}"}:
            app = JSONResponse({"error": "a page of another origin asks"}, status_code=403)
        await app(scope, receive, send)


def _listen(port: int) -> socket.socket:
    try:
        return listen(port)
    except (OSError, OverflowError) as error:
        raise ServerStartError(f"cannot listen on {HOST}:{port}: {error}") from error


def _url(listener: socket.socket) -> str:
    return f"http://{HOST}:{listener.getsockname()[1]}"


MAX_BODY_BYTES = 64 * 1024 * 1024
MAX_ASK_BYTES = 3_000_000
"""The longest question takes 2.4 million where each character is written as two escapes."""
_TRUE = frozenset({"1", "true", "yes", "on"})


def create_app(engine: ReferenceEngine) -> Starlette:
    """Return the application: ask, documents, embeddings and rerank.

    Errors are JSON, `{"error": message}`: 400 for a body that is not JSON, 413 for one too
    large, 422 for a bad field, 502 when a model endpoint failed.
    """

    async def ask(request: Request) -> JSONResponse:
        query = parse_ask(await _json_body(request, MAX_ASK_BYTES), engine.config)
        debug = request.query_params.get("debug", "").lower() in _TRUE
        return JSONResponse(await run_in_threadpool(engine.ask, query, debug=debug))

    async def documents(request: Request) -> JSONResponse:
        body = await _json_body(request)
        if request.method == "PUT":
            notes = parse_body(Documents, body).notes
            total = await run_in_threadpool(engine.put_documents, notes)
            return JSONResponse({"put": len(notes), "documents": total})
        prefix = parse_body(Deletion, body).scope_prefix
        removed = await run_in_threadpool(engine.delete_documents, prefix)
        return JSONResponse({"deleted": removed})

    async def embeddings(request: Request) -> JSONResponse:
        body = await _json_body(request)
        return JSONResponse(await run_in_threadpool(embed_texts, body, engine.index, engine.config))

    async def reranked(request: Request) -> JSONResponse:
        body = await _json_body(request)
        return JSONResponse(await run_in_threadpool(rerank_texts, body, engine.index))

    return Starlette(
        routes=[
            Route("/api/v1/ask", ask, methods=["POST"]),
            Route("/api/v1/documents", documents, methods=["PUT", "DELETE"]),
            Route("/v1/embeddings", embeddings, methods=["POST"]),
            Route("/v1/rerank", reranked, methods=["POST"]),
        ],
        exception_handlers={RequestError: _refused, UpstreamError: _failed},
    )


async def _refused(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestError)
    return JSONResponse({"error": str(error)}, status_code=error.status)


async def _failed(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"error": f"model endpoint: {error}"}, status_code=502)


async def _json_body(request: Request, most: int = MAX_BODY_BYTES) -> object:
    received = bytearray()
    async for piece in request.stream():
        received += piece
        if len(received) > most:
            raise RequestError(f"request body: over the limit of {most:,} bytes", 413)
    try:
        body: object = json.loads(received)
    except (ValueError, RecursionError) as error:
        raise RequestError(f"request body: not JSON: {error}", 400) from error
    return body
