"""Removal of every secret from requests and responses before they are recorded.

Known secrets are replaced everywhere; values that may be secret are dropped by their names. Both
sides of a comparison go through the same functions, so a replay does not need any secret.
"""

from __future__ import annotations

import copy
import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from pytest_rageval.support.http.address import (
    ENV_VALUE,
    SENSITIVE_HEADER,
    blot_out,
    credentials_in,
    learned_secrets,
    reply_secrets,
    request_environment,
    sent_forms,
    sent_secrets,
    without_query_secrets,
    without_user_info,
)
from pytest_rageval.support.http.bodies import KNOWN_CODINGS, TransportError, unpacked
from pytest_rageval.support.http.exchange import MAX_BODY_BYTES
from pytest_rageval.support.text import clean
from pytest_rageval.target.variables import without_uuids
from pytest_rageval.values.declared import is_device
from pytest_rageval.values.errors import target_error
from pytest_rageval.values.settings import Settings

NOT_NEEDED: Final = "rageval-replay-needs-no-secret"
"""Value of a secret that is not set while nothing is sent."""
_REQUEST_HEADERS: Final = frozenset({"accept", "content-type"})
_RESPONSE_HEADERS_LEFT_OUT: Final = frozenset(
    # Account names, and headers that do not fit the unpacked and blotted body.
    {"openai-organization", "openai-project", "content-length", "transfer-encoding"}
)
_KEY_HEAD: Final = 8
_PIECE: Final = re.compile(
    r"""(?P<name>"[^"\\\n]*"\s*:\s*"|^data: ?(?!\[DONE\])|^\w:")(?P<text>(?:[^"\\\n]|\\.)*)""",
    re.MULTILINE,
)
"""A text in an event of a stream, and what stands before it."""
_LOGIN_FIELDS: Final = (
    r"(?i:(?:(?:access|refresh|id|session|web_?identity)_?token|client_?(?:secret|assertion)"
    r"|secret_?access_?key|password))"
)
_LOGIN: Final = re.compile(
    rf"""("{_LOGIN_FIELDS}"\s*:\s*")(?:[^"\\]|\\.)+|((?:^|&){_LOGIN_FIELDS}=)[^"&]+
    |(?<=<SecretAccessKey>)[^<]+|(?<=<SessionToken>)[^<]+
    |(?<=[^\\]")eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+(?=")""",
    re.VERBOSE,
)
"""Secrets of a login: fields of JSON or a form in any spelling, of AWS in XML, and JWTs."""


def secret_names(settings: Settings) -> frozenset[str]:
    """Return the environment variables that hold the secrets of a run."""
    matches = (ENV_VALUE.fullmatch(value) for value in settings.target.headers.values())
    named = (*(m["name"] for m in matches if m), *request_environment(settings.target.request))
    return frozenset({settings.judging.api_key_env, *named})


def replay_environ(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with a stand-in for every secret that is not set."""
    names = secret_names(settings)
    return {**environ, **{name: environ.get(name, "").strip() or NOT_NEEDED for name in names}}


class Scrubber:
    """Cleans requests and responses of one run; cleaning twice changes nothing more."""

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        values = {*sent_secrets(settings.target, environ), *_judge_secrets(settings, environ)}
        values.update(reply_secrets(environ))
        self._secrets: tuple[str, ...] = ()
        self._learn(values)
        self._streams = settings.target.stream in {"sse", "ndjson"}
        key = environ.get(settings.judging.api_key_env, "").strip()
        self._key_head = key[:_KEY_HEAD] if len(key) >= 2 * _KEY_HEAD else ""
        self._kept = _REQUEST_HEADERS | {
            name.lower()
            for name, value in settings.target.headers.items()
            if not ENV_VALUE.fullmatch(value) and not SENSITIVE_HEADER.search(name)
        }

    def request(self, request: Any) -> Any:
        """Clean a request of vcrpy in place and return it.

        Only headers that describe the body and configured ones without a secret are kept; matching
        ignores headers. UUIDs of ours become one that is the same in every run.
        """
        # A replay sends a stand-in where the recorded request had a secret.
        uri = without_uuids(without_user_info(request.uri)).replace(NOT_NEEDED, "***")
        request.uri = self._text(without_query_secrets(uri))
        request.headers = {
            name: self._text(without_uuids(_header_text(value)))
            for name, value in request.headers.items()
            if name.lower() in self._kept
        }
        if isinstance(request.body, bytes):
            body = without_uuids(request.body.decode("latin-1")).replace(NOT_NEEDED, "***")
            request.body = self._body(body.encode("latin-1"))
        return request

    def response(self, response: dict[str, Any]) -> dict[str, Any]:
        """Return a cleaned copy of a response of vcrpy, its body unpacked.

        Raises:
            EndpointError: its compression is unknown, so it cannot be searched for secrets.
        """
        response = _unpacked(response)
        response["headers"] = {
            name: [self._text(without_query_secrets(_header_text(v))) for v in _listed(values)]
            for name, values in response["headers"].items()
            if not SENSITIVE_HEADER.search(name) and name.lower() not in _RESPONSE_HEADERS_LEFT_OUT
        }
        if said := response.get("status", {}).get("message"):
            response["status"]["message"] = self._text(str(said))
        body = response.get("body", {}).get("string")
        if isinstance(body, str | bytes):
            raw = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
            failed = response.get("status", {}).get("code", 200) >= 400
            response["body"]["string"] = self._body(raw, parts_of_keys=failed)
        return response

    def _learn(self, values: Iterable[str]) -> None:
        known = {NOT_NEEDED, *self._secrets}
        new = [value for value in values if value.strip() and value not in known]
        # Bodies are read as latin-1, and a variable may hold any bytes.
        as_bytes = (one.encode("utf-8", "surrogateescape").decode("latin-1") for one in new)
        self._secrets = (*self._secrets, *sorted({*new, *as_bytes}))

    def _text(self, text: str) -> str:
        self._learn(learned_secrets())  # of headers that the project's code brought since
        return blot_out(text, self._secrets)

    def _body(self, body: bytes, *, parts_of_keys: bool = False) -> bytes:
        # latin-1 reads any bytes and writes them back.
        text = _LOGIN.sub(r"\1\2***", self._text(body.decode("latin-1")))
        if self._streams:
            text = self._pieces(text)
        if parts_of_keys and self._key_head:
            # A server that refuses a key shows its ends.
            text = re.sub(re.escape(self._key_head) + r"[\w*.+/=\-]*", "***", text)
        return text.encode("latin-1")

    def _pieces(self, text: str) -> str:
        """Put pieces of a stream that are a secret together into the first of them, without it."""
        named: dict[str, list[re.Match[str]]] = {}
        for piece in _PIECE.finditer(text):
            named.setdefault(piece["name"], []).append(piece)
        put: dict[int, str] = {}
        for pieces in named.values():
            whole = "".join(piece["text"] for piece in pieces)
            if (hidden := self._text(whole)) != whole:
                put |= dict.fromkeys((piece.start() for piece in pieces), "")
                put[pieces[0].start()] = hidden
        return _PIECE.sub(lambda one: one["name"] + put.get(one.start(), one["text"]), text)


def _judge_secrets(settings: Settings, environ: Mapping[str, str]) -> Iterable[str]:
    yield environ.get(settings.judging.api_key_env, "").strip()
    base_url = settings.judging.base_url or environ.get("OPENAI_BASE_URL") or ""
    if credentials := credentials_in(base_url):
        yield from sent_forms(credentials)


def _unpacked(response: dict[str, Any]) -> dict[str, Any]:
    found = copy.deepcopy(response)
    headers = found["headers"]
    packed = [headers.pop(name) for name in [*headers] if name.lower() == "content-encoding"]
    codings = ",".join(_header_text(one) for values in packed for one in _listed(values))
    for coding in codings.split(","):
        if coding.strip().lower() not in {"", "identity", *KNOWN_CODINGS}:
            raise target_error("cassette_coding", coding=coding.strip())
    body = found.get("body", {}).get("string")
    if codings and isinstance(body, bytes) and body:
        try:
            found["body"]["string"] = unpacked(codings, body, MAX_BODY_BYTES)
        except TransportError as error:
            raise target_error("reply_undecodable", reason=clean(str(error), 80)) from error
    return found


def _listed(values: Any) -> list[Any]:
    return list(values) if isinstance(values, list | tuple) else [values]


def _header_text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


MAX_CHARS: Final = 150
"""Without the suffix; file systems allow 255 bytes, and some allow 260 for a whole path."""

_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-.")
_SPECIAL_DOT: Final = re.compile(r"^\.|\.$|\.(?=(?:yaml|yml|json)$)")
"""At an end, or before a suffix: vcrpy adds its own only to a name without one."""


def cassette_name(case_id: str) -> str:
    """Return the name of a case's cassette, without folder and suffix.

    Everything except lower-case ASCII letters, digits and ``_-.`` is percent-encoded, and so are
    names special to file systems or vcrpy. A long name ends in a hash of the id.

    >>> cassette_name("recency/conflict_001")
    'recency%2Fconflict_001'
    >>> cassette_name("A?")
    '%41%3F'
    """
    name = "".join(char if char in _PLAIN else _encoded(char) for char in case_id)
    name = _SPECIAL_DOT.sub("%2E", name)
    if is_device(name):
        name = _encoded(name[0]) + name[1:]
    if len(name) <= MAX_CHARS:
        return name
    digest = hashlib.sha256(case_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    head = re.sub(r"%[0-9A-F]?$", "", name[: MAX_CHARS - len(digest) - 1])
    return f"{head}~{digest}"


def _encoded(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))
