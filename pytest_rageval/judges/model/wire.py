"""The wire format of chat completions: requests, replies and refusals. Pure.

Many servers implement this format only in part, so every field is checked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from pytest_rageval.support.http.bodies import READ_CHARS, document_reason
from pytest_rageval.support.json_text import read_json
from pytest_rageval.support.text import clean
from pytest_rageval.values.diagnoses.table import Fact, JudgeErrorKind
from pytest_rageval.values.settings import JudgeSettings
from pytest_rageval.values.verdict import JudgeFailure, OutputLevel, judge_failure

LADDER: Final[tuple[OutputLevel, ...]] = ("json_schema", "json_object", "text")
RAW_CHARS: Final = 2000
_EXCERPT_CHARS: Final = 300
_FORMAT_WORDS: Final = re.compile(
    # A provider behind a gateway names its own field: output_config.format.schema, response_schema.
    r"response[_ ]?format|schema|json[_ ]?object|json[ _]mode|structured[ _]output|"
    r"output_?(config|format)|text\.format|guided[_ ]|grammar",
    re.IGNORECASE,
)
_FORMAT_FIELD: Final = re.compile(r"response_?format", re.IGNORECASE)
_SCHEMA_KEY: Final = "response_format.schema"
_SYSTEM_ROLE: Final = "system role"
_SYSTEM_WORDS: Final = re.compile(
    # Of chat templates (Gemma, Mistral), Bedrock, Gemini's API, OpenAI's o1-mini. Roles always
    # alternate after the first message.
    r"system[_ ](role|message|prompt)|only user and assistant roles|roles must alternate|"
    r"developer instruction|messages[.[]0\]?\.role",
    re.IGNORECASE,
)
_FAULTS: Final[Mapping[JudgeErrorKind, re.Pattern[str]]] = {
    "truncated": re.compile("output limit was reached|max completion tokens reached"),
    "unparseable": re.compile("json_validate_failed"),
    "refused": re.compile(
        "content_filter|content_policy_violation|invalid_prompt|ContentPolicyViolation|"
        "(prompt|input) was flagged|"
        "(?i:context[_ ](length|window|size|limit)|too many tokens|(prompt|input) is too long|"
        "request (entity )?too large)"
    ),
}
"""Codes and words of errors about one prompt or its reply: those of OpenAI's reasoning models and
Groq; of Groq; of Azure, OpenAI, LiteLLM and OpenRouter, and of all whose context is too short."""
_RETRY_DELAY: Final = re.compile(r"retryDelay\W+(\d{1,9}(?:\.\d{1,9})?)s\b")
"""The duration of ``google.rpc.RetryInfo``, also in JSON within the text of a gateway's error."""
_MAX_ENUM: Final = 20
_NAME_CHARS: Final = 200
_MOST_TOKENS: Final = 10**9
"""Maximum of a credible count; sums and costs of larger ones would overflow."""
_SCHEMA_NAME: Final = re.compile(r"[^A-Za-z0-9_-]")


# --- what is sent --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Form:
    """Form of request that an endpoint accepts, as found by the first calls."""

    level: OutputLevel = "json_schema"
    dropped: tuple[str, ...] = ()
    """Refused parameters, in the order of refusal. ``max_tokens`` is then sent under its
    newer name ``max_completion_tokens``, until that is refused too;
    ``response_format.schema`` is the schema beside ``json_object``, and without ``system role``
    the instructions stand at the head of the user's message."""


def first_form(settings: JudgeSettings) -> Form:
    """Return the form of request for an unknown endpoint."""
    chosen = settings.structured_output
    return Form("json_schema" if chosen == "auto" else chosen)


def parameters(form: Form, settings: JudgeSettings) -> dict[str, Any]:
    """Return the parameters sent besides model, messages and format."""
    wanted: dict[str, Any] = {
        "temperature": settings.temperature,
        "seed": settings.seed,
        "max_tokens": settings.max_tokens,
    }
    if "max_tokens" in form.dropped:
        wanted["max_completion_tokens"] = settings.max_tokens
    sent = {k: v for k, v in wanted.items() if v is not None and k not in form.dropped}
    return {**sent, **settings.extra_body}


def response_format(form: Form, rubric: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the ``response_format`` of a request; None: plain text."""
    schema = _enumerated(schema)
    if form.level == "json_schema":
        name = _SCHEMA_NAME.sub("_", rubric)[-64:] or "verdict"
        return {
            "type": "json_schema",
            "json_schema": {"name": name, "schema": schema, "strict": True},
        }
    if form.level == "text":
        return None
    # The dialect of llama-cpp-python, Together and others, which then enforce the schema. Servers
    # that do not know the key ignore or refuse it.
    extra = {} if _SCHEMA_KEY in form.dropped else {"schema": schema}
    return {"type": "json_object", **extra}


def request_body(
    model: str,
    messages: Iterable[tuple[str, str]],
    form: Form,
    settings: JudgeSettings,
    name: str = "",
    schema: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the arguments of ``chat.completions.create``.

    Args:
        model: its name as the endpoint knows it.
        messages: role and text of each.
        form: of the request.
        settings: of the judge.
        name: of the schema.
        schema: JSON schema of the reply; None: plain text.
    """
    if _SYSTEM_ROLE in form.dropped:
        messages = [("user", "\n\n".join(text for _, text in messages))]
    said = [{"role": role, "content": text} for role, text in messages]
    shape = None if schema is None else response_format(form, name, schema)
    rest = {} if shape is None else {"response_format": shape}
    return {"model": model, "messages": said, **parameters(form, settings), **rest}


def _enumerated(schema: Any) -> Any:
    """List the integers of a short scale, since most grammars ignore minimum and maximum."""
    if isinstance(schema, list):
        return [_enumerated(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    low, high = schema.get("minimum"), schema.get("maximum")
    if schema.get("type") == "integer" and isinstance(low, int) and isinstance(high, int):
        if 0 <= high - low <= _MAX_ENUM:
            rest = {k: v for k, v in schema.items() if k not in {"minimum", "maximum"}}
            return {**rest, "enum": list(range(low, high + 1))}
    return {key: _enumerated(value) for key, value in schema.items()}


# --- replies -------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class ModelReply:
    """One chat completion."""

    text: str = ""
    """Text of the model; empty for null content."""
    failure: JudgeFailure | None = None
    """Reason why ``text`` cannot be a verdict; None: it may be one."""
    model: str | None = None
    system_fingerprint: str | None = None
    prompt_tokens: int | None = None
    """None here and below: the server did not report the usage."""
    completion_tokens: int | None = None


def read_completion(body: Any) -> ModelReply | None:
    """Read the JSON value of a reply's body.

    Returns:
        None: the value is neither a chat completion nor an error that holds its text.
    """
    if not isinstance(body, dict):
        return None
    if "failed_generation" in (error := _error_of(body)):
        text = _content(error["failed_generation"])
        return ModelReply(text=text, failure=_stopped(None, None, text))
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return None
    message = choices[0].get("message")
    if not isinstance(message, dict):
        if not choices[0].get("finish_reason"):
            return None
        message = {}  # of Gemini, whose filter stopped it
    text = _content(message.get("content"))
    text = text if text.strip() else _misplaced(message)
    prompt_tokens, completion_tokens = _tokens(body.get("usage"))
    return ModelReply(
        text=text,
        failure=_stopped(choices[0].get("finish_reason"), message.get("refusal"), text),
        model=_string(body.get("model")),
        system_fingerprint=_string(body.get("system_fingerprint")),
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
    )


def no_completion(body: Any) -> JudgeFailure:
    """Describe the reply received in place of a chat completion."""
    raw = body if isinstance(body, str) else repr(body)
    begins = raw.lstrip()[:200].lower()
    if isinstance(body, dict) and "choices" in body:
        code = "no_message"
    elif begins.startswith(("data:", "event:", ": ")):
        code = "stream"
    else:
        code = "html" if begins.startswith(("<!doctype", "<html")) else "no_completion"
    return judge_failure(code, raw=raw[:RAW_CHARS])


def _stopped(finish_reason: Any, refusal: Any, text: str) -> JudgeFailure | None:
    finish = finish_reason if isinstance(finish_reason, str) else ""
    facts: dict[str, Fact] = {}
    if finish.startswith("content_filter"):  # to which Gemini adds why: "content_filter: SAFETY"
        code, facts = (
            "content_filter",
            {"why": clean(finish.removeprefix("content_filter"), _NAME_CHARS)},
        )
    elif isinstance(refusal, str) and refusal.strip():
        code, text = "declined", refusal
        facts["said"] = clean(refusal, _EXCERPT_CHARS)
    elif finish == "length":
        code = "cut_by_length"
    elif not text.strip():
        code = "no_text"
    else:
        return None
    return judge_failure(code, raw=text[:RAW_CHARS] or None, **facts)


_TOLD: Final = (None, "text", "output_text")
"""Types of the parts of a message that are its text; others are ``thinking`` or ``reasoning``."""


def _content(value: Any) -> str:
    """Return the text; some servers send it in parts, thoughts among them."""
    if isinstance(value, list):
        told = [one for one in value if isinstance(one, dict) and one.get("type") in _TOLD]
        parts = [part.get("text") for part in told]
        return "".join(part for part in parts if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _misplaced(message: Mapping[str, Any]) -> str:
    """Return the reply that LM Studio and vLLM take for thoughts, as one under a schema has none.

    Thoughts may draft a verdict: only what is nothing but a JSON object is a reply.
    """
    texts = [_content(message.get(name)).strip() for name in ("reasoning_content", "reasoning")]
    return next((text for text in texts if text[:1] == "{" and text[-1:] == "}"), "")


def _string(value: Any) -> str | None:
    """Return a name that is printable and can be stored, without halves of surrogate pairs."""
    return _name(value) if isinstance(value, str) else None


@lru_cache(maxsize=64)  # that of all replies of an endpoint
def _name(value: str) -> str | None:
    return clean(value, _NAME_CHARS) or None


def _tokens(usage: Any) -> tuple[int | None, int | None]:
    """Return the tokens of the prompt and of the completion with its reasoning."""
    if not isinstance(usage, dict):
        return None, None
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    prompt, completion, total = (_count(usage.get(name)) for name in names)
    if prompt is not None and total is not None:
        # xAI and Gemini count reasoning in the total alone, and bill it as completion.
        completion = max(completion or 0, total - prompt)
    return prompt, completion


def _count(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_TOKENS:
        return None
    return value


# --- refusals ------------------------------------------------------------------------------


def hidden_error(body: Any) -> Any:
    """Return the error that a gateway sent with status 200, or in place of a choice; None: none."""
    if not isinstance(body, dict):
        return None
    match body.get("choices"):
        case [{"finish_reason": "error", **rest}, *_]:
            return rest.get("error") or "the provider broke the reply off"
        case choices:
            return None if choices else body.get("error")


def upstream_error(body: Any) -> Any:
    """Return the provider's error that a router, such as OpenRouter, passes on; else the body."""
    metadata = _error_of(body).get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    if not isinstance(raw, str):
        return body
    try:
        said = read_json(raw[:READ_CHARS])
    except (ValueError, RecursionError):
        said = {"error": raw}
    return said if document_reason(said) else body


def asked_pause_s(body: Any) -> float | None:
    """Return the pause that Gemini asks for in the body of a reply, in seconds; None: none."""
    found = _RETRY_DELAY.search(json.dumps(body))
    return None if found is None else float(found[1])


def kind_of_error(status: int | None, body: Any) -> JudgeErrorKind:
    """Return the kind of failure that an error reports."""
    if status in {400, 403, 413, 422}:
        fields = map(_error_of(body).get, ("code", "message", "failed_generation"))
        texts = [field[:READ_CHARS] for field in fields if isinstance(field, str)]
        said = " ".join([document_reason(body), *texts])
        for kind, words in _FAULTS.items():
            if words.search(said):
                return kind
    return "rate_limited" if status == 429 else "unreachable"


def after_refusal(
    form: Form, status: int | None, body: Any, settings: JudgeSettings
) -> Form | None:
    """Return the form for another attempt after a server refused a form.

    Args:
        form: form of the refused request.
        status: HTTP status; some servers fail with 500 over an unknown format. None: no reply.
        body: JSON value of the reply, or its text.
        settings: settings of the judge; a fixed level stays.

    Returns:
        The form without the refused part; None: the form is not the reason.
    """
    if status is None:
        return None
    text = document_reason(body)
    if status >= 500:
        if _FORMAT_FIELD.search(text):
            return _without_format(form, text, settings)
        refused = _SYSTEM_ROLE not in form.dropped and _SYSTEM_WORDS.search(text)
        return _dropping(form, _SYSTEM_ROLE) if refused else None
    if status not in {400, 422} or kind_of_error(status, body) != "unreachable":
        return None  # of another kind: the form was accepted
    # A parameter named in a field takes precedence over one mentioned in the message.
    for place in (_named(body), text):
        if place and (changed := _without(form, place, settings)) is not None:
            return changed
    return None


def _without(form: Form, place: str, settings: JudgeSettings) -> Form | None:
    """Drop the parameter, or the role, that a text names first."""
    names = parameters(form, settings).keys() - settings.extra_body.keys()
    words = {name: re.compile(rf"\b{name}\b") for name in names}
    if _SYSTEM_ROLE not in form.dropped:
        words[_SYSTEM_ROLE] = _SYSTEM_WORDS
    places = [(hit.start(), name) for name, at in words.items() if (hit := at.search(place))]
    at_format = _FORMAT_WORDS.search(place)
    lower = None if at_format is None else _without_format(form, place, settings)
    if at_format is not None and lower is not None:
        places.append((at_format.start(), ""))
    if not places:
        return None
    _, name = min(places)
    return _dropping(form, name) if name else lower


def _dropping(form: Form, name: str) -> Form:
    return replace(form, dropped=(*form.dropped, name))


def _without_format(form: Form, place: str, settings: JudgeSettings) -> Form | None:
    """Use the next lower level, or leave out only the schema if that was refused."""
    with_key = form.level == "json_object" and _SCHEMA_KEY not in form.dropped
    if with_key and re.search(r"\bschema\b", place):
        return _dropping(form, _SCHEMA_KEY)
    if settings.structured_output != "auto" or form.level not in LADDER[:-1]:
        return None
    return replace(form, level=LADDER[LADDER.index(form.level) + 1])


def _named(body: Any) -> str:
    """Return the parameter that an error names in OpenAI's ``param``."""
    fields = _error_of(body) or body
    param = fields.get("param") if isinstance(fields, dict) else None
    return param if isinstance(param, str) else ""


def _error_of(body: Any) -> dict[str, Any]:
    error = body.get("error") if isinstance(body, dict) else None
    return error if isinstance(error, dict) else {}
