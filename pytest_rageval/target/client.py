"""The HTTP client of a target, and JMESPath mappings for APIs of another shape.

Failures are returned as data. Requests block the calling thread: on an event loop httpx takes four
times the CPU. A mapping is one expression that yields the whole document, or a table of field to
expression. In a table a dot in a field's name nests: ``"input.query" = "question"`` sends
``{"input": {"query": ...}}``. Fields whose expression yields null are not sent.
"""

from __future__ import annotations

import json
import os
import random
import ssl
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import permutations
from typing import Any, Final, Literal

import httpx

from pytest_rageval.support.http.address import (
    blot_out,
    blot_out_of_reply,
    join_url,
    resolve_headers,
    secret_values,
)
from pytest_rageval.support.http.deadline import within
from pytest_rageval.support.http.exchange import (
    Attempt,
    Request,
    attempt,
    open_client,
    silence_loggers,
    tls_context,
)
from pytest_rageval.support.http.pool import ClientPool
from pytest_rageval.support.http.reason import reported_error
from pytest_rageval.support.http.retry import Pacing, Sleep
from pytest_rageval.support.slots import Slots
from pytest_rageval.support.text import clean, did_you_mean, nearest
from pytest_rageval.target.calling import answered, refusal
from pytest_rageval.target.contract import (
    parse_ask_response,
    parse_reply_bytes,
    reply_keys,
    request_body,
)
from pytest_rageval.values.errors import ConfigError, EndpointError
from pytest_rageval.values.reply import (
    AskRequest,
    AskResponse,
    AskResult,
    ErrorInfo,
    is_empty_answer,
)
from pytest_rageval.values.settings import TargetSettings


class HttpRagClient:
    """Asks a target that speaks the RAG contract, or another shape through JMESPath.

    Args:
        target: URL, headers, timeouts in seconds, retries and mappings.
        environ: source of ``env:NAME`` header values, read at every request.
        sleep: pauses between attempts, in seconds.
        clock: monotonic seconds.
        rng: jitter of the pauses.
        slots: requests in flight; a pause between attempts holds none; None: no limit.

    Raises:
        ConfigError: the URL, or a JMESPath expression, is wrong.
    """

    def __init__(
        self,
        target: TargetSettings,
        *,
        environ: Mapping[str, str] = os.environ,
        sleep: Sleep = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        rng: random.Random | None = None,
        slots: Slots | None = None,
    ) -> None:
        silence_loggers()
        self._target = target
        self._address = join_url(target.url, target.path)
        self._map_request = compile_mapping(target.request, "request")
        self._map_response = compile_mapping(target.response, "response")
        self._environ = environ
        self._clock = clock
        self._pacing = Pacing(sleep=sleep, rng=rng or random.Random(), slots=slots)
        self.takes_slots = slots is not None
        self._clients = ClientPool(self._new_client)

    def __repr__(self) -> str:
        return f"HttpRagClient({self._address.shown!r})"

    def ask(self, request: AskRequest) -> AskResponse:
        """Ask and wait for the answer.

        Raises:
            EndpointError: the target failed, or its answer is empty.
            ConfigError: an environment variable of a header is missing.
        """
        result = self.ask_result(request)
        if result.error is not None:
            raise EndpointError(
                result.error.kind, result.error.message, attempts=result.error.attempts
            )
        assert result.response is not None  # one of the two is always set
        return result.response

    def ask_result(self, request: AskRequest) -> AskResult:
        """Ask and wait for the result; failures of the target are data.

        Returns:
            The response, the error, or both for an empty answer; the time is that of the final
            attempt, from sending to the last byte.

        Raises:
            ConfigError: an environment variable of a header is missing; nothing was sent.
        """
        headers = resolve_headers(self._target.headers, self._environ)
        secrets = (*secret_values(self._target.headers, headers), *self._address.secrets)
        try:
            content = _encoded(self._map_request(request_body(request)))
        except EndpointError as error:
            return _failed(error, attempts=0, total_ms=None, secrets=secrets)
        sent = Request(address=self._address, content=content, headers=headers)
        last, attempts = self._pacing.until_settled(
            lambda: self._pacing.in_slot(lambda: self._attempt(sent)),
            retries=self._target.retries,
        )
        return self._result(last, attempts, secrets)

    def close(self) -> None:
        """Close the connections; the client may be used again and then opens new ones."""
        for http in self._clients.drain():
            http.close()

    def _attempt(self, request: Request) -> Attempt:
        # Leased before the clock starts, because the first client takes a while to build.
        with self._clients.lease() as http:
            return self._timed(http, request)

    def _timed(self, http: httpx.Client, request: Request) -> Attempt:
        started = ended = self._clock()

        def note_time() -> None:
            # Before this thread waits for its turn to compute, which does not count as the target's
            # time.
            nonlocal ended
            ended = self._clock()

        def timeout_text(error: httpx.TimeoutException) -> str:
            if deadline.passed:
                return self._timeout("no complete reply", "timeout_s")
            if isinstance(error, httpx.ConnectTimeout):
                return self._timeout("no connection", "connect_timeout_s")
            return self._timeout("nothing received or sent", "read_timeout_s")

        with within(self._target.timeout_s, note_time) as deadline:
            done = attempt(http, request, timeout_text)
        if done.status is None:
            note_time()
        return replace(done, total_ms=(ended - started) * 1000)

    def _timeout(self, what: str, setting: str) -> str:
        return f"{what} within {getattr(self._target, setting):g} s ({setting})"

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return tls_context(self._address)

    def _new_client(self) -> httpx.Client:
        target = self._target

        def unless_total(limit: float) -> float | None:
            # The total timeout should fire first; with equal limits either might.
            return limit if limit < target.timeout_s else None

        return open_client(
            self._address,
            headers={
                "Content-Type": "application/json",
                "Accept": "application/json",
                "User-Agent": "pytest-rageval",
            },
            timeout=httpx.Timeout(
                connect=unless_total(target.connect_timeout_s),
                read=unless_total(target.read_timeout_s),
                write=unless_total(target.read_timeout_s),
                pool=None,
            ),
            tls=self._tls,
            # Sooner than uvicorn, which many targets run on, closes idle connections (5 s): a
            # request sent at that moment would fail.
            keepalive_s=2.0,
        )

    def _result(self, last: Attempt, attempts: int, secrets: Sequence[str]) -> AskResult:
        raw: object = None
        try:
            if last.error is not None:
                raise last.error
            raw = blot_out_of_reply(parse_reply_bytes(last.body), secrets)
            response = parse_ask_response(self._map_response(raw))
        except EndpointError as error:
            if reported := reported_error(raw):
                error = EndpointError(error.kind, refusal(error.message, reported))
            return _failed(error, attempts=attempts, total_ms=last.total_ms, secrets=secrets)
        if not response.retrieved_chunks:
            response = replace(response, reply_keys=reply_keys(raw))
        reported = reported_error(raw) if is_empty_answer(response) else ""
        return answered(response, total_ms=last.total_ms, attempts=attempts, reported=reported)


def _encoded(body: object) -> bytes:
    try:
        # ASCII, so that even a lone surrogate in a question can be sent.
        return json.dumps(body, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        reason = clean(str(error), 80)
        raise EndpointError("protocol", f"the request cannot be sent as JSON: {reason}") from error


def _failed(
    error: EndpointError, *, attempts: int, total_ms: float | None, secrets: Sequence[str]
) -> AskResult:
    message = blot_out(error.message, secrets)
    if attempts > 1:
        message += f" (after {attempts} attempts)"
    info = ErrorInfo(kind=error.kind, message=message, attempts=attempts)
    return AskResult(response=None, error=info, total_ms=total_ms, attempts=attempts)


MapFunction = Callable[[object], object]

_REPLY_FIELDS: Final = ("answer", "references", "abstained", "abstain_reason")
_DEBUG_FIELDS: Final = (
    "retrieved_chunks",
    "folder_selection",
    "latency",
    "indexing_coverage",
    "models",
)


def compile_mapping(
    spec: str | Mapping[str, str] | None, direction: Literal["request", "response"]
) -> MapFunction:
    """Compile ``[tool.rageval.target] request`` or ``response``; None maps nothing.

    In a response table the fields of ``debug`` may be written without that prefix.

    Raises:
        ConfigError: an expression or a field is wrong; names the key, the position and the text
            found there.

    The returned function raises EndpointError (kind ``protocol``) where an expression that is
    well formed cannot be applied to this document.
    """
    where = f"[tool.rageval.target] {direction}"
    if spec is None:
        return lambda document: document
    if isinstance(spec, str):
        whole = _compile(spec, where)
        return lambda document: _without_nulls(whole(document))
    paths = {name: _field_path(name, direction, where) for name in spec}
    _refuse_overlaps(paths, where)
    compiled = {
        path: _compile(spec[name], f"{where}.{_toml_key(name)}") for name, path in paths.items()
    }
    return lambda document: _assemble((path, search(document)) for path, search in compiled.items())


def _compile(expression: object, where: str) -> MapFunction:
    import jmespath
    from jmespath.exceptions import JMESPathError

    if not isinstance(expression, str):
        raise ConfigError(f"{where}: expected a JMESPath expression, got {expression!r}")
    try:
        with warnings.catch_warnings():
            # `word` for `"word"`: deprecated by the grammar, common in examples, and harmless.
            warnings.simplefilter("ignore", PendingDeprecationWarning)
            compiled = jmespath.compile(expression)
    except JMESPathError as error:
        raise ConfigError(f"{where}: {_syntax_fault(expression, error)}") from error
    _check_functions(compiled.parsed, expression, where)

    def search(document: object) -> object:
        try:
            return compiled.search(document)
        except (JMESPathError, TypeError, ValueError, RecursionError) as error:
            reason = clean(str(error), 160)
            raise EndpointError("protocol", f"{where} cannot be applied: {reason}") from error

    return search


def _syntax_fault(expression: str, error: Exception) -> str:
    position = getattr(error, "lex_position", None)
    if not isinstance(position, int):
        return f"bad JMESPath expression {expression!r}: {clean(str(error), 100)}"
    found = repr(expression[position : position + 20]) if position < len(expression) else "its end"
    return (
        f"bad JMESPath expression {clean(expression, 80)!r}: "
        f"unexpected {found} at position {position + 1}"
    )


def _check_functions(node: object, expression: str, where: str) -> None:
    """Refuse an unknown function now, because jmespath only detects it on a reply."""
    from jmespath.functions import Functions

    known = Functions.FUNCTION_TABLE
    for name in _function_names(node):
        if name not in known:
            close = nearest(name, known)
            hint = f"; did you mean {close}()?" if close else ""
            raise ConfigError(
                f"{where}: bad JMESPath expression {clean(expression, 80)!r}: unknown function "
                f"{name}() at position {expression.find(name) + 1}{hint}"
            )


def _function_names(node: object) -> Iterator[str]:
    if isinstance(node, Mapping):
        if node.get("type") == "function_expression":
            yield node["value"]
        for child in node.get("children", ()):
            yield from _function_names(child)


def _field_path(name: str, direction: str, where: str) -> tuple[str, ...]:
    path = tuple(name.split("."))
    if "" in path:
        raise ConfigError(f"{where}: {name!r} is not a field name")
    if direction == "request":
        return path
    if len(path) == 1 and name in _DEBUG_FIELDS:
        return ("debug", name)
    known = {*_REPLY_FIELDS, "debug", *(f"debug.{field}" for field in _DEBUG_FIELDS)}
    # Any name is allowed below a known field: `debug.latency.retrieval_ms`.
    if name in known or (path[0] == "debug" and path[1] in _DEBUG_FIELDS):
        return path
    if path[0] in _DEBUG_FIELDS:
        return ("debug", *path)
    hint = did_you_mean(name, [*known, *_DEBUG_FIELDS], before="; ")
    expected = ", ".join([*_REPLY_FIELDS, *_DEBUG_FIELDS])
    raise ConfigError(f"{where}: unknown field {name!r}; expected one of {expected}{hint}")


def _refuse_overlaps(paths: Mapping[str, tuple[str, ...]], where: str) -> None:
    for (name, path), (other_name, other) in permutations(paths.items(), 2):
        if other[: len(path)] == path:
            raise ConfigError(f"{where}: {name!r} and {other_name!r} overlap; keep one")


def _assemble(values: Iterator[tuple[tuple[str, ...], object]]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for path, value in values:
        if value is None:
            continue
        inner = document
        for name in path[:-1]:
            inner = inner.setdefault(name, {})
        inner[path[-1]] = _without_nulls(value)
    return document


def _without_nulls(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _without_nulls(entry) for name, entry in value.items() if entry is not None}
    return value


def _toml_key(name: str) -> str:
    return f'"{name}"' if "." in name else name
