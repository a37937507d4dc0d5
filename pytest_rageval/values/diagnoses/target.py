"""The diagnoses of a target: what happened, and what to do about it.

A failure is a code with facts. This table alone makes sentences of them, so other code reads the
code and the facts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from pytest_rageval.values.diagnoses.table import (
    Advice,
    Audience,
    Diagnosis,
    Fact,
    Facts,
    TargetErrorKind,
    chosen,
    joined,
)
from pytest_rageval.values.settings import REQUEST_TABLE, RESPONSE_TABLE

_Row = Diagnosis[TargetErrorKind]
_TABLE: Final = "[tool.rageval.target]"
_SEE_LOG: Final = "check the server log, and any proxy in front of it"
_LOG: Final = "Look at the target's log for this question."
_REPORTED: Final = f"fix what it names in {REQUEST_TABLE}, or check the log of the target"
_START: Final = "start the service, or name its address with --rag-url"
_SLOW: Final = {
    "setting": "find out why it takes so long, or allow more time there",
    "": f"find out why it takes so long, or allow more time (`timeout` in {_TABLE})",
}
_FORM: Final = "an API that reads a form needs a client in Python"
_RUN: Final[Mapping[TargetErrorKind, str]] = {
    "timeout": "Raise --rag-timeout, or look at which phase of the target is slow.",
    "connection": "Is the target up, and is --rag-url right?",
    "target": "The target reports this error itself: look at its log for this question.",
    "protocol": "Compare the target's reply with what rageval doctor expects of it.",
    "raised": "Fix the client at the place named there.",
    "fixture": "Fix the fixture at the place named there.",
    "empty": "Return an answer, or set abstained = true; a search without answers returns a "
    "placeholder, such as '-', with retrieval_only = true in [tool.rageval].",
    "not_attempted": "Run it again with pytest --lf once the cause is gone.",
    "http": _LOG,
}
_TOKEN: Final = f"the token or key that headers or auth of {_TABLE} send"


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


def _timeout(what: str, doctor: Advice, setting: str) -> _Row:
    return Diagnosis(
        kind="timeout",
        says=("{address}: ", f"{what} within {{limit_s}} s", f" ({{setting}} in {_TABLE})"),
        doctor=doctor,
        examples=({"address": "http://bot/ask", "limit_s": "60", "setting": setting},),
    )


def _connection(text: str, doctor: Advice = _START, *, run: Advice = "", **example: Fact) -> _Row:
    shown = {"address": "http://bot/ask", **example}
    says = ("{address}: ", text)
    return Diagnosis(kind="connection", says=says, run=run, doctor=doctor, examples=(shown,))


def _reply(*says: str, doctor: Advice = "", **example: Fact) -> _Row:
    return Diagnosis(kind="protocol", says=says, doctor=doctor, examples=(example,))


def _request(*says: str, check: str = "request", **example: Fact) -> _Row:
    fix = f"give the case what its request needs, or change the setting in {_TABLE}"
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
        " in case {case}",
        " for a question that {asker} asks",
        **given,
    )


_PRESET: Final = (
    "; preset {preset!r} set this: check url",
    " and its vars ({vars})",
    ", or write a {write} of your own, which goes before the preset's",
)
_OTHER_PLACE: Final = f'set that in {_TABLE}, such as path = "/chat", or answer there with 200'
_READ_AS: Final = {
    "stream": "write that there",
    "": f"set path, headers or stream in {_TABLE}, so that the reply can be read",
}
_LAST_EVENT: Final = (
    f"set last_event in {_TABLE} to an expression that matches the last event alone"
)

TARGET: Final[Mapping[str, _Row]] = {
    # --- no reply --------------------------------------------------------------------------
    "timeout_total": _timeout("no complete reply", _SLOW, "timeout"),
    "timeout_read": _timeout("nothing received or sent", _SLOW, "read_timeout"),
    "timeout_connect": _timeout("no connection", _START, "connect_timeout"),
    "connection_refused": _connection("connection refused: does the server run, and on this port?"),
    "connection_reset": _connection(
        "connection reset: the server closed it before the reply was complete"
    ),
    "connection_cut": _connection("connection cut short: the reply is not complete HTTP", _SEE_LOG),
    "connection_unresolved": _connection("the host name cannot be resolved"),
    "connection_failed": _connection(
        "connection failed: {reason}", reason="Network is unreachable"
    ),
    "tls_untrusted": _connection(
        "connection failed: {reason}",
        "export SSL_CERT_FILE=... with the PEM file of its certificate or of its issuer",
        run="Export SSL_CERT_FILE=... with the PEM file of its certificate or of its issuer.",
        reason="certificate verify failed: self-signed certificate",
    ),
    "tls_absent": _connection(
        "connection failed: {reason}",
        "write http:// in its address: what answers there does not speak TLS",
        run="Write http:// in its address: what answers there does not speak TLS.",
        reason="[SSL: WRONG_VERSION_NUMBER] wrong version number",
    ),
    "embedder_failed": Diagnosis(
        kind="connection",
        says=("{setting}: {reason}",),
        doctor=_START,
        examples=({"setting": f"{_TABLE} embedded", "reason": "HTTP 503 from the embedder"},),
    ),
    # --- a status --------------------------------------------------------------------------
    "http_moved": _http(
        " redirects to {location}; redirects are not followed: set the URL to the address itself",
        ", or headers if it leads to a {page}",
        run=f"Set url and path in {_TABLE} to the address that it redirects to, or headers if that "
        "is a login.",
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
            "write": f"Name the fields of your API in {REQUEST_TABLE}; where it answers "
            "other cases, look at its log for this question.",
            "table": f"Name the fields of your API in {REQUEST_TABLE}; where it answers "
            "other cases, look at its log for this question.",
            "": _LOG,
        },
        doctor={
            "lines": "write that there, and a line for each other field of your API",
            "": 'name the fields of your API there, such as q = "question"',
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
        run=f"Check {_TOKEN}, and what it may read.",
        doctor=f"check {_TOKEN}",
        check="auth",
        status=403,
        reason="not allowed",
    ),
    "http_csrf": _http(
        run=f"Check {_TOKEN}, and what it may read.",
        doctor="exempt this view from the CSRF check, as csrf_exempt of Django does",
        check="auth",
        status=403,
        begins="403 Forbidden CSRF verification failed. Request aborted.",
    ),
    "http_not_found": _http(
        *_PRESET,
        f"; if nothing is served there, set {{setting}} in {_TABLE}, which is added to url",
        doctor=_OTHER_PLACE,
        status=404,
        reason="Not Found",
        setting="path",
    ),
    "http_method": _http(
        *_PRESET,
        f"; it does not accept {{method}} there: set method or path in {_TABLE}",
        doctor=_OTHER_PLACE,
        status=405,
        reason="Method Not Allowed",
        method="POST",
    ),
    "http_session": _http(
        "; the server requires a session: name a function that opens one as {setting} in "
        f"{_TABLE}",
        doctor='write auth = "mcp_session:headers", with the function of '
        "docs/streams.md#mcp-servers",
        check="session",
        status=400,
        reason="Missing session ID",
        setting="auth",
    ),
    "http_rate_limit": _http(
        run="Ask fewer questions at once (--rageval-concurrency), or with a key of a higher limit.",
        doctor="ask again later, or with a key of a higher limit",
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
            "another path in [tool.rageval.documents], or pass them on in a custom rag_client "
            "fixture, from the fixture rageval_documents",
        ),
        doctor=_OTHER_PLACE,
        examples=({"address": "http://bot/documents", "status": 404, "verb": "PUT"},),
    ),
    # --- a request that was not sent -------------------------------------------------------
    "placeholder_empty": _placeholder("has no value", "path"),
    "placeholder_object": _placeholder("is an object, expected text or a number", "path"),
    "placeholder_path": _placeholder(
        "is {found}, which would name another path", "path", found="'..'"
    ),
    "placeholder_unicode": _placeholder("is not valid Unicode", "path"),
    "placeholder_header": _placeholder(
        "contains a character that headers do not allow", "headers.X-User"
    ),
    "query_shape": _request("a GET needs a request that is an object"),
    "query_field": _request(
        f"{_TABLE} request.{{field}}: expected text, a number or a list of them in a GET",
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
        cause="http://bot/ask: connection cut short: the reply is not complete HTTP",
        n_events=3,
    ),
    "stream_text_closed": _stream(
        "the connection was closed, so the stream may be incomplete; serve it in {form} of "
        "HTTP/1.1, as gunicorn and uvicorn do",
        doctor="run it on such a server",
        form="chunks",
    ),
    "stream_no_event": _stream(
        "no event arrived",
        "; it begins: {begins}",
        "; it is {size}",
        doctor=f"set stream in {_TABLE} to the form in which the target answers",
        begins='{"answer": "Yes."}',
    ),
    "stream_closed": _stream(
        "the connection was closed, so the stream may be incomplete; name the event that "
        f"ends it: {{setting}} in {_TABLE}",
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
    "stream_too_long": _reply("the stream has more than {most} events", most=200_000),
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
        "{address}: ",
        "the reply cannot be decoded: {reason}",
        address="http://bot/ask",
        reason="incorrect header check",
    ),
    "reply_head_too_large": _reply(
        "{address}: the head of the reply is too large: {reason}",
        address="http://bot/ask",
        reason="over 100 kB",
    ),
    "reply_too_large": _reply(
        "{address}: the reply is ",
        "larger than {limit_mb} MB",
        "too large: {reason}",
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
            "stream": "write that there",
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
    "reply_too_long": _reply("the reply has over {most} characters", most="50,000,000"),
    "reply_field": _reply(
        "{field}: expected {expected}, got {got}",
        ", by `{expression}` in " + RESPONSE_TABLE,
        f"; map it: {RESPONSE_TABLE} answer = {{likely}}",
        f"; map it with {{unmapped}} in {RESPONSE_TABLE}",
        "; return {returned} as answer",
        "; {maker} of pytest_rageval makes chunks of the documents of a framework",
        field="answer",
        expected="a string",
        got="nothing (fields: choices, id)",
        likely='"choices[0].message.content"',
    ),
    "reply_type": _reply(
        "{client} returned {got}; expected an AskResponse or a dict with answer",
        ", made of what it {gives}",
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
        "; write {instead} where a piece may be a list",
        setting=f"{_TABLE} response.answer",
        reason='In function join(), invalid type for value: 7, received: "list"',
        instead="join('', map(&to_string(@), ...))",
    ),
    "mapping_too_large": _reply(
        "{setting} makes over {most} characters of the document",
        setting=f"{_TABLE} response",
        most="50,000,000",
    ),
    # --- a cassette ------------------------------------------------------------------------
    "cassette_missing": _reply(
        "no cassette {cassette}: record it with --record-mode=once; nothing was sent",
        cassette="evals/cassettes/cases/refund.yaml",
    ),
    "cassette_request": _reply(
        "the cassette {cassette} does not contain this request ({request}), or has answered it "
        "already: record the case again with --record-mode=rewrite; nothing was sent",
        cassette="evals/cassettes/cases/refund.yaml",
        request="POST to bot/ask",
    ),
    "cassette_coding": _reply(
        "the reply is compressed as '{coding}', which cannot be searched for secrets, so it is not "
        "recorded; let the server reply with gzip",
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
    "; HTTP {accepted}: the answer comes later, wait for it in a client in Python",
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
        fix = target_advice(code, kind, facts, "doctor")
        fix = f"{fix[:1].upper()}{fix[1:]}." if fix else ""
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
