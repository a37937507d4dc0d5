"""Calls to the client of a ``rag_client`` fixture: object or function, sync or async.

A failure of a user's client is a property of the target, so it is returned as data; only a
fixture that is not a client, and settings that are wrong, stop the run.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import fields, is_dataclass
from typing import Any

from pytest_rageval.support.slots import Slots, waiting
from pytest_rageval.support.text import clean
from pytest_rageval.support.threads import LoopThread, session_loop
from pytest_rageval.target.contract import parse_ask_response
from pytest_rageval.values.errors import ConfigError, EndpointError, TargetErrorKind
from pytest_rageval.values.reply import (
    AskRequest,
    AskResponse,
    AskResult,
    ErrorInfo,
    is_empty_answer,
)


def call_client(
    client: object,
    request: AskRequest,
    *,
    clock: Callable[[], float] = time.monotonic,
    loop: LoopThread | None = None,
    slots: Slots | None = None,
) -> AskResult:
    """Ask a client once and return the result.

    Args:
        client: has ``ask_result`` (our own HTTP client: retries and times itself), or ``ask``,
            or is a function; each takes the request and may be async. It returns an AskResponse
            or a mapping in the shape of the contract.
        request: the question.
        clock: monotonic seconds.
        loop: where coroutines run; None: the loop of the session.
        slots: requests in flight; held here unless the client takes them; None: no limit.

    Returns:
        The response, the error, or both for an empty answer. A TimeoutError is ``timeout``,
        another OSError ``connection``, an EndpointError its own kind, anything else that is
        raised or returned ``protocol``.

    Raises:
        ConfigError: the fixture returned something that cannot be asked, or the client reports
            wrong settings.
    """
    ask = _ask_function(client)
    takes_none = slots is not None and not getattr(client, "takes_slots", False)
    # The duration and reason of waits in a user's client are unknown.
    with (
        slots.hold() if slots is not None and takes_none else nullcontext(),
        waiting() if takes_none else nullcontext(),
    ):
        started = clock()
        reply = _reply_or_error(ask, request, loop)
        total_ms = (clock() - started) * 1000
    if isinstance(reply, AskResult):
        return reply
    try:
        if isinstance(reply, Exception):
            raise reply
        return answered(_response(reply, client), total_ms=total_ms)
    except ConfigError:
        raise
    except Exception as error:
        info = _error_info(error)
        return AskResult(response=None, error=info, total_ms=total_ms, attempts=info.attempts)


def answered(response: AskResponse, *, total_ms: float | None, attempts: int = 1) -> AskResult:
    """Wrap a response; an empty answer carries its error beside it.

    Args:
        response: reply of the target.
        total_ms: milliseconds of the final attempt; None: nothing was timed.
        attempts: number of requests made.
    """
    error = None
    if is_empty_answer(response):
        message = "the answer is empty and abstained is not true"
        error = ErrorInfo(kind="empty", message=message, attempts=attempts)
    return AskResult(response=response, error=error, total_ms=total_ms, attempts=attempts)


def _ask_function(client: object) -> Callable[[AskRequest], object]:
    for name in ("ask_result", "ask"):
        method = getattr(client, name, None)
        if callable(method):
            found: Callable[[AskRequest], object] = method
            return found
    if callable(client) and not isinstance(client, type):
        return client
    raise ConfigError(
        f"rag_client: expected an object with ask(request) or a function, got {_named(client)}"
    )


def _reply_or_error(
    ask: Callable[[AskRequest], object], request: AskRequest, loop: LoopThread | None
) -> object:
    try:
        reply = ask(request)
        if inspect.isawaitable(reply):
            return (loop or session_loop()).run(reply)
        return reply
    except Exception as error:
        return error


def _response(reply: object, client: object) -> AskResponse:
    if isinstance(reply, AskResponse):
        # Built by user code, so it may contain NaN, a wrong type or ranks out of order.
        return parse_ask_response(_payload(reply))
    if isinstance(reply, Mapping):
        return parse_ask_response(reply)
    raise EndpointError(
        "protocol",
        f"{_named(client)} returned {_named(reply)}; expected an AskResponse or a dict with answer",
    )


def _payload(response: AskResponse) -> dict[str, Any]:
    return {
        "answer": response.answer,
        "references": _members(response.references),
        "abstained": response.abstained,
        "abstain_reason": response.abstain_reason,
        "debug": {
            "retrieved_chunks": _members(response.retrieved_chunks),
            "query_embedding": response.query_embedding,
            "folder_selection": _member(response.folder_selection),
            "latency": response.latency,
            "indexing_coverage": response.indexing_coverage,
            "models": response.models,
        },
    }


def _members(values: object) -> object:
    return [_member(value) for value in values] if isinstance(values, list | tuple) else values


def _member(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return value


def _error_info(error: Exception) -> ErrorInfo:
    if isinstance(error, EndpointError):
        return ErrorInfo(kind=error.kind, message=error.message, attempts=error.attempts)
    lines = str(error).strip().splitlines()
    text = f"{type(error).__name__}: {clean(lines[0], 200)}" if lines else type(error).__name__
    return ErrorInfo(kind=_kind(error), message=text, attempts=1)


def _kind(error: Exception) -> TargetErrorKind:
    chain = list(_causes(error))
    if any(isinstance(cause, TimeoutError) for cause in chain):
        return "timeout"
    return "connection" if any(isinstance(cause, OSError) for cause in chain) else "protocol"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Follow ``raise … from``, because HTTP libraries wrap an OSError in their own types."""
    cause: BaseException | None = error
    for _ in range(10):  # a chain may be circular
        if cause is None:
            return
        yield cause
        cause = cause.__cause__


def _named(value: object) -> str:
    if value is None:
        return "None"
    name = getattr(value, "__name__", None)
    return f"{name}()" if isinstance(name, str) else f"a {type(value).__name__}"
