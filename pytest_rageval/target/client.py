"""The HTTP client of a target. Failures are returned as data."""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
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
from pytest_rageval.support.http.bodies import reported_error
from pytest_rageval.support.http.client import Client
from pytest_rageval.support.http.exchange import Attempt, Request, attempt, open_client
from pytest_rageval.support.http.pacing import Pacing, Sleep
from pytest_rageval.support.http.transport import Stopwatch
from pytest_rageval.support.in_flight import Slots
from pytest_rageval.support.text import clean
from pytest_rageval.support.threads import computed, session_loop
from pytest_rageval.target.calling import answered
from pytest_rageval.target.contract import (
    last_data,
    parse_ask_response,
    parse_reply_bytes,
    reply_keys,
    shown_keys,
)
from pytest_rageval.target.documents import HeaderSource
from pytest_rageval.target.likely import likely_request, missed_though_sent
from pytest_rageval.target.mapping import (
    MappingReport,
    compile_mapping,
    map_answer,
    mapping_report,
)
from pytest_rageval.target.proposing import (
    Proposal,
    propose_request,
    propose_response,
    read_from,
    skeleton,
    toml_rows,
)
from pytest_rageval.target.stream import (
    StreamReader,
    StreamRules,
    likely_stream_answer,
    stream_facts,
)
from pytest_rageval.target.tracing import Spans
from pytest_rageval.target.variables import (
    check_placeholders,
    filled_headers,
    filled_path,
    query_parameters,
    request_document,
)
from pytest_rageval.values.errors import EndpointError, target_error, with_facts
from pytest_rageval.values.reply import (
    AskRequest,
    AskResponse,
    AskResult,
    endpoint_error,
    error_info,
    is_empty_answer,
)
from pytest_rageval.values.settings import REQUEST_TABLE, TargetSettings

_CUT_STREAMS: Final = frozenset(
    {"stream_closed", "stream_text_closed", "stream_no_event", "stream_no_last_event"}
)


@dataclass(frozen=True, slots=True)
class Inspection:
    """One request to a target, with what was sent and what came."""

    result: AskResult
    report: MappingReport
    sent: tuple[str, ...] = ()
    """Lines of ``skeleton`` of the body."""
    reply: tuple[str, ...] = ()
    """Those of the decoded reply; empty: it cannot be read."""
    proposal: Proposal | None = None
    """Settings that read more; None if nothing is missing."""


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
            raise endpoint_error(error)
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

    def inspect(self, request: AskRequest, golds: Collection[str] = ()) -> Inspection:
        """Ask like ``ask_result``, and report what the mappings gave and which might give more.

        Args:
            request: to send. If the target misses a field of it, it is asked again with that one.
            golds: paths and headings that chunks may name.

        Raises:
            ConfigError: an environment variable is missing; nothing was sent.
        """
        target = self._target
        result, *documents = session_loop().run(self._exchange(request))
        sent, reply = (blot_out_of_reply(one, self._of_errors) for one in documents)
        variables = request_document(request, resolve_request(target.request, self._environ))
        report = mapping_report(target, variables, reply)
        found = Inspection(result, report, skeleton(sent), skeleton(reply))
        error, read = result.error, result.response
        if table := propose_request(target, error, sent):
            with closing(
                HttpRagClient(replace(target, request=table), environ=self._environ)
            ) as other:
                again = other.inspect(request, golds)
            tried = again.proposal or Proposal(reads=_read(again.result, table, target))
            tried = replace(tried, request=tried.request or table)
            return replace(found, reply=again.reply, proposal=tried if tried.reads else None)
        lacks = not (read and read.retrieved_chunks)
        lacks = error.kind in {"protocol", "empty"} if error else lacks
        if reply is not None and lacks:
            proposal = propose_response(target, reply, variables, golds)
            return replace(found, proposal=proposal)
        return found

    async def _exchange(self, request: AskRequest) -> tuple[AskResult, object, object]:
        """Return the result, and body and decoded reply without secrets; None if absent."""
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
            return _failed(error, attempts=0, total_ms=None, secrets=secrets), None, None
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
        return asked, blot_out_of_reply(document, secrets), reply

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
        target, reader, watch = self._target, None, Stopwatch(self._clock)
        limits = {
            "timeout_total": (target.timeout_s, "timeout"),
            "timeout_connect": (target.connect_timeout_s, "connect_timeout"),
            "timeout_read": (target.read_timeout_s, "read_timeout"),
        }
        request = replace(request, limit_s=target.timeout_s, watch=watch)
        if self._stream is not None:
            hide = partial(blot_out, secrets=request.secrets)
            reader = StreamReader(self._stream, watch, hide)
            request.on_piece = reader.feed
        done = await attempt(self._http, request, limits)
        done.total_ms, done.sent_at = watch.elapsed_ms, watch.sent_at
        return done if reader is None else reader.timed(done)

    def _document(
        self, last: Attempt, secrets: Sequence[str]
    ) -> tuple[object, EndpointError | None]:
        """Return a decoded reply, and the error of a stream that ended early; None: it did not.

        Raises:
            EndpointError: the reply cannot be read.
        """
        try:
            if self._stream is None:
                return parse_reply_bytes(last.body, partial(blot_out, secrets=secrets)), None
            found: tuple[object, EndpointError | None] = last.reader.document(
                last.body, last.content_type, delimited=last.delimited
            )
            return found
        except EndpointError as error:
            facts = stream_facts(last.body, self._target.stream, last.content_type)
            raise with_facts(error, **facts) from error

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
        """Add to an error where the settings can fix it."""
        if error.kind == "target":
            return error
        if reported := reported_error(last_data(raw), self._hide):
            return with_facts(error, reported=reported)
        if error.code in _CUT_STREAMS:
            return error  # the expressions are not at fault
        if raw is not None and self._target.response is not None:
            found = mapping_report(self._target, {}, raw)
            error = found.explained(error, likely_stream_answer(raw, sent))
            streamed = self._target.stream in {"sse", "ndjson"} and last_data(raw) is raw
            return with_facts(error, came_as="one JSON document" if streamed else "")
        facts = error.facts
        if error.code == "reply_field" and facts["field"] in {"answer", "the reply"}:
            absent = facts["got"] == "null"
            return (
                error
                if absent
                else with_facts(error, **map_answer(likely_stream_answer(raw, sent)))
            )
        return self._refused(error, sent) if error.kind == "http" else error

    def _refused(self, error: EndpointError, sent: object) -> EndpointError:
        """Add to a status that is a matter of the settings which one to change."""
        said = str(error.facts.get("reason") or error.facts.get("begins") or "")
        if isinstance(sent, Mapping) and "jsonrpc" in sent and "session" in said.lower():
            return with_facts(error, "http_session", setting="auth")
        method = self._target.method
        if error.code == "http_not_found":
            return with_facts(error, **(self._preset("path") or {"setting": "path"}))
        if error.code == "http_method":
            return with_facts(error, **(self._preset("path") or {"method": method}))
        if error.code != "http_fields":
            return error
        names = sent if isinstance(sent, Mapping) else ()
        lines = ", ".join(toml_rows(likely_request(said, names)))
        facts = self._preset(f"path or a field of {REQUEST_TABLE}")
        facts = facts or {"table": REQUEST_TABLE, "lines": lines}
        if method == "GET":
            return with_facts(error, query=shown_keys(sent), **facts)
        missed = missed_though_sent(said, names)
        form = not missed and not lines and "begins" in error.facts  # such as Flask's
        facts = {**facts, "missed": missed, "body": "form" if form else ""}
        return with_facts(error, sent=shown_keys(sent), **facts)

    def _preset(self, own: str) -> Mapping[str, str]:
        """Return the facts of a preset whose settings can be changed, or ``own``; empty: none."""
        if self._target.preset is None:
            return {}
        from pytest_rageval.project.presets.preset import load_preset

        preset = load_preset(self._target.preset)
        return {"preset": preset.name, "vars": ", ".join(preset.variables), "write": own}

    def _response(self, raw: Any, cut: EndpointError | None, secrets: Sequence[str]) -> AskResponse:
        """Read a decoded reply; a stream that ended early gives only the error it reports."""
        try:
            if self._stream is not None and last_data(raw) is not raw:
                if reported := self._stream.error(raw["last"]):
                    raise target_error("target_reported", reason=reported)
            mapped = raw
            if self._target.response is not None:
                # Again, because a mapping may decode or join texts in which a secret was hidden.
                mapped = blot_out_of_reply(self._map_response(raw), secrets)
            response = parse_ask_response(mapped)
        except EndpointError as error:
            if cut is None or error.kind == "target":
                raise
        if cut is not None:
            raise cut
        return response

    def _requoted(
        self, error: EndpointError, hidden: object, secrets: Sequence[str]
    ) -> EndpointError:
        """Return an error of a reply as the same reply without secrets gives it.

        Only so are they removed before a message is cut, and from no word that is not the reply's.
        """
        try:
            self._response(hidden, None, secrets)
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
                error = with_facts(error, accepted=HTTPStatus.ACCEPTED.value)
            return _failed(error, attempts=attempts, total_ms=last.total_ms, secrets=secrets), raw
        ttft_ms = last.reader and last.reader.ttft_ms
        if ttft_ms is not None:
            response = replace(response, latency={**response.latency, "ttft_ms": ttft_ms})
        if not response.retrieved_chunks:
            response = replace(response, reply_keys=reply_keys(raw))
        reported = reported_error(last_data(raw), self._hide) if is_empty_answer(response) else ""
        return answered(response, total_ms=last.total_ms, attempts=attempts, reported=reported), raw


def _read(result: AskResult, table: Mapping[str, str], target: TargetSettings) -> str:
    """Describe the result of asking with another table; empty: its fields are still missing."""
    if result.response is not None:
        return read_from(result.response)
    said = result.error.message if result.error else ""
    new = table.keys() - (target.request or {})
    return "" if any(name.rpartition(".")[2] in said for name in new) else said


def _encoded(body: object) -> bytes:
    try:
        # ASCII, so that even a lone surrogate in a question can be sent.
        return json.dumps(body, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise target_error("request_not_json", reason=clean(str(error), 80)) from error


def _failed(
    error: EndpointError, *, attempts: int, total_ms: float | None, secrets: Sequence[str]
) -> AskResult:
    error = with_facts(error, attempts=attempts if attempts > 1 else None)
    info = error_info(error, partial(blot_out_written, secrets=secrets), attempts=attempts)
    return AskResult(response=None, error=info, total_ms=total_ms, attempts=attempts)
