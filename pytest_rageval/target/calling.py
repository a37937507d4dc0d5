"""Calls to the client of a ``rag_client`` fixture: object or function, sync or async.

A failure of a user's client is a property of the target, so it is returned as data; only a
fixture that is not a client, and settings that are wrong, stop the run.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from pytest_rageval.support.http.address import blot_out_known, blot_out_of_reply, reply_secrets
from pytest_rageval.support.http.bodies import page_text, reply_reason, reported_error
from pytest_rageval.support.in_flight import Slots
from pytest_rageval.support.project_code import error_text, source_place, user_traceback
from pytest_rageval.support.text import clean, part
from pytest_rageval.support.threads import called, computed, is_async, is_cancelled
from pytest_rageval.target.contract import (
    MOST_CHARS,
    OTHER_TYPE,
    parse_ask_response,
    reply_keys,
    size_of,
)
from pytest_rageval.target.likely import likely_answer
from pytest_rageval.values.diagnoses.table import TargetErrorKind
from pytest_rageval.values.errors import ConfigError, EndpointError, target_error, with_facts
from pytest_rageval.values.reply import (
    TOP_FIELDS,
    AskRequest,
    AskResponse,
    AskResult,
    ErrorInfo,
    endpoint_error,
    error_info,
    is_empty_answer,
    span_id,
)

_BODY_BYTES: Final = 4096
_MESSAGE_CHARS: Final = 400
_WITHOUT_FROM: Final = ("botocore", "httpcore", "qdrant_client", "redis", "requests")
"""Packages that raise an exception of theirs in place of another without ``from``."""
_OWN_TYPES: Final = ("references", "retrieved_chunks", "folder_selection", "searches")
"""Fields of a reply whose values may be of a type of this package."""


async def call_client(
    client: object,
    request: AskRequest,
    *,
    clock: Callable[[], float] = time.monotonic,
    slots: Slots | None = None,
    rootdir: Path = Path(),
) -> AskResult:
    """Ask a client once and return the result.

    A synchronous client is called on a thread, see ``called``.

    Args:
        client: has ``ask_on_loop`` (our own HTTP client: retries and times itself), or ``ask``,
            or is a function; each takes the request and may be async. It returns an AskResponse
            or a mapping in the shape of the contract.
        request: the question.
        clock: monotonic seconds.
        slots: requests in flight; held here unless the client takes them; None: no limit.
        rootdir: folder of the project, which places in the user's code are relative to.

    Returns:
        The response, the error, or both for an empty answer. A TimeoutError is ``timeout``, an
        exception with the status of a reply ``http``, another OSError that names no file
        ``connection``, an EndpointError its own kind, any other exception ``raised``; a value that
        is not a reply is ``protocol``.

    Raises:
        ConfigError: the fixture returned something that cannot be asked, or the client reports
            wrong settings.
    """
    ask = check_client(client)
    takes_slots = getattr(client, "takes_slots", False)
    held = None if takes_slots else slots
    call = _Call(ask, request, clock)
    async with held.hold() if held else nullcontext():
        reply = await call.reply_or_error(apart=not takes_slots)
    if isinstance(reply, AskResult):
        return reply
    if isinstance(reply, ConfigError):
        raise reply
    result = await computed(partial(_result, reply, client, call.total_ms, rootdir))
    span = span_id(request.trace_id) if request.trace_id else ""
    return replace(result, trace_id=request.trace_id, span_id=span, asked_at=call.asked_at)


def _result(reply: object, client: object, total_ms: float, rootdir: Path) -> AskResult:
    ask = check_client(client)
    if isinstance(reply, BaseException):
        info = raised_error(reply, rootdir, source_place(ask, rootdir))
        return AskResult(
            response=None, error=info, total_ms=total_ms, attempts=info.attempts, raised=reply
        )
    try:
        response = _response(reply, client)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a mapping of the user may raise anything
        info = _error_info(error, source_place(ask, rootdir), _reported(reply))
        return AskResult(response=None, error=info, total_ms=total_ms, attempts=info.attempts)
    reported = _reported(reply) if is_empty_answer(response) else ""
    return answered(response, total_ms=total_ms, reported=reported)


def raised_error(error: BaseException, rootdir: Path, called: str = "") -> ErrorInfo:
    """Describe an exception of the user's code, with its place and without secrets.

    Args:
        error: as it was raised.
        rootdir: folder of the project, which places in the user's code are relative to.
        called: place of the function that was called, for an exception that none of its lines
            raised, such as for a wrong number of arguments.
    """
    return _error_info(error, user_traceback(error, rootdir, hide=blot_out_known) or called)


def _reported(reply: object) -> str:
    """Return the error that a reply reports; empty also for a mapping that cannot be read."""
    try:
        return reported_error(reply, blot_out_known)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a mapping of the user may raise anything, which is an error of its own
        return ""


def answered(
    response: AskResponse, *, total_ms: float | None, attempts: int = 1, reported: str = ""
) -> AskResult:
    """Wrap a response; an empty answer carries its error beside it.

    Args:
        response: reply of the target.
        total_ms: milliseconds of the final attempt; None: nothing was timed.
        attempts: number of requests made.
        reported: error that the reply reports itself; empty: none.
    """
    error = None
    if is_empty_answer(response):
        empty = target_error("answer_empty", abstained="true", reported=reported)
        error = error_info(empty, attempts=attempts)
    return AskResult(response=response, error=error, total_ms=total_ms, attempts=attempts)


def check_client(client: object, where: str = "rag_client") -> Callable[[AskRequest], object]:
    """Return the function that asks a client.

    Raises:
        ConfigError: it has none; begins with ``where``.
    """
    for name in ("ask_on_loop", "ask_result", "ask"):
        method: Callable[[AskRequest], object] | None = getattr(client, name, None)
        if callable(method):
            return method
    if callable(client) and not isinstance(client, type):
        return client
    raise ConfigError.of(
        where, "type", found=named(client), expected="an object with ask(request) or a function"
    )


class _Call:
    """A call of a client, timed where it is made, and its outcome."""

    def __init__(
        self,
        ask: Callable[[AskRequest], object],
        request: AskRequest,
        clock: Callable[[], float],
    ) -> None:
        self._ask, self._request, self._clock = ask, request, clock
        self._started = 0.0
        self.asked_at = self.total_ms = 0.0

    async def reply_or_error(self, *, apart: bool) -> object:
        """Return the outcome; ``apart``: in a task of its own, which the client may cancel."""
        found = self._called() if is_async(self._ask) else await called(self._called)
        if not inspect.isawaitable(found):
            return found
        reply = await (asyncio.create_task(self._awaited(found)) if apart else self._awaited(found))
        if is_cancelled(reply):
            raise asyncio.CancelledError
        return reply

    async def _awaited(self, found: Awaitable[object]) -> object:
        try:
            return await found
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # such as SystemExit, CancelledError or pytest.fail()
            return error
        finally:
            self._end()

    def _called(self) -> object:
        self.asked_at, self._started = time.time(), self._clock()
        try:
            found = self._ask(self._request)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            found = error
        if not inspect.isawaitable(found):
            self._end()
        return found

    def _end(self) -> None:
        self.total_ms = (self._clock() - self._started) * 1000


def _response(reply: object, client: object) -> AskResponse:
    # Built by user code, a response may contain NaN, a wrong type or ranks out of order.
    payload: Any = _payload(reply) if isinstance(reply, AskResponse) else reply
    if isinstance(payload, Mapping):
        payload = _plain(payload)
        if size_of(payload) > MOST_CHARS:
            raise target_error("reply_too_long", most=f"{MOST_CHARS:,}")
        payload = blot_out_of_reply(payload, reply_secrets(os.environ))
        try:
            response = parse_ask_response(payload)
        except EndpointError as error:
            raise with_facts(error, **_to_return(error, payload)) from error
        if response.retrieved_chunks:
            return response
        given = _given(payload) if isinstance(reply, AskResponse) else payload
        return replace(response, reply_keys=reply_keys(given))
    gives = "yields" if isinstance(reply, Iterator | AsyncIterator) else ""
    raise target_error("reply_type", client=named(client), got=named(reply), gives=gives)


def _to_return(error: EndpointError, payload: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the facts about what the client should return instead; empty: the fault says it."""
    field, got = str(error.facts.get("field", "")), str(error.facts.get("got", ""))
    if field == "answer" and got != "null":
        text = likely_answer(payload)
        return {"returned": part("`{}`", text) or "its text"}
    if field.startswith("debug.retrieved_chunks[") and got.startswith(OTHER_TYPE):
        return {"maker": "from_documents"}
    return {}


def _payload(response: AskResponse) -> dict[str, Any]:
    debug = {f.name: getattr(response, f.name) for f in fields(response) if f.name != "reply_keys"}
    top = {name: debug.pop(name) for name in TOP_FIELDS}
    return {**top, "debug": debug}


def _given(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a response built by hand that it sets."""
    empty = (Mapping, type(None))
    # The truth of an array cannot be tested, so the type is tested first.
    debug = {n: v for n, v in payload["debug"].items() if not isinstance(v, empty) or v}
    given = {n: v for n, v in payload.items() if n != "debug" and v is not None}
    return {**given, "debug": debug} if debug else given


def _plain(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reply with dictionaries in place of citations, chunks and the like.

    A dictionary may hold them, too, such as the chunks that ``from_documents`` returns.
    """
    found = {name: _members(v) if name in _OWN_TYPES else v for name, v in payload.items()}
    debug = found.get("debug")
    return {**found, "debug": _plain(debug)} if isinstance(debug, Mapping) else found


def _members(value: object) -> object:
    if isinstance(value, list | tuple | Iterator):  # (... for ...) looks like a tuple
        return [_members(one) for one in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return value


def _error_info(error: BaseException, place: str, reported: str = "") -> ErrorInfo:
    if isinstance(error, EndpointError):
        info = error_info(error, _shown, traceback=place)
        if error.kind == "target" or not reported:
            return info
        return error_info(with_facts(endpoint_error(info), reported=reported), traceback=place)
    status, body = _failed_reply(error)
    said = error_text(error).strip()
    if status:  # the second line of httpx links to a page about the status
        said = said.partition("\n")[0]
    said = clean(blot_out_known(said, _BODY_BYTES), 200)
    name, text = type(error).__name__, said
    if isinstance(error, BaseExceptionGroup):  # of a TaskGroup, whose text does not say the fault
        inner = _error_info(error.exceptions[0], place, reported)
        holds = target_error("raised", exception=name, said=said, inner=inner.message)
        facts = {**inner.facts, "exception": name, "said": said, "inner": inner.message}
        message = holds.message[:_MESSAGE_CHARS]
        return replace(inner, message=message, code="raised", facts=facts)
    hide = partial(blot_out_known, limit=_BODY_BYTES)
    reason = reply_reason(body, blot_out_known) or clean(page_text(body, hide), 200)
    reason = "" if reason in f"{name}: {text}" else reason
    raised = target_error("raised", exception=name, said=text, reason=reason, status=status)
    raised.kind = "http" if status else _kind(error)
    return error_info(raised, traceback=place)


def _shown(text: str) -> str:
    return clean(blot_out_known(text, _BODY_BYTES), _MESSAGE_CHARS)


def _failed_reply(error: BaseException) -> tuple[int | None, str]:
    """Return the status and the body of the reply that an HTTP library put on its exception.

    httpx, requests and openai have ``response``; the exception of urllib is the reply itself.
    """
    from urllib.error import HTTPError

    own = isinstance(error, HTTPError)
    try:
        reply: Any = error if own else getattr(error, "response", None)
        status = getattr(reply, "code" if own else "status_code", None)
        if not isinstance(status, int) or status > 999 or (status < 400 and not own):
            return None, ""
        try:
            body = reply.read(_BODY_BYTES).decode("utf-8", "replace") if own else reply.text
        except Exception:  # a body that was streamed or closed cannot be read any more
            body = ""
    except KeyboardInterrupt:
        raise
    except BaseException:  # attributes of the user's exception may raise anything
        return None, ""
    return status, body[:_BODY_BYTES] if isinstance(body, str) else ""


def _kind(error: BaseException) -> TargetErrorKind:
    chain = list(_causes(error))
    statuses = set(map(_grpc_status, chain))
    if "DEADLINE_EXCEEDED" in statuses or any(isinstance(cause, TimeoutError) for cause in chain):
        return "timeout"
    # An OSError that names a file is not about a connection.
    lost = (isinstance(cause, OSError) and cause.filename is None for cause in chain)
    return "connection" if "UNAVAILABLE" in statuses or any(lost) else "raised"


def _grpc_status(error: Any) -> str:
    """Return the name of the status of an exception of gRPC, which has no cause; empty: none."""
    kinds = {(kind.__module__, kind.__name__) for kind in type(error).__mro__}
    with suppress(Exception):  # one that the user's code makes has no code
        return str(error.code().name) if ("grpc", "RpcError") in kinds else ""
    return ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Follow ``raise … from``, because HTTP libraries wrap an OSError in their own types."""
    cause: BaseException | None = error
    for _ in range(10):  # a chain may be circular
        if cause is None:
            return
        yield cause
        # Of the exceptions of others a context need not be the cause.
        implicit = type(cause).__module__.startswith(_WITHOUT_FROM)
        cause = cause.__cause__ or (cause.__context__ if implicit else None)


def named(value: object) -> str:
    """Name a function as ``ask()``, any other value by its type."""
    if value is None:
        return "None"
    name = getattr(value, "__name__", None)
    if isinstance(name, str) and callable(value):  # a generator has the name of its function
        return f"{name}()"
    kind = type(value).__name__
    return f"{'an' if kind[:1].lower() in 'aeiou' else 'a'} {kind}"
