"""One chat-completions endpoint: its address, its key, and one question over HTTP.

Each attempt waits for the rate limits, counts as a call and is bounded in time and size. What
sends them is imported at the first one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from pytest_rageval.judges.cost import OPENAI_URL
from pytest_rageval.judges.model.wire import (
    Form,
    ModelReply,
    after_refusal,
    asked_pause_s,
    hidden_error,
    kind_of_error,
    upstream_error,
)
from pytest_rageval.support.http.address import (
    TOKEN,
    Address,
    blot_out,
    blot_out_of_reply,
    check_sendable,
    environment_secrets,
    join_url,
    reply_secrets,
)
from pytest_rageval.support.http.bodies import document_reason
from pytest_rageval.support.http.pacing import Pacing, RateLimiter, long_pause_s
from pytest_rageval.support.json_text import read_json
from pytest_rageval.support.text import clean, nearest
from pytest_rageval.support.threads import computed
from pytest_rageval.values.diagnoses.judge import judge_http_code
from pytest_rageval.values.diagnoses.target import tls_code
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.settings import JudgeSettings
from pytest_rageval.values.verdict import JudgeFailure, judge_failure

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from pytest_rageval.judges.model.chat_client import ChatClient, GivenClient
    from pytest_rageval.support.http.exchange import Reply

MAX_BODY_BYTES: Final = 8 * 1024 * 1024
TOO_LARGE: Final = f"a reply of over {MAX_BODY_BYTES:,} bytes"
CONNECT_TIMEOUT_S: Final = 10.0
TIMEOUT_RETRIES: Final = 1
"""A slow endpoint has already taken the whole limit, and may bill replies that were not read."""
_RETRYABLE: Final = frozenset({408, 409, 429})
_PATH: Final = "chat/completions"
_ACCOUNT: Final = {
    "OpenAI-Organization": "OPENAI_ORG_ID",
    "OpenAI-Project": "OPENAI_PROJECT_ID",
}
"""Environment variable of each header that names the account to bill."""
_NAME: Final = re.compile(r"[A-Z_][A-Z0-9_]*")
_KEY_REST: Final = r"[\w*.+/=\-]"
_KEY_LIKE: Final = re.compile(rf"\bsk-{_KEY_REST}+")
_MIN_HEAD: Final = 8


@dataclass(slots=True, kw_only=True)
class EndpointAnswer:
    """Outcome of one question, its retries included."""

    body: Any = None
    """JSON value of a reply with a 2xx status, or of a refusal; its text if it is not JSON."""
    failure: JudgeFailure | None = None
    """Reason for a missing reply; None: the reply may hold a completion."""
    instead: Form | None = None
    """Form to ask in instead of the one that was refused; None: the form is not the reason."""
    calls: int = 0
    duration_ms: float = 0.0
    """Time from sending each attempt to its last byte, without pauses."""


@dataclass(slots=True, kw_only=True)
class _Attempt:
    status: int | None = None
    body: Any = None
    code: str = ""
    """Of the fault, if the status does not show it."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Of that code."""
    timed_out: bool = False
    retry_after_s: float | None = None
    retryable: bool = True
    duration_ms: float = 0.0

    @property
    def is_success(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


class ChatEndpoint:
    """A model behind an OpenAI-compatible API, asked on the session's loop.

    Args:
        model: its name as the endpoint knows it.
        settings: of the judge.
        environ: variables that hold the key, looked up once.
        needs_key: whether a missing key is an error; False if the model will not be asked.
        pacing: of the requests; without a limiter, all processes of this machine share one where
            the settings name limits.
        given: client that carries the requests, and knows address and key; None: one of ours.

    Raises:
        ConfigError: the URL or a limit is wrong, or the key is missing or cannot be sent.
    """

    def __init__(
        self,
        model: str,
        settings: JudgeSettings,
        *,
        environ: Mapping[str, str] = os.environ,
        needs_key: bool = True,
        pacing: Pacing | None = None,
        given: AsyncOpenAI | None = None,
    ) -> None:
        self.model: Final = model
        self.settings: Final = settings
        self.needs_key: Final = needs_key
        self._given: Final = given
        url = settings.base_url or environ.get("OPENAI_BASE_URL") or OPENAI_URL
        self._address = _address(url if given is None else str(given.base_url))
        self.base_url: Final = self._address.shown.removesuffix(f"/{_PATH}")
        """URL of the API, without credentials."""
        self.host: Final = urlsplit(self.base_url).netloc
        """Host and port, for messages."""
        self.identity: Final = f"{model} at {self.host}"
        """Model and host, such as ``gpt-4o-2024-08-06 at api.openai.com``."""
        needed = needs_key and not self._address.loopback
        if given is None:
            self._key = _key(settings.api_key_env, environ, model=model if needed else None)
        else:
            self._key = given.api_key or None
        self._environ = environ
        self._account = _account(environ)
        self.pacing: Final = pacing or Pacing()
        self._limiter = shared_limiter(self.base_url, model, settings)
        self._http: ChatClient | GivenClient | None = None

    def __repr__(self) -> str:
        return f"ChatEndpoint({self.base_url!r})"

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """Texts that must not be shown."""
        account = filter(TOKEN.fullmatch, self._account.values())
        known = (*self._address.secrets, *reply_secrets(self._environ), *account)
        return (*known, self._key) if self._key else known

    def blot(self, text: str) -> str:
        """Replace every secret in a text, and every text that looks like part of a key."""
        text = _KEY_LIKE.sub("***", blot_out(text, self.secrets))
        if self._key and len(self._key) >= 2 * _MIN_HEAD:
            text = re.sub(re.escape(self._key[:_MIN_HEAD]) + f"{_KEY_REST}*", "***", text)
        return text

    def _hide(self, text: str) -> str:
        """Do as ``blot``, in the words of a server, in which other secrets may stand by chance."""
        return self.blot(blot_out(text, environment_secrets(self._environ)))

    def close(self) -> None:
        """Close the connections; a later question opens new ones."""
        if self._http is not None:
            self._http.close()

    async def ask(self, body: Mapping[str, Any], tokens: int, form: Form) -> EndpointAnswer:
        """Send one request and its retries; failures are data.

        Args:
            body: arguments of ``chat.completions.create``.
            tokens: number of tokens that the request is expected to use.
            form: that of the request.
        """
        timeouts, spent_ms, instead = 0, 0.0, None

        async def once() -> _Attempt:
            nonlocal timeouts, spent_ms, instead
            attempt = await self._attempt(body)
            spent_ms += attempt.duration_ms
            timeouts += attempt.timed_out
            if not attempt.is_success:
                instead = after_refusal(form, attempt.status, attempt.body, self.settings)
            may_pass = not attempt.is_success and _may_pass(attempt)
            attempt.retryable = may_pass and timeouts <= TIMEOUT_RETRIES and instead is None
            if attempt.retryable:
                # In the pause nothing else is kept of a page of many megabytes.
                attempt.body = document_reason(attempt.body, self._hide)
            return attempt

        async def in_line() -> _Attempt:
            # Opened before: opening is so slow that the request would be late, and those of several
            # processes would leave at the same time.
            if self._http is None:
                await computed(self._open)
            await self._wait(tokens)
            return await self.pacing.in_slot(once)

        last, calls = await self.pacing.until_settled(in_line, retries=self.settings.retries)
        return EndpointAnswer(
            body=last.body,
            failure=None if last.is_success else self._failure(last, calls),
            instead=instead,
            calls=calls,
            duration_ms=spent_ms,
        )

    async def settle(self, expected: int, reply: ModelReply) -> None:
        """Report the tokens that a request used, if its reply says so, to the rate limits."""
        prompt, completion = reply.prompt_tokens, reply.completion_tokens
        if self._limiter is not None and prompt is not None and completion is not None:
            await computed(partial(self._limiter.settle, expected, prompt + completion))

    # --- one attempt -----------------------------------------------------------------------

    async def _wait(self, tokens: int) -> None:
        if self._limiter is None:
            return
        slots = self.pacing.slots
        with slots.pause(limited=True) if slots else nullcontext():
            await self._limiter.wait(tokens)

    async def _attempt(self, body: Mapping[str, Any]) -> _Attempt:
        from pytest_rageval.support.http.exchange import Request, send

        request = Request(
            address=self._address,
            content=body,
            max_bytes=MAX_BODY_BYTES,
            max_error_bytes=MAX_BODY_BYTES,
            limit_s=self.settings.timeout_s,
        )
        try:
            assert self._http is not None
            attempt = self._read(await send(self._http, request))
        except Exception as error:  # such as that of a cassette without this request
            attempt = self._broken("no_connection", error)
        attempt.duration_ms = request.watch.elapsed_ms
        return attempt

    def _read(self, reply: Reply) -> _Attempt:
        if reply.fault is not None and (reply.is_success or reply.status is None):
            return self._broken("broke_off" if reply.is_success else "no_connection", reply.fault)
        body: Any = None  # a page that breaks off is still that error
        if reply.too_large:
            body = TOO_LARGE
        elif reply.fault is None:
            body = self._value(reply.body)
        status = reply.status
        if reply.is_success and (error := hidden_error(body)):
            code = error.get("code") if isinstance(error, dict) else None
            status = code if isinstance(code, int) and 400 <= code <= 599 else 502
            body = {"error": error}
        body, pause_s = upstream_error(body), reply.retry_after_s
        if status == 429 and pause_s is None:
            pause_s = asked_pause_s(body)
        return _Attempt(status=status, body=body, retry_after_s=pause_s)

    def _broken(self, code: str, error: Exception) -> _Attempt:
        name = getattr(error, "name", type(error).__name__)
        if "Timeout" in name:
            facts = {"limit_s": f"{self.settings.timeout_s:g}"}
            return _Attempt(code="timeout", facts=facts, timed_out=True)
        said = clean(self._hide(str(error)), 200)
        return _Attempt(code=tls_code(said) or code, facts={"error": name, "said": said})

    def _value(self, body: bytes) -> Any:
        """Return a body's JSON value, or its text, without secrets."""
        text = body.decode("utf-8", "replace")
        try:
            return blot_out_of_reply(read_json(text), self.secrets)
        except (ValueError, RecursionError):
            return blot_out(text, self.secrets)

    def _failure(self, attempt: _Attempt, calls: int) -> JudgeFailure:
        status, tries = attempt.status, calls if calls > 1 else None
        if status is None:
            return judge_failure(attempt.code, host=self.host, attempts=tries, **attempt.facts)
        kind = kind_of_error(status, attempt.body)
        named = _NAME.fullmatch(self.settings.api_key_env) and status in {401, 403}
        return judge_failure(
            judge_http_code(status) if kind == "unreachable" else f"http_{kind}",
            host=self.host,
            status=status,
            reason=document_reason(attempt.body, self._hide),
            pause_s=long_pause_s(attempt.retry_after_s),
            variable=self.settings.api_key_env if named else None,
            attempts=tries,
        )

    def _open(self) -> None:
        from pytest_rageval.judges.model.chat_client import ChatClient, GivenClient
        from pytest_rageval.support.http.exchange import open_client

        if self._http is None and self._given is not None:
            self._http = GivenClient(self._given)
        elif self._http is None:
            limit = self.settings.timeout_s
            self._http = ChatClient(
                open_client(
                    self._address,
                    headers={},
                    connect_s=min(CONNECT_TIMEOUT_S, limit),
                    read_s=limit,
                ),
                base_url=self._address.url.removesuffix(f"/{_PATH}"),
                # A private server does not require a key, but some require the header.
                api_key=self._key or "none",
                headers=self._account,
            )


def _may_pass(attempt: _Attempt) -> bool:
    """Return whether the same request may succeed later."""
    if attempt.status is None:
        return True
    # Without money on the account, waiting does not help.
    if attempt.status == 429 and "insufficient_quota" in json.dumps(attempt.body):
        return False
    return attempt.status in _RETRYABLE or attempt.status >= 500


def _address(base_url: str) -> Address:
    where = "[tool.rageval.judge] base_url"
    if re.search("[?#]", base_url):
        raise ConfigError.of(where, "url_query", example="https://NAME.openai.azure.com/openai/v1")
    return join_url(base_url.strip().rstrip("/").removesuffix(f"/{_PATH}"), _PATH, where)


def _account(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that name the account to bill, from the variables that are set."""
    found = {name: environ.get(variable, "").strip() for name, variable in _ACCOUNT.items()}
    for name, value in found.items():
        check_sendable(value, f"the environment variable {_ACCOUNT[name]}")
    return {name: value for name, value in found.items() if value}


def _key(variable: str, environ: Mapping[str, str], *, model: str | None) -> str | None:
    """Return the key of a model that needs one; None: it is not set and not needed."""
    where = "[tool.rageval.judge] api_key_env"
    # If a key was given in place of its name, messages must not repeat it.
    shown = variable if _NAME.fullmatch(variable) else "that it names"
    key = environ.get(variable, "").strip()
    if not key:
        if model is None:
            return None
        near = nearest(model, ("offline", "none"), cutoff=0.8)
        raise ConfigError.of(where, "no_variable", variable=shown, judge=model, nearest=near)
    check_sendable(key, f"{where}: {shown}")
    return key


def shared_limiter(base_url: str, model: str, settings: JudgeSettings) -> RateLimiter | None:
    """Open the rate limits that all processes of this user share; None without limits.

    Raises:
        ConfigError: a limit is not a number above 0.
    """
    limits = (settings.requests_per_minute, settings.tokens_per_minute)
    if limits == (None, None):
        return None
    user = getattr(os, "getuid", lambda: "")()
    digest = hashlib.sha256(f"{base_url} {model}".encode()).hexdigest()[:16]
    return RateLimiter(
        Path(tempfile.gettempdir()) / f"rageval-{user}-{digest}.limit",
        requests_per_minute=settings.requests_per_minute,
        tokens_per_minute=settings.tokens_per_minute,
    )
