"""The diagnoses of a target: what happened, and what to do about it.

A failure is a code with facts. This table alone makes sentences of them, so other code reads the
code and the facts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from pytest_rageval.values.diagnoses.table import (
    PLAIN_HTTP,
    TRUST_ISSUER,
    Advice,
    Audience,
    Diagnosis,
    Fact,
    Facts,
    TargetErrorKind,
    chosen,
    joined,
    sentence,
)
from pytest_rageval.values.settings import REQUEST_TABLE, RESPONSE_TABLE

TURN_NOT_REACHED: Final = "turn_not_reached"
"""Code of the turns of a conversation after one that ended in an error."""
_Row = Diagnosis[TargetErrorKind]
_TABLE: Final = "[tool.rageval.target]"
_SEE_LOG: Final = "check the server log, and any proxy in front of it"
_LOG: Final = "Look at the target's log for this question."
_REPORTED: Final = f"fix {REQUEST_TABLE} as the message says, or check the log of the target"
_START: Final = "start the service, or name its address with --rag-url"
_SLOW: Final = {
    "setting": "find out why it takes so long, or raise that timeout",
    "": f"find out why it takes so long, or raise timeout in {_TABLE}",
}
_FORM: Final = "an API that reads a form needs a client in Python"
_RUN: Final[Mapping[TargetErrorKind, str]] = {
    "timeout": "Find out which phase of the target is slow, or raise --rag-timeout.",
    "connection": "Is the target up, and is --rag-url right?",
    "target": "The target reports this error itself: look at its log for this question.",
    "protocol": "Run rageval doctor: it asks one case and says how to read the reply.",
    "raised": "Fix your client at the place that the message names.",
    "fixture": "Fix the fixture at the place that the message names.",
    "empty": "Return an answer, or set abstained = true; for a search without answers, set "
    "retrieval_only = true in [tool.rageval] and return a placeholder such as '-'.",
    "not_attempted": "Go on with --rageval-resume, or pytest --lf, once the cause is gone.",
    "http": _LOG,
}
_TOKEN: Final = f"the token or key that headers or auth in {_TABLE} sends"


_LOST: Final = sentence(_SEE_LOG)
_LESS: Final = "let the target send less, such as fewer or shorter chunks"
_EMBEDDER: Final = f"check the server of embeddings that embedded in {_TABLE} names"
_CSRF: Final = "exempt this endpoint from the CSRF check, such as with csrf_exempt in Django"
_SESSION: Final = 'set auth = "mcp_session:headers" and write mcp_session.py of docs/streams.md'
_DOCUMENTS: Final = "set path in [tool.rageval.documents] to the one that takes documents"
_NAME_FIELDS: Final = (
    f"Name the fields of your API in {REQUEST_TABLE}; if it answers other cases, look at its log "
    "for this question."
)
_PLACE: Final = (
    f"Set url, path and method in {_TABLE} to those of your endpoint; if it answers other cases, "
    "look at its log for this question."
)


def _http(*more: str, run: Advice = _LOG, doctor: Advice, check: str = "", **example: Fact) -> _Row:
    """Return the diagnosis of a status that is not 2xx."""
    says = ("{address}: ", "{verb}: ", "HTTP {status}", ": {reason}", "; asks to wait {pause_s} s")
    return Diagnosis(
        kind="http",
        says=(*says, "; the reply begins: {begins}", *more),
        run=run,
        doctor=doctor,
        check=check,
        examples=({"address": "http://bot/ask", **example},),
    )


def _stream(*says: str, doctor: Advice, **example: Fact) -> _Row:
    parts = ("the stream ended early: ", *says)
    return Diagnosis(kind="protocol", says=parts, doctor=doctor, examples=(example,))


def _timeout(what: str, doctor: Advice, setting: str, run: Advice = "") -> _Row:
    return Diagnosis(
        kind="timeout",
        says=("{address}: ", f"{what} within {{limit_s}} s", f" ({{setting}} in {_TABLE})"),
        run=run,
        doctor=doctor,
        examples=({"address": "http://bot/ask", "limit_s": "60", "setting": setting},),
    )


def _connection(text: str, doctor: Advice = _START, *, run: Advice = "", **example: Fact) -> _Row:
    shown = {"address": "http://bot/ask", **example}
    says = ("{address}: ", text)
    return Diagnosis(kind="connection", says=says, run=run, doctor=doctor, examples=(shown,))


def _reply(*says: str, doctor: Advice = "", **example: Fact) -> _Row:
    parts = ("{address}: ", *says)
    return Diagnosis(kind="protocol", says=parts, doctor=doctor, examples=(example,))


def _model_reply(*says: str, **example: Fact) -> _Row:
    fix = "name the address of another endpoint or another model"
    return _reply(*says, doctor=fix, address="http://localhost:8080/v1/embeddings", **example)


def _request(*says: str, check: str = "request", **example: Fact) -> _Row:
    fix = f"fix the value in the case, or the setting in {_TABLE}"
    return Diagnosis(kind="protocol", says=says, doctor=fix, check=check, examples=(example,))


def _placeholder(fault: str, setting: str, **example: Fact) -> _Row:
    given: dict[str, Any] = {
        "setting": setting,
        "placeholder": "{case.metadata.user}",
        "case": "refund",
        **example,
    }
    return _request(
        f"{_TABLE} {{setting}}: {{placeholder}} {fault}",
        "{hint}",
        " (case {case})",
        " (question of {asker})",
        **given,
    )


_PRESET: Final = (
    "; preset {preset!r} set this: check url",
    " and its vars ({vars})",
    ", or write a {write} of your own, which goes before the preset's",
)
_OTHER_PLACE: Final = f'set path in {_TABLE} to that of your endpoint, such as path = "/chat"'
_READ_AS: Final = {
    "stream": "set stream as the message says",
    "": f"set path, headers or stream in {_TABLE}, so that the reply can be read",
}
_LAST_EVENT: Final = f"set last_event in {_TABLE} to an expression that only the last event matches"

TARGET: Final[Mapping[str, _Row]] = {
    # --- no reply --------------------------------------------------------------------------
    "timeout_total": _timeout("no complete reply", _SLOW, "timeout"),
    "timeout_read": _timeout("nothing received or sent", _SLOW, "read_timeout"),
    "timeout_connect": _timeout("no connection", _START, "connect_timeout", _RUN["connection"]),
    "connection_refused": _connection(
        "connection refused: is the server running, and on this port?"
    ),
    "connection_reset": _connection(
        "connection reset: the server closed it before the reply was complete",
        _SEE_LOG,
        run=_LOST,
    ),
    "connection_cut": _connection(
        "the connection ended before the reply was complete", _SEE_LOG, run=_LOST
    ),
    "connection_unresolved": _connection("the host name cannot be resolved"),
    "connection_failed": _connection(
        "connection failed: {reason}", reason="Network is unreachable"
    ),
    "tls_untrusted": _connection(
        "connection failed: {reason}",
        TRUST_ISSUER,
        run=sentence(TRUST_ISSUER),
        reason="certificate verify failed: self-signed certificate",
    ),
    "tls_absent": _connection(
        "connection failed: {reason}",
        PLAIN_HTTP,
        run=sentence(PLAIN_HTTP),
        reason="[SSL: WRONG_VERSION_NUMBER] wrong version number",
    ),
    "embedder_failed": Diagnosis(
        kind="connection",
        says=("{setting}: {reason}",),
        run=sentence(_EMBEDDER),
        doctor=_EMBEDDER,
        examples=({"setting": f"{_TABLE} embedded", "reason": "HTTP 503 from the embedder"},),
    ),
    # --- a status --------------------------------------------------------------------------
    "http_moved": _http(
        " redirects to {location}; redirects are not followed: set the URL to the final address",
        ", or set headers if it asks for a {page}",
        run=f"Set url and path in {_TABLE} to the final address, or headers for a login.",
        doctor=_OTHER_PLACE,
        status=302,
        location="http://bot/login",
        page="login",
    ),
    "http_fields": _http(
        "; fields sent as JSON: {sent}",
        "; fields sent: {query}",
        *_PRESET,
        "; map them in {table}",
        ": {lines}",
        f"; {{missed}} was sent: {_FORM}",
        "; an API that reads a {body} needs a client in Python",
        run={
            "write": _NAME_FIELDS,
            "table": _NAME_FIELDS,
            "": _LOG,
        },
        doctor={
            "lines": f"write that in {REQUEST_TABLE}, and a line for each other field of your API",
            "": f'name the fields of your API in {REQUEST_TABLE}, such as q = "question"',
        },
        check="request",
        status=422,
        reason="body.q: Field required",
        sent="k, question",
        table=REQUEST_TABLE,
        lines='q = "question"',
    ),
    "http_unauthorized": _http(
        run=f"Check {_TOKEN}.", doctor=f"check {_TOKEN}", check="auth", status=401, reason="no key"
    ),
    "http_forbidden": _http(
        run=f"Check {_TOKEN}, and what it may access.",
        doctor=f"check {_TOKEN}",
        check="auth",
        status=403,
        reason="not allowed",
    ),
    "http_csrf": _http(
        run=sentence(_CSRF),
        doctor=_CSRF,
        check="auth",
        status=403,
        begins="403 Forbidden CSRF verification failed. Request aborted.",
    ),
    "http_not_found": _http(
        *_PRESET,
        f"; if the endpoint has another path, set {{setting}} in {_TABLE}, which is added to url",
        run=_PLACE,
        doctor=_OTHER_PLACE,
        status=404,
        reason="Not Found",
        setting="path",
    ),
    "http_method": _http(
        *_PRESET,
        f"; it does not accept {{method}} there: set method or path in {_TABLE}",
        run=_PLACE,
        doctor=_OTHER_PLACE,
        status=405,
        reason="Method Not Allowed",
        method="POST",
    ),
    "http_session": _http(
        "; the server requires a session: name a function that opens one as {setting} in "
        f"{_TABLE}",
        run=sentence(_SESSION),
        doctor=_SESSION,
        check="session",
        status=400,
        reason="Missing session ID",
        setting="auth",
    ),
    "http_rate_limit": _http(
        run="Lower --rageval-concurrency, or use a key with a higher limit.",
        doctor="ask again later, or use a key with a higher limit",
        status=429,
        reason="rate limit",
        pause_s=120,
    ),
    "http_server": _http(doctor=_SEE_LOG, status=500, reason="no such model", attempts=4),
    "http_status": _http(
        doctor=f"answer POST {{url}}/api/v1/ask with 200, or set path and headers in {_TABLE}",
        status=418,
        begins="I'm a teapot",
    ),
    "documents_refused": Diagnosis(
        kind="http",
        says=(
            "{address}: HTTP {status} to {verb}: the target accepts no documents here; set "
            "path in [tool.rageval.documents], or write a rag_client fixture that loads the "
            "documents of the fixture rageval_documents",
        ),
        run=sentence(_DOCUMENTS),
        doctor=_DOCUMENTS,
        examples=({"address": "http://bot/documents", "status": 404, "verb": "PUT"},),
    ),
    # --- a request that was not sent -------------------------------------------------------
    "placeholder_empty": _placeholder("has no value", "path"),
    "placeholder_object": _placeholder("must be text or a number, but is an object", "path"),
    "placeholder_path": _placeholder(
        "is {found}, which would change the path", "path", found="'..'"
    ),
    "placeholder_unicode": _placeholder("is not valid Unicode", "path"),
    "placeholder_header": _placeholder(
        "contains a character that headers do not allow", "headers.X-User"
    ),
    "query_shape": _request(
        f"a GET sends its request as a query, so request in {_TABLE} must be a table of fields"
    ),
    "query_field": _request(
        f"{_TABLE} request.{{field}}: must be text, a number or a list of them, as a GET sends it "
        "in the query",
        field="filter",
    ),
    "request_not_json": _request(
        "the request cannot be sent as JSON: {reason}", reason="Out of range float values"
    ),
    # --- a stream --------------------------------------------------------------------------
    "stream_lost": _reply(
        "{cause}",
        "; the stream ended early, after {n_events:event}",
        "; the stream ended early, after {n_bytes:byte}",
        doctor=_SEE_LOG,
        cause="http://bot/ask: the connection ended before the reply was complete",
        n_events=3,
    ),
    "stream_text_closed": _stream(
        "the connection closed without an end marker, so text may be missing; send it in {form} "
        "(HTTP/1.1), as gunicorn and uvicorn do",
        doctor="run the target under such a server",
        form="chunks",
    ),
    "stream_no_event": _stream(
        "no event arrived",
        "; it begins: {begins}",
        "; it is {size}",
        doctor=f"set stream in {_TABLE} to the format of the reply, or remove it",
        begins='{"answer": "Yes."}',
    ),
    "stream_closed": _stream(
        "the connection closed without an end marker, so events may be missing; name the event "
        f"that ends it: {{setting}} in {_TABLE}",
        doctor=_LAST_EVENT,
        setting="last_event",
    ),
    "stream_no_last_event": _stream(
        "last_event `{last_event}` matches none of its {n_events:event}",
        " ({names})",
        "; keys of the last one's data: {last_keys}",
        doctor=_LAST_EVENT,
        last_event="event == 'end'",
        n_events=3,
        names="2 token, 1 done",
        last_keys="answer, sources",
    ),
    "stream_too_long": _reply("the stream has more than {most} events", doctor=_LESS, most=200_000),
    "stream_event_deep": _reply(
        "the data of an event is nested deeper than {levels} levels", levels=100
    ),
    "stream_line_deep": _reply(
        "line {line} of the stream is nested deeper than {levels} levels", line=2, levels=100
    ),
    "stream_line_not_json": _reply(
        "line {line} of the stream is not JSON; it begins: {begins}", line=2, begins="event: done"
    ),
    # --- a reply that cannot be read -------------------------------------------------------
    "reply_undecodable": _reply(
        "the reply cannot be decoded: {reason}",
        doctor="fix Content-Encoding in the target or the proxy in front of it",
        address="http://bot/ask",
        reason="incorrect header check",
    ),
    "reply_head_too_large": _reply(
        "the headers of the reply are too large: {reason}",
        doctor="let the target, or the proxy in front of it, send fewer headers",
        address="http://bot/ask",
        reason="over 100 kB",
    ),
    "reply_too_large": _reply(
        "the reply is ",
        "larger than {limit_mb} MB",
        "too large: {reason}",
        doctor=_LESS,
        address="http://bot/ask",
        limit_mb=8,
    ),
    "reply_not_utf8": _reply(
        "the reply is not UTF-8: byte 0x{byte} at offset {offset}; expected JSON in UTF-8",
        doctor=_READ_AS,
        byte="ff",
        offset=7,
    ),
    "reply_empty": _reply(
        "the reply is {size}; expected a JSON object", doctor=_READ_AS, size="empty"
    ),
    "reply_not_json": _reply(
        "the reply is not JSON",
        " (line {line})",
        "; it begins: {begins}",
        doctor=_READ_AS,
        line=1,
        begins="data: {}",
        looks_like="server-sent events",
        stream="sse",
    ),
    "reply_html": _reply(
        "the reply is HTML",
        " (line {line})",
        "; it begins: {begins}",
        doctor={
            **_READ_AS,
            "": f"set path and headers in {_TABLE}, or turn HTML into text in a client in Python",
        },
        line=1,
        begins="<html><title>Sign in</title>",
    ),
    "reply_no_text": _reply(
        "the reply is not plain text; it begins: {begins}",
        doctor=_READ_AS,
        begins='data: {"token": "Yes"}',
    ),
    "reply_deep": _reply(
        "the reply is nested ",
        "deeper than {levels} levels",
        "too deeply to be {use}",
        doctor=_READ_AS,
        levels=100,
    ),
    "reply_too_long": _reply(
        "the reply has over {most} characters", doctor=_LESS, most="50,000,000"
    ),
    "reply_field": _reply(
        "{field}: expected {expected}, got {got}",
        ", by `{expression}` in " + RESPONSE_TABLE,
        f"; map it: {RESPONSE_TABLE} answer = {{likely}}",
        f"; map it with {{unmapped}} in {RESPONSE_TABLE}",
        "; return {returned} as answer",
        "; pytest_rageval.{maker} turns the documents of a framework into chunks",
        field="answer",
        expected="a string",
        got="nothing (fields: choices, id)",
        likely='"choices[0].message.content"',
    ),
    "reply_type": _reply(
        "{client} returned {got}; expected an AskResponse or a dict with the key answer",
        ", built from what it {gives}",
        client="answer()",
        got="a generator",
        gives="yields",
    ),
    "mapping_nothing": _reply(
        f"{{field}}: `{{expression}}` in {RESPONSE_TABLE} gave nothing",
        field="answer",
        expression="output.text",
        keys="choices, id",
    ),
    "mapping_failed": _reply(
        "{setting} cannot be applied: {reason}",
        "; write {instead} if a piece may be a list",
        setting=f"{_TABLE} response.answer",
        reason='In function join(), invalid type for value: 7, received: "list"',
        instead="join('', map(&to_string(@), ...))",
    ),
    "mapping_too_large": _reply(
        "{setting}: the result has over {most} characters",
        doctor="map less of the reply or of the case",
        setting=f"{_TABLE} response",
        most="50,000,000",
    ),
    "no_chunks": _reply(
        "the target reports no debug.retrieved_chunks, so no evidence can be looked for in it",
        doctor=f"map retrieved_chunks in {RESPONSE_TABLE}",
    ),
    # --- a model of embeddings or a reranker -----------------------------------------------
    "no_embeddings": _model_reply(
        "not a reply with embeddings: {reason}", reason="Expected `object`, got `array`"
    ),
    "vector_count": _model_reply(
        "{n:vector} for {n_texts:text}, expected one each by index", n=2, n_texts=3
    ),
    "vector_lengths": _model_reply(
        "vectors of {least} and of {most} numbers, expected one length for all texts",
        least=256,
        most=384,
    ),
    "no_ranks": _model_reply(
        "not a reply with scores: {reason}", reason="no score for any of 5 documents"
    ),
    # --- a dataset that is downloaded ------------------------------------------------------
    "dataset_unread": _reply(
        "ir-datasets: {name} cannot be read from {folder}: {reason}",
        name="beir/arguana",
        folder="~/.ir_datasets",
        reason="BadZipFile: File is not a zip file",
        doctor="delete its folder there; the next import downloads it again",
    ),
    "dataset_lost": Diagnosis(
        kind="connection",
        says=(
            "ir-datasets: {name} cannot be downloaded into {folder}: {reason}; without a network, "
            "copy that folder from a machine that has the dataset, or name a copy in {variable}",
        ),
        run="Repeat the command with a network, or copy the folder.",
        doctor="repeat the command with a network, or copy the folder",
        examples=(
            {
                "name": "beir/arguana",
                "folder": "~/.ir_datasets",
                "reason": "no connection to example.org",
                "variable": "IR_DATASETS_HOME",
            },
        ),
    ),
    # --- a cassette ------------------------------------------------------------------------
    "cassette_missing": _reply(
        "no cassette {cassette}: record it with --record-mode=once; nothing was sent",
        doctor="record it with --record-mode=once",
        cassette="evals/cassettes/cases/refund.yaml",
    ),
    "cassette_request": _reply(
        "the cassette {cassette} does not contain this request ({request}), or its reply was "
        "used already: record the case again with --record-mode=rewrite; nothing was sent",
        doctor="record the case again with --record-mode=rewrite",
        cassette="evals/cassettes/cases/refund.yaml",
        request="POST to bot/ask",
    ),
    "cassette_coding": _reply(
        "the reply is compressed as '{coding}', which cannot be searched for secrets, so it is not "
        "recorded; let the server reply with gzip",
        doctor="let the server reply with gzip",
        coding="zstd",
    ),
    # --- an error that the target or the project's code reports ----------------------------
    "target_reported": Diagnosis(
        kind="target",
        says=("{reason}",),
        doctor=_REPORTED,
        examples=({"reason": "no chat with this id"},),
    ),
    "answer_empty": Diagnosis(
        kind="empty",
        says=("the answer is empty and abstained is not {abstained}",),
        examples=({"abstained": "true"}, {"abstained": "true", "reported": "quota exceeded"}),
    ),
    TURN_NOT_REACHED: Diagnosis(
        kind="not_attempted",
        says=("not asked, because turn {turn} of the conversation ended in an error",),
        run="Fix the error of that turn; the turns after it are asked once it is answered.",
        doctor="fix the error of that turn",
        examples=({"turn": 2},),
    ),
    "raised": Diagnosis(
        kind="raised",
        says=("{exception}", ": {said}", "; the reply says: {reason}", ", which contains {inner}"),
        examples=({"exception": "KeyError", "said": "'answer'"},),
    ),
}
_TAILS: Final = (
    f'; it looks like {{looks_like}}: set stream = "{{stream}}" in {_TABLE}',
    "; keys of the reply: {keys}",
    "; it is {came_as}, not a stream",
)
_LAST: Final = (
    ", at {place}",
    "; HTTP {accepted}: the answer comes later; wait for it in a client in Python",
    " (after {attempts:attempt})",
)
_LATER: Final = f"write a rag_client fixture, or the client that {_TABLE} names"


def target_sentence(code: str, facts: Facts, message: str = "") -> str:
    """Say what happened, on one line.

    Args:
        code: key of ``TARGET``; of any other, ``message`` is what happened.
        facts: as far as they are known.
        message: sentence of code that is not ours.
    """
    row = TARGET.get(code)
    text = message if row is None else joined(row.says, facts)
    text += joined(_TAILS, facts)
    if reported := facts.get("reported"):
        text = f"the reply reports an error: {reported} ({text})"
    return text + joined(_LAST, facts)


def target_advice(code: str, kind: TargetErrorKind, facts: Facts, audience: Audience) -> str:
    """Say what to do; empty: the table does not know.

    Args:
        code: key of ``TARGET``, or another text.
        kind: of the error.
        facts: of the error.
        audience: who reads it: after a run, or in `rageval doctor`.
    """
    row = TARGET.get(code)
    if audience == "doctor":
        if "accepted" in facts:
            return _LATER
        fix = chosen(row.doctor, facts) if row else ""
        return fix or (_REPORTED if "reported" in facts else "")
    fix = chosen(row.run, facts) if row else ""
    if not fix and kind == "protocol":
        fix = sentence(target_advice(code, kind, facts, "doctor"))
    return fix or _RUN[kind]


_STATUS_CODES: Final[Mapping[int, str]] = {
    400: "http_fields",
    401: "http_unauthorized",
    403: "http_forbidden",
    404: "http_not_found",
    405: "http_method",
    422: "http_fields",
    429: "http_rate_limit",
}


def http_code(status: int, said: str = "") -> str:
    """Return the code of a status that is not 2xx.

    Args:
        status: of the reply.
        said: reason or beginning of the reply.
    """
    if status == 403 and "CSRF" in said:
        return "http_csrf"
    if 300 <= status < 400:
        return "http_moved"
    return _STATUS_CODES.get(status, "http_server" if status >= 500 else "http_status")


_UNTRUSTED: Final = re.compile("self.signed certificate|local issuer certificate")
_NO_TLS: Final = re.compile("WRONG_VERSION_NUMBER|RECORD_LAYER_FAILURE|record layer failure")
"""Errors of OpenSSL, by its version, at a server that answers without TLS."""


def tls_code(reason: str) -> str:
    """Return the code of a reason of OpenSSL; empty: it is another one."""
    if _UNTRUSTED.search(reason):
        return "tls_untrusted"
    return "tls_absent" if _NO_TLS.search(reason) else ""
