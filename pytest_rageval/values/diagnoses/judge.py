"""The diagnoses of a judge, and of a model that writes cases: verdicts and drafts that fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pytest_rageval.values.diagnoses.table import (
    PLAIN_HTTP,
    TRUST_ISSUER,
    Advice,
    Audience,
    Diagnosis,
    Fact,
    Facts,
    JudgeErrorKind,
    chosen,
    joined,
    sentence,
)

_Row = Diagnosis[JudgeErrorKind]
_TABLE: Final = "[tool.rageval.judge]"
_DOCTOR: Final[Mapping[JudgeErrorKind, str]] = {
    "unreachable": "start the server, name its address with --judge-base-url, or set its key",
    "rate_limited": f"wait, or set requests_per_minute in {_TABLE}",
    "refused": "choose a model with a longer context, or one that judges such texts",
    "unparseable": f"choose a model that follows a JSON schema; see structured_output in {_TABLE}",
    "truncated": f"raise max_tokens in {_TABLE}",
    "out_of_range": "choose a model that keeps to the scale of the rubric",
}
_REFUSES: Final = "change the model, the key or the settings, as the message of the server says"
_AT: Final = "judge at {host}: "
_TRIES: Final = " (after {attempts:attempt})"
_BASE_URL: Final = "check the base URL, which usually ends in /v1"


def _http(kind: JudgeErrorKind, *hints: str, doctor: Advice = "", **example: Fact) -> _Row:
    """Return the diagnosis of a status that is not 2xx."""
    says = (_AT, "HTTP {status}", ": {reason}", "; asks to wait {pause_s} s", *hints, _TRIES)
    shown = {"host": "api.openai.com", "reason": "no such model", **example}
    return Diagnosis(kind=kind, says=says, doctor=doctor, examples=(shown,))


def _lost(text: str, doctor: Advice = "", **example: Fact) -> _Row:
    """Return the diagnosis of a request without a complete reply."""
    shown = {"host": "127.0.0.1:8080", **example}
    says = (_AT, text, ": {said}", _TRIES)
    return Diagnosis(kind="unreachable", says=says, doctor=doctor, examples=(shown,))


def _reply(
    *says: str, kind: JudgeErrorKind = "unparseable", doctor: Advice = "", **example: Fact
) -> _Row:
    return Diagnosis(kind=kind, says=says, doctor=doctor, examples=(example,))


JUDGE: Final[Mapping[str, _Row]] = {
    # --- no reply --------------------------------------------------------------------------
    "timeout": _lost("no complete reply within {limit_s} s", limit_s="60"),
    "no_connection": _lost("no connection: {error}", error="ConnectError", said="refused"),
    "broke_off": _lost(
        "the connection ended before the reply was complete: {error}", error="ReadError"
    ),
    "tls_untrusted": _lost(
        "no connection: {error}",
        TRUST_ISSUER,
        error="ConnectError",
        said="certificate verify failed: self-signed certificate",
    ),
    "tls_absent": _lost(
        "no connection: {error}",
        PLAIN_HTTP,
        error="ConnectError",
        said="[SSL: WRONG_VERSION_NUMBER] wrong version number",
    ),
    # --- a status --------------------------------------------------------------------------
    "http_unauthorized": _http(
        "unreachable", "; check the key", " in {variable}", doctor=_REFUSES, status=401,
        reason="invalid key",        variable="OPENAI_API_KEY",
    ),
    "http_moved": _http(
        "unreachable",
        "; redirects are not followed: set the base URL to the final address",
        doctor="set the base URL to the final address",
        status=302,
        reason="Found",
    ),
    "http_not_found": _http(
        "unreachable", f"; check the model's name and {_BASE_URL[6:]}", doctor=_REFUSES, status=404
    ),
    "http_status": _http("unreachable", doctor=_REFUSES, status=400),
    "http_server": _http("unreachable", status=503, reason="overloaded", attempts=4),
    "http_rate_limited": _http(
        "rate_limited", status=429, reason="too many tokens", pause_s=120
    ),
    "http_refused": _http("refused", status=400, reason="content_filter"),
    "http_unparseable": _http("unparseable", status=400, reason="json_validate_failed"),
    "http_truncated": _http("truncated", status=400, reason="output limit was reached"),
    # --- a reply that is no verdict --------------------------------------------------------
    "no_message": _reply("the endpoint sent a chat completion without a message"),
    "stream": _reply("the endpoint sent a stream of events; switch streaming off there",
                     doctor="switch streaming off at the endpoint"),
    "html": _reply(f"the endpoint sent an HTML page; {_BASE_URL}", doctor=_BASE_URL),
    "no_completion": _reply(
        f"the endpoint sent no chat completion; {_BASE_URL}", doctor=_BASE_URL
    ),
    "content_filter": _reply(
        "the endpoint's content filter stopped the reply", "{why}", kind="refused", why=": SAFETY"
    ),
    "declined": _reply("the model declined: {said}", kind="refused", said="I cannot judge this."),
    "cut_by_length": _reply(
        "the reply was cut at the length limit; raise max_tokens", kind="truncated"
    ),
    "no_text": _reply("the reply contains no text"),
    "prompt_too_long": _reply(
        "not asked: the prompt has {n_chars} characters, and at most {most} are sent",
        kind="refused", doctor="shorten the answer or its chunks",
        n_chars="5,000,000", most="4,000,000",
    ),
    # Sentences that a repair shows to the model: a change may change its verdicts.
    # --- a text that is no verdict ---------------------------------------------------------
    "duplicate_key": _reply(
        "{field}: duplicate key in one object, expected it once", field="score"
    ),
    "long": _reply("{n_chars} characters came, expected at most {most}", n_chars=1_000_001,
                   most=1_000_000),
    "empty": _reply("an empty reply came, expected one JSON object"),
    "no_object": _reply("{found} came, expected one JSON object", found="'Looks good.'"),
    "many_objects": _reply("{n} JSON objects came, expected one", n=51),
    "quoted": _reply(
        "only JSON quoted from what is judged came, expected a verdict"
    ),
    "two_verdicts": _reply("two verdicts that differ came, expected one JSON object"),
    "after_verdict": _reply("{found} came after the verdict, expected nothing", found="'score: 2'"),
    "deep": _reply("nested too deep, expected {expected}", expected="an object with score"),
    "fields": _reply(
        "{faults}", "; and {n_more} more", "; and at least {least} more",
        faults="score: 'high' came, expected a number from 0 to 5",
    ),
    "off_scale": _reply(
        "{faults}", "; and {n_more} more", "; and at least {least} more",
        kind="out_of_range", faults="score: 9 came, expected a number from 0 to 5",
    ),
    # --- a judge that is not asked any more ------------------------------------------------
    "judge_gone": _reply(
        "the judge cannot be reached", ": {reason}", " ({n:failure} in a row)", kind="unreachable",
        n=5, reason="judge at localhost: no connection: ConnectError",
    ),
    "only_planned": _reply(
        "judge {judge}: opened only to plan, not to be asked", kind="unreachable",
        doctor="report this: it is a fault of the package", judge="gpt-4o",
    ),
    # --- a judge in the project's code -----------------------------------------------------
    "raised": _reply(
        "{error}: {said}", kind="unreachable", doctor="fix the judge in your code",
        error="KeyError", said="'score'"
    ),
    "no_score": _reply(
        "{reason}", kind="out_of_range", reason="neither a verdict nor a failure came"
    ),
}  # fmt: skip


def judge_http_code(status: int) -> str:
    """Return the code of a status that tells nothing about the prompt."""
    if status in {401, 403}:
        return "http_unauthorized"
    if 300 <= status < 400:
        return "http_moved"
    return "http_not_found" if status == 404 else "http_status" if status < 500 else "http_server"


def judge_sentence(code: str, facts: Facts) -> str:
    """Say why a judge gave no verdict, on one line.

    >>> judge_sentence("timeout", {"host": "localhost", "limit_s": "60"})
    'judge at localhost: no complete reply within 60 s'
    """
    return joined(JUDGE[code].says, facts)


def judge_advice(code: str, kind: JudgeErrorKind, facts: Facts, audience: Audience) -> str:
    """Say what to do about a failure of a judge.

    Args:
        code: key of ``JUDGE``, or another text.
        kind: of the failure.
        facts: of the failure.
        audience: who reads it: after a run, or in `rageval doctor`.
    """
    row = JUDGE.get(code)
    fix = (chosen(row.doctor, facts) if row else "") or _DOCTOR[kind]
    return fix if audience == "doctor" else sentence(fix)
