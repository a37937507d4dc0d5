"""The HTTP interface of the engine: a Starlette application."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from pytest_rageval.server.embeddings_endpoint import embed_texts, parse_embeddings
from pytest_rageval.server.engine import ReferenceEngine
from pytest_rageval.server.requests import RequestError, parse_ask, parse_deletion, parse_documents
from pytest_rageval.server.upstream import UpstreamError

MAX_BODY_BYTES = 64 * 1024 * 1024

_TRUE = frozenset({"1", "true", "yes", "on"})


class _BodyError(RequestError):
    """A body that cannot be read as JSON at all."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


def create_app(engine: ReferenceEngine) -> Starlette:
    """Return the application: ask, documents, embeddings and health.

    Errors are JSON, `{"error": message}`: 400 for a body that is not JSON or a document out of
    scope, 413 for one too large, 422 for a bad field, 502 when a model endpoint failed.
    """

    async def ask(request: Request) -> JSONResponse:
        query = parse_ask(await _json_body(request), engine.config)
        debug = request.query_params.get("debug", "").lower() in _TRUE
        return JSONResponse(await run_in_threadpool(engine.ask, query, debug=debug))

    async def documents(request: Request) -> JSONResponse:
        body = await _json_body(request)
        if request.method == "PUT":
            update = parse_documents(body)
            total = await run_in_threadpool(engine.put_documents, update)
            return JSONResponse({"put": len(update.notes), "documents": total})
        removed = await run_in_threadpool(engine.delete_documents, parse_deletion(body))
        return JSONResponse({"deleted": removed})

    async def embeddings(request: Request) -> JSONResponse:
        query = parse_embeddings(await _json_body(request), engine.config)
        model = engine.config.embedding_model
        return JSONResponse(await run_in_threadpool(embed_texts, query, engine.index, model))

    async def healthz(request: Request) -> JSONResponse:
        coverage = engine.index.coverage
        return JSONResponse(
            {
                "status": "ok",
                "vault": engine.config.effective_vault_name,
                "docs": coverage["docs_processed"],
                "chunks": coverage["chunks_attempted"],
                "index_version": coverage["index_version"],
                "warnings": len(coverage["warnings"]),
            }
        )

    return Starlette(
        routes=[
            Route("/api/v1/ask", _guarded(ask), methods=["POST"]),
            Route("/api/v1/documents", _guarded(documents), methods=["PUT", "DELETE"]),
            Route("/v1/embeddings", _guarded(embeddings), methods=["POST"]),
            Route("/healthz", healthz, methods=["GET"]),
        ]
    )


def _guarded(
    handler: Callable[[Request], Awaitable[JSONResponse]],
) -> Callable[[Request], Awaitable[JSONResponse]]:
    async def guarded(request: Request) -> JSONResponse:
        try:
            return await handler(request)
        except RequestError as error:
            return JSONResponse({"error": str(error)}, status_code=error.status)
        except UpstreamError as error:
            return JSONResponse({"error": f"model endpoint: {error}"}, status_code=502)

    return guarded


async def _json_body(request: Request) -> object:
    received = bytearray()
    async for piece in request.stream():
        received += piece
        if len(received) > MAX_BODY_BYTES:
            raise _BodyError(f"request body: over the limit of {MAX_BODY_BYTES:,} bytes", 413)
    try:
        body: object = json.loads(received.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise _BodyError(f"request body: not UTF-8 at byte {error.start}") from error
    except (ValueError, RecursionError) as error:
        raise _BodyError(f"request body: not JSON: {error or 'too deeply nested'}") from error
    return body
