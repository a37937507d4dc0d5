"""One chat-completions endpoint: its address, its key, and one question over the openai client.

The client's own retries are off: here each attempt waits for the rate limits, counts as a call and
is bounded in time and size, and pauses are those of the target's client.
"""

from __future__ import annotations

import base64
import json
import logging
import random
import re
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import quote, urlsplit

from pytest_rageval.judges.cost import OPENAI_URL
from pytest_rageval.judges.model.wire import error_text
from pytest_rageval.support.http.address import Address, blot_out, blot_out_of_reply, join_url
from pytest_rageval.support.http.deadline import mind_deadlines, within
from pytest_rageval.support.http.pool import ClientPool
from pytest_rageval.support.http.retry import retry_after_seconds, wait_seconds
from pytest_rageval.support.process import leave_out_what_is_loaded
from pytest_rageval.support.slots import Slots, waiting
from pytest_rageval.support.text import excerpt
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.settings import JudgeSettings
from pytest_rageval.values.verdict import JudgeErrorKind, JudgeFailure

if TYPE_CHECKING:
    import httpx2

MAX_BODY_BYTES: Final = 8 * 1024 * 1024
CONNECT_TIMEOUT_S: Final = 10.0
TIMEOUT_RETRIES: Final = 1
"""A slow endpoint has already cost the whole limit, and may bill what nobody read."""
_RETRYABLE: Final = frozenset({408, 409, 429})
_LOGGERS: Final = ("openai", "httpx", "httpcore", "httpx2", "httpcore2")
_PATH: Final = "chat/completions"
_NAME: Final = re.compile(r"[A-Z_][A-Z0-9_]*")
_KEY_REST: Final = r"[\w*.+/=\-]"
_KEY_LIKE: Final = re.compile(rf"\bsk-{_KEY_REST}+")
_MIN_HEAD: Final = 8


class Limiter(Protocol):
    """What keeps requests and tokens per minute."""

    def wait(self, tokens: float) -> float:
        """Wait for a place."""

    def settle(self, expected: float, used: float) -> None:
        """Tell how many tokens were really used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of one question, its retries included."""

    body: Any = None
    """JSON value of a reply with a 2xx status, or of a refusal; its text where it is no JSON."""
    status: int | None = None
    """None: no reply came."""
    failure: JudgeFailure | None = None
    """None: a reply came that may hold a completion."""
    calls: int = 0
    duration_ms: float = 0.0
    """Time spent asking, without pauses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    status: int | None = None
    body: Any = None
    fault: str = ""
    """What went wrong, where no status says it."""
    timed_out: bool = False
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Connections:
    http: httpx2.Client
    headers: Mapping[str, str]


class ChatEndpoint:
    """A model behind an OpenAI-compatible API; safe to share between threads.

    Args:
        settings: of the judge.
        environ: where the key is, looked up once.
        limiter: keeps the rate limits; None: there are none.
        needs_key: whether a missing key is an error; False where nobody will be asked.
        sleep: pauses between attempts, in seconds.
        clock: seconds, for limits and durations.
        rng: jitter of the pauses.
        slots: of which every request holds one, waits and pauses none; None: no limit.

    Raises:
        ConfigError: the URL is wrong, or the key is missing or cannot be sent.
    """

    def __init__(
        self,
        settings: JudgeSettings,
        *,
        environ: Mapping[str, str],
        limiter: Limiter | None = None,
        needs_key: bool = True,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        rng: random.Random | None = None,
        slots: Slots | None = None,
    ) -> None:
        self._settings = settings
        self._address = _address(settings.base_url or environ.get("OPENAI_BASE_URL") or OPENAI_URL)
        self._key = _key(settings.api_key_env, environ, needed=needs_key and not self.loopback)
        self.limiter = limiter
        self._sleep = sleep
        self._clock = clock
        self._rng = rng or random.Random()
        self._slots = slots
        self._tls: ssl.SSLContext | None = None
        self._clients = ClientPool(self._open)

    def __repr__(self) -> str:
        return f"ChatEndpoint({self.base_url!r})"

    @property
    def loopback(self) -> bool:
        """Whether the endpoint is on this machine."""
        return self._address.loopback

    @property
    def base_url(self) -> str:
        """Without credentials."""
        return self._address.shown.removesuffix(f"/{_PATH}")

    @property
    def host(self) -> str:
        """Host and port, for people."""
        return urlsplit(self.base_url).netloc

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must reach no text: the key, also as it may be written elsewhere."""
        key = self._key
        if not key:
            return self._address.secrets
        coded = base64.b64encode(key.encode()).decode("ascii")
        return (*self._address.secrets, key, quote(key, safe=""), coded)

    def blot(self, text: str) -> str:
        """Replace every secret in a text, and what looks like the part of a key."""
        text = _KEY_LIKE.sub("***", blot_out(text, self.secrets))
        if self._key and len(self._key) >= 2 * _MIN_HEAD:
            text = re.sub(re.escape(self._key[:_MIN_HEAD]) + f"{_KEY_REST}*", "***", text)
        return text

    def close(self) -> None:
        """Close the connections; a later question opens new ones."""
        for connections in self._clients.drain():
            connections.http.close()

    def ask(
        self,
        request: Mapping[str, Any],
        tokens: int,
        *,
        is_refusal: Callable[[int, Any], bool] = lambda status, body: False,
    ) -> Answer:
        """Send one request and its retries; failures are data.

        Args:
            request: arguments of ``chat.completions.create``.
            tokens: how many the request is expected to use.
            is_refusal: says of a status and a body whether to ask in another way instead of again.
        """
        calls, timeouts, spent_s = 0, 0, 0.0
        while True:
            if self.limiter is not None:
                # A client that were opened only then would send long after its place in the line,
                # and those of several processes all at once.
                with self._clients.lease():
                    pass
                with waiting():
                    self.limiter.wait(tokens)
            with self._slots.hold() if self._slots is not None else nullcontext():
                began = self._clock()
                attempt = self._attempt(request, began)
                spent_s += self._clock() - began
                if self._slots is not None:
                    self._slots.saw(attempt.status)
            calls += 1
            timeouts += attempt.timed_out
            if (
                calls > self._settings.retries
                or timeouts > TIMEOUT_RETRIES
                or not _may_pass(attempt)
                or (attempt.status is not None and is_refusal(attempt.status, attempt.body))
            ):
                return replace(
                    self._answer(attempt, calls), calls=calls, duration_ms=spent_s * 1000
                )
            with waiting():
                self._sleep(wait_seconds(calls, self._rng, attempt.retry_after_s))

    def settle(self, expected: int, used: int) -> None:
        """Tell the rate limits how many tokens a request really used."""
        if self.limiter is not None:
            self.limiter.settle(expected, used)

    # --- one attempt -----------------------------------------------------------------------

    def _attempt(self, request: Mapping[str, Any], began: float) -> _Attempt:
        content = json.dumps(request).encode("ascii")
        with self._clients.lease() as connections:
            try:
                # Not the client's own ``create``, which takes longer to look through a request
                # that is plain JSON already than to send it.
                with (
                    within(self._settings.timeout_s),
                    connections.http.stream(
                        "POST", self._address.url, headers=connections.headers, content=content
                    ) as response,
                ):
                    return self._received(response, began)
            # The transport's own errors, whose library depends on openai's version.
            except Exception as error:
                if "Timeout" in type(error).__name__:
                    return _Attempt(fault=self._too_slow(), timed_out=True)
                said = excerpt(self.blot(str(error)), 200)
                return _Attempt(fault=f"no connection: {type(error).__name__}: {said}".rstrip(": "))

    def _received(self, response: Any, began: float) -> _Attempt:
        status = response.status_code
        attempt = self._read(status, response.iter_bytes, began)
        if 200 <= status < 300:
            return attempt
        header = response.headers.get("retry-after")
        return replace(
            attempt,
            # A page that breaks off or never ends is still that error.
            status=status,
            fault="",
            retry_after_s=retry_after_seconds(header, datetime.now(UTC)),
        )

    def _read(self, status: int, chunks: Callable[[], Any], began: float) -> _Attempt:
        """Read a body to its end, within the limits of time and size."""
        body = bytearray()
        try:
            for chunk in chunks():
                body += chunk
                if self._clock() - began > self._settings.timeout_s:
                    return _Attempt(fault=self._too_slow(), timed_out=True)
                if len(body) > MAX_BODY_BYTES:
                    return _Attempt(status=status, body=f"a reply of over {MAX_BODY_BYTES:,} bytes")
        # The transport's own errors: openai names none for a body, and which library it is
        # depends on openai's version.
        except Exception as error:
            if "Timeout" in type(error).__name__:
                return _Attempt(fault=self._too_slow(), timed_out=True)
            said = excerpt(self.blot(str(error)), 200)
            return _Attempt(fault=f"the reply broke off: {type(error).__name__}: {said}")
        return _hidden_error(_Attempt(status=status, body=self._value(bytes(body))))

    def _value(self, body: bytes) -> Any:
        """Return a body's JSON value, or its text, without secrets."""
        text = body.decode("utf-8", "replace")
        try:
            return blot_out_of_reply(json.loads(text), self.secrets)
        except (ValueError, RecursionError):
            return blot_out(text, self.secrets)

    def _too_slow(self) -> str:
        return f"no whole reply within {self._settings.timeout_s:g} s"

    def _answer(self, attempt: _Attempt, calls: int) -> Answer:
        status = attempt.status
        if status is not None and 200 <= status < 300:
            return Answer(body=attempt.body, status=status)
        kind: JudgeErrorKind = "rate_limited" if status == 429 else "unreachable"
        said = attempt.fault
        if status is not None:
            said = f"HTTP {status}"
            if text := error_text(attempt.body):
                said = f"{said}: {excerpt(self.blot(text), 300)}"
            said += self._hint(status)
        tries = f" (after {calls} attempts)" if calls > 1 else ""
        message = f"judge at {self.host}: {said}{tries}"
        return Answer(
            body=attempt.body, status=status, failure=JudgeFailure(kind=kind, message=message)
        )

    def _hint(self, status: int) -> str:
        if status in {401, 403}:
            name = self._settings.api_key_env
            named = f" in {name}" if _NAME.fullmatch(name) else ""
            return f"; check the key{named}"
        if 300 <= status < 400:
            return "; redirects are not followed: set the base URL to the address itself"
        if status == 404:
            return "; check the model's name and the base URL, which mostly ends in /v1"
        return ""

    def _open(self) -> _Connections:
        """Return the client's connections and what it sends with every request."""
        import openai

        from pytest_rageval.support.http.exchange import tls_context

        # At DEBUG they would log prompts and headers, and at INFO addresses, into captured logs.
        # After the import, which may set a level from the environment.
        for name in _LOGGERS:
            logging.getLogger(name).setLevel(logging.WARNING)
        if self._tls is None:
            leave_out_what_is_loaded()
            self._tls = tls_context(self._address)
        limit = self._settings.timeout_s
        headers = {}
        if self._address.credentials is not None:
            pair = ":".join(self._address.credentials).encode()
            headers["Authorization"] = f"Basic {base64.b64encode(pair).decode('ascii')}"
        http = openai.DefaultHttpxClient(
            verify=self._tls,
            timeout=openai.Timeout(limit, connect=min(CONNECT_TIMEOUT_S, limit)),
            # Whose address nobody named is sent no answers and no documents.
            follow_redirects=False,
        )
        client = openai.OpenAI(
            # A server of one's own asks for no key, but the client does.
            api_key=self._key or "none",
            base_url=self._address.url.removesuffix(f"/{_PATH}"),
            default_headers=headers,
            http_client=http,
        )
        every = {**client.auth_headers, **client.default_headers}
        # Some values stand for "not to be sent".
        sent = {name.lower(): value for name, value in every.items() if isinstance(value, str)}
        return _Connections(http=mind_deadlines(http), headers=sent)


def _may_pass(attempt: _Attempt) -> bool:
    """Say whether the same request may do better later."""
    if attempt.status is None:
        return True
    # Without money on the account, waiting does not help.
    if attempt.status == 429 and "insufficient_quota" in json.dumps(attempt.body):
        return False
    return attempt.status in _RETRYABLE or attempt.status >= 500


def _hidden_error(attempt: _Attempt) -> _Attempt:
    """Unveil an error that came as 200: some gateways send one in place of the completion."""
    body = attempt.body
    if not isinstance(body, dict) or not body.get("error") or body.get("choices"):
        return attempt
    error = body["error"]
    code = error.get("code") if isinstance(error, dict) else None
    known = isinstance(code, int) and 400 <= code <= 599
    return replace(attempt, status=code if known else 502)


def _address(base_url: str) -> Address:
    where = "[tool.rageval.judge] base_url"
    if re.search("[?#]", base_url):
        raise ConfigError(f"{where}: holds a query or a fragment, expected a base URL")
    base = base_url.strip().rstrip("/").removesuffix(f"/{_PATH}")
    try:
        return join_url(base, _PATH)
    except ConfigError as error:
        raise ConfigError(f"{where}: {str(error).partition(': ')[2]}") from None


def _key(variable: str, environ: Mapping[str, str], *, needed: bool) -> str | None:
    """Return the key; None: there is none, and none is needed."""
    where = "[tool.rageval.judge] api_key_env"
    # Where a key was given in place of its name, no message may repeat it.
    shown = variable if _NAME.fullmatch(variable) else "that it names"
    key = environ.get(variable, "").strip()
    if not key:
        if not needed:
            return None
        raise ConfigError(
            f"{where}: the environment variable {shown} is not set; it holds the judge's key"
        )
    if not key.isascii() or not key.isprintable():
        raise ConfigError(f"{where}: {shown} holds a character that no header may hold")
    return key
