"""The HTTP client of a target. Failures are returned as data."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

from pytest_rageval.support.http.address import (
    TOKEN,
    blot_out,
    blot_out_of_reply,
    blot_out_written,
    environment_secrets,
    header_secrets,
    join_url,
    reply_secrets,
    request_literals,
    resolve_headers,
    resolve_request,
)
from pytest_rageval.support.http.client import Client
from pytest_rageval.support.http.coding import TransportError
from pytest_rageval.support.http.exchange import Attempt, Request, attempt, open_client
from pytest_rageval.support.http.reason import reported_error
from pytest_rageval.support.http.retry import Pacing, Sleep
from pytest_rageval.support.http.stopwatch import Stopwatch
from pytest_rageval.support.slots import Slots
from pytest_rageval.support.text import clean
from pytest_rageval.support.threads import computed, session_loop
from pytest_rageval.target.auth import HeaderSource
from pytest_rageval.target.calling import answered, refusal
from pytest_rageval.target.contract import (
    last_data,
    parse_ask_response,
    parse_reply_bytes,
    reply_keys,
    shown_keys,
)
from pytest_rageval.target.likely import likely_request, missed_though_sent
from pytest_rageval.target.mapping import (
    MappingReport,
    compile_mapping,
    map_answer,
    mapping_report,
    propose_chunks,
)
from pytest_rageval.target.stream import (
    ENDED_EARLY,
    StreamReader,
    StreamRules,
    likely_stream_answer,
    stream_advice,
)
from pytest_rageval.target.tracing import Spans
from pytest_rageval.target.variables import (
    check_placeholders,
    filled_headers,
    filled_path,
    query_parameters,
    request_document,
)
from pytest_rageval.values.errors import EndpointError
from pytest_rageval.values.reply import (
    AskRequest,
    AskResponse,
    AskResult,
    ErrorInfo,
    is_empty_answer,
)
from pytest_rageval.values.settings import REQUEST_TABLE, TargetSettings

_REFUSED: Final = re.compile(r": HTTP (400|422)\b")
"""Status of a server that does not accept the fields of a request."""
_NOT_FOUND: Final = re.compile(r": HTTP (404|405)\b")
_TABLE: Final = "[tool.rageval.target]"
_FORM: Final = "an API that reads a form needs a client in Python"
WANTS_SESSION: Final = "the server wants a session"
"""Beginning of the advice on an MCP server that refuses a call outside one."""
ANSWERED_LATER: Final = "HTTP 202: the answer comes later, wait for it in a client in Python"
"""Advice on a reply that accepts a question and does not answer it."""


class HttpRagClient:
    """Asks a target that speaks the RAG contract, or another shape through JMESPath.

    Args:
        target: URL, headers, timeouts in seconds, retries and mappings.
        environ: source of ``env:NAME`` and ``env.NAME`` values, read at every request.
        sleep: pauses between attempts, in seconds.
        clock: monotonic seconds.
        rng: jitter of the pauses.
        slots: requests in flight; a pause between attempts holds none; None: no limit.

    Raises:
        ConfigError: the URL, a placeholder or a JMESPath expression is wrong.
    """

    def __init__(
        self,
        target: TargetSettings,
        *,
        environ: Mapping[str, str] = os.environ,
        sleep: Sleep = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        rng: random.Random | None = None,
        slots: Slots | None = None,
    ) -> None:
        self._target = target
        self._address = join_url(target.url, target.path)
        check_placeholders(target)
        self._map_request = compile_mapping(target.request, "request")
        self._map_response = compile_mapping(target.response, "response")
        self._stream = StreamRules(target) if target.stream != "off" else None
        self._auth = HeaderSource(target.auth, clock=clock) if target.auth is not None else None
        self._environ = environ
        # A word in the place of a key, such as 'test', would be removed from answers.
        written = filter(TOKEN.fullmatch, request_literals(target.request))
        self._known = (*reply_secrets(environ), *written)
        self._of_errors = environment_secrets(environ)
        self._clock = clock
        self._pacing = Pacing(sleep=sleep, rng=rng or random.Random(), slots=slots)
        self.takes_slots = slots is not None
        self._http = self._open()

    def __repr__(self) -> str:
        return f"HttpRagClient({self._address.shown!r})"

    def ask(self, request: AskRequest) -> AskResponse:
        """Ask and wait for the answer.

        Raises:
            EndpointError: the target failed, or its answer is empty.
            ConfigError: an environment variable is missing.
        """
        result = self.ask_result(request)
        if (error := result.error) is not None:
            raise EndpointError(error.kind, error.message, attempts=error.attempts)
        assert result.response is not None  # one of the two is always set
        return result.response

    def ask_result(self, request: AskRequest) -> AskResult:
        """Ask and wait for the result; failures of the target are data.

        Returns:
            The response, the error, or both for an empty answer; the time is that of the final
            attempt, from sending to the last byte.

        Raises:
            ConfigError: an environment variable is missing; nothing was sent.
        """
        return session_loop().run(self.ask_on_loop(request))

    async def ask_on_loop(self, request: AskRequest) -> AskResult:
        """Do as ``ask_result``, on the session's loop."""
        return (await self._exchange(request))[0]

    def inspect(self, request: AskRequest) -> tuple[AskResult, MappingReport]:
        """Ask like ``ask_result``, and report which expressions of the mappings gave nothing.

        Raises:
            ConfigError: an environment variable is missing; nothing was sent.
        """
        result, reply = session_loop().run(self._exchange(request))
        environment = resolve_request(self._target.request, self._environ)
        found = mapping_report(self._target, request_document(request, environment), reply)
        return result, replace(found, proposal=propose_chunks(self._target.response, reply))

    async def _exchange(self, request: AskRequest) -> tuple[AskResult, object]:
        """Return the result, and the decoded reply without secrets; None: it cannot be read."""
        target = self._target
        headers = resolve_headers(target.headers, self._environ)
        environment = resolve_request(target.request, self._environ)
        secrets = (
            *header_secrets(target.headers, self._environ),
            *environment.values(),
            *self._address.secrets,
            *self._known,
        )
        variables = request_document(request, environment)
        try:
            document = self._map_request(variables)
            # What a placeholder stands for, such as a user's name, is a value of the case.
            headers = filled_headers(target.headers, headers, variables)
            sent = self._request(document, headers, secrets, variables)
        except EndpointError as error:
            return _failed(error, attempts=0, total_ms=None, secrets=secrets), None
        spans = Spans(request.trace_id)
        last, attempts = await self._pacing.until_settled(
            lambda: self._pacing.in_slot(lambda: self._attempt(sent, spans)),
            retries=target.retries,
        )
        if self._auth is not None:
            secrets = (*secrets, *self._auth.secrets)
        result, reply = await computed(partial(self._result, last, attempts, secrets, document))
        asked = replace(
            result, trace_id=spans.trace_id, span_id=spans.span_id, asked_at=last.sent_at
        )
        return asked, reply

    def _request(
        self,
        document: object,
        headers: Mapping[str, str],
        secrets: Sequence[str],
        variables: Mapping[str, object],
    ) -> Request:
        address, content, target = self._address, b"", self._target
        path = filled_path(target.path, variables)
        if target.method == "GET":
            # The whole query is encoded anew, so that no value can add a parameter.
            if query := urlencode(query_parameters(document), errors="replace"):
                path += ("&" if "?" in path else "?") + query
        else:
            content = _encoded(document)
        if path != target.path:
            # Messages name the path as configured: a filled one may hold the question.
            base = address.url.removesuffix(target.path.lstrip("/"))
            address = replace(address, url=base + path.lstrip("/"))
        return Request(
            address=address,
            content=content,
            method=target.method,
            headers=headers,
            secrets=(*secrets, *address.secrets, *self._of_errors),
        )

    def close(self) -> None:
        """Close the connections; the client may be used again and then opens new ones."""
        self._http.close()

    async def _attempt(self, request: Request, spans: Spans) -> Attempt:
        async def once(request: Request) -> Attempt:
            return await self._timed(spans.traced(request))

        return await (once(request) if self._auth is None else self._auth.attempt(request, once))

    async def _timed(self, request: Request) -> Attempt:
        def timeout_text(fault: TransportError) -> str:
            if fault.name == "TotalTimeout":
                return self._timeout("no complete reply", "timeout_s")
            if fault.name == "ConnectTimeout":
                return self._timeout("no connection", "connect_timeout_s")
            return self._timeout("nothing received or sent", "read_timeout_s")

        reader, watch = None, Stopwatch(self._clock)
        request = replace(request, limit_s=self._target.timeout_s, watch=watch)
        if self._stream is not None:
            hide = partial(blot_out, secrets=request.secrets)
            reader = StreamReader(self._stream, watch, hide)
            request.on_piece = reader.feed
        done = await attempt(self._http, request, timeout_text)
        done.total_ms, done.sent_at = watch.elapsed_ms, watch.sent_at
        return done if reader is None else reader.timed(done)

    def _document(self, last: Attempt, secrets: Sequence[str]) -> tuple[object, str]:
        """Return a decoded reply, and the fault of a stream that ended early; empty: none.

        Raises:
            EndpointError: the reply cannot be read.
        """
        try:
            if self._stream is None:
                return parse_reply_bytes(last.body, partial(blot_out, secrets=secrets)), ""
            found: tuple[object, str] = last.reader.document(
                last.body, last.content_type, delimited=last.delimited
            )
            return found
        except EndpointError as error:
            advice = stream_advice(last.body, self._target.stream, last.content_type)
            raise EndpointError(error.kind, error.message + advice) from error

    def _timeout(self, what: str, setting: str) -> str:
        key = setting.removesuffix("_s")  # as users write it
        return f"{what} within {getattr(self._target, setting):g} s ({key} in {_TABLE})"

    def _open(self) -> Client:
        target = self._target

        def unless_total(limit: float) -> float | None:
            # The total timeout should fire first; with equal limits either might.
            return limit if limit < target.timeout_s else None

        return open_client(
            self._address,
            headers={
                "Content-Type": "application/json",
                "Accept": self._stream.accept if self._stream else "application/json",
            },
            connect_s=unless_total(target.connect_timeout_s),
            read_s=unless_total(target.read_timeout_s),
            # Sooner than uvicorn, which many targets run on, closes idle connections (5 s): a
            # request sent at that moment would fail.
            keepalive_s=2.0,
        )

    def _explained(self, error: EndpointError, raw: object, sent: object) -> EndpointError:
        """Add to an error where the settings can mend it."""
        if error.kind == "target":
            return error
        message = error.message
        if reported := reported_error(last_data(raw), self._hide):
            message = refusal(message, reported)
        elif message.startswith(ENDED_EARLY):
            pass  # the expressions are not at fault
        elif raw is not None and self._target.response is not None:
            found = mapping_report(self._target, {}, raw)
            message = found.explained(message, likely_stream_answer(raw))
            if self._target.stream in {"sse", "ndjson"} and last_data(raw) is raw:
                message += "; it came as one JSON document and not as a stream"
        elif message.startswith(("answer: ", "the reply: ")) and not message.endswith(" null"):
            message += f"; {map_answer(likely_stream_answer(raw))}"
        elif error.kind == "http":
            message += self._http_advice(message, sent)
        return EndpointError(error.kind, message)

    def _http_advice(self, message: str, sent: object) -> str:
        """Return where the settings can mend a status that is theirs; empty: it is not."""
        rpc = isinstance(sent, Mapping) and "jsonrpc" in sent
        if rpc and "session" in message.lower():
            return f"; {WANTS_SESSION}: name a function that opens one as auth in {_TABLE}"
        if _REFUSED.search(message):
            names = sent if isinstance(sent, Mapping) else ()
            lines = likely_request(message, names)
            mapped = f"map them in {REQUEST_TABLE}" + (f": {lines}" if lines else "")
            advice = self._preset_advice(f"path or a field of {REQUEST_TABLE}") or mapped
            as_json = "" if self._target.method == "GET" else " as JSON"
            if as_json and (name := missed_though_sent(message, names)):
                advice += f"; {name} was sent: {_FORM}"
            elif as_json and not lines and "; the reply begins: " in message:  # such as Flask's
                advice += f"; {_FORM}"
            return f"; fields sent{as_json}: {shown_keys(sent)}; {advice}"
        if status := _NOT_FOUND.search(message):
            other = f"if nothing is served there, set path in {_TABLE}, which is added to url"
            if status[1] == "405":
                other = f"it takes no {self._target.method} there: set method or path in {_TABLE}"
            return f"; {self._preset_advice('path') or other}"
        return ""

    def _preset_advice(self, own: str) -> str:
        """Return where settings of a preset can be mended, or ``own`` ones; empty: no preset."""
        if self._target.preset is None:
            return ""
        from pytest_rageval.project.presets.preset import load_preset

        preset = load_preset(self._target.preset)
        names = ", ".join(preset.variables)
        values = f" and its vars ({names})" if names else ""
        return (
            f"preset {preset.name!r} set this: check url{values}, or write a {own} of your own, "
            "which goes before the preset's"
        )

    def _response(self, raw: Any, cut: str, secrets: Sequence[str]) -> AskResponse:
        """Read a decoded reply; a stream that ended early gives only the error it reports."""
        try:
            if self._stream is not None and last_data(raw) is not raw:
                if reported := self._stream.error(raw["last"]):
                    raise EndpointError("target", reported)
            mapped = raw
            if self._target.response is not None:
                # Again, because a mapping may decode or join texts in which a secret was hidden.
                mapped = blot_out_of_reply(self._map_response(raw), secrets)
            response = parse_ask_response(mapped)
        except EndpointError as error:
            if not cut or error.kind == "target":
                raise
        if cut:
            raise EndpointError("protocol", cut)
        return response

    def _requoted(
        self, error: EndpointError, hidden: object, secrets: Sequence[str]
    ) -> EndpointError:
        """Return an error of a reply as the same reply without secrets gives it.

        Only so are they removed before a message is cut, and from no word that is not the reply's.
        """
        try:
            self._response(hidden, "", secrets)
        except EndpointError as found:
            return found if found.kind == error.kind else error
        return error

    def _hide(self, text: str) -> str:
        """Blot out what looks like a secret before a message is shortened in its middle."""
        return blot_out_written(text, self._of_errors)

    def _result(
        self, last: Attempt, attempts: int, secrets: Sequence[str], sent: object
    ) -> tuple[AskResult, object]:
        raw: Any = None
        try:
            if last.error is not None:
                raise last.error
            found, cut = self._document(last, (*secrets, *self._of_errors))
            raw = blot_out_of_reply(found, secrets)
            response = self._response(raw, cut, secrets)
        except EndpointError as error:
            hidden = blot_out_of_reply(raw, self._of_errors)
            error = self._requoted(error, hidden, secrets) if raw != hidden else error
            accepted = last.status == HTTPStatus.ACCEPTED and error.kind == "protocol"
            if not accepted or self._target.response is not None:
                error = self._explained(error, hidden, sent)
            if accepted:
                error = EndpointError(error.kind, f"{error.message}; {ANSWERED_LATER}")
            return _failed(error, attempts=attempts, total_ms=last.total_ms, secrets=secrets), raw
        ttft_ms = last.reader and last.reader.ttft_ms
        if ttft_ms is not None:
            response = replace(response, latency={**response.latency, "ttft_ms": ttft_ms})
        if not response.retrieved_chunks:
            response = replace(response, reply_keys=reply_keys(raw))
        reported = reported_error(last_data(raw), self._hide) if is_empty_answer(response) else ""
        return answered(response, total_ms=last.total_ms, attempts=attempts, reported=reported), raw


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
    message = blot_out_written(error.message, secrets)
    if attempts > 1:
        message += f" (after {attempts} attempts)"
    info = ErrorInfo(kind=error.kind, message=message, attempts=attempts)
    return AskResult(response=None, error=info, total_ms=total_ms, attempts=attempts)
