"""The address of a target and the headers sent to it, with every secret kept out of messages."""

from __future__ import annotations

import base64
import html
import ipaddress
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final
from urllib.parse import SplitResult, quote, unquote, urlsplit

from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.settings import TargetSettings

_PLACEHOLDER: Final = re.compile(r"\{[^{}]*\}")
ENV_VALUE: Final = re.compile(
    r"(?P<prefix>(?:.*\s)?)env:(?P<name>[A-Za-z_][A-Za-z0-9_]*)", re.DOTALL
)
"""``env:NAME``, alone or after a word as in ``Bearer env:NAME``."""
_REQUEST_ENV: Final = re.compile(r"""(?<![\w.'"])env\.([A-Za-z_]\w*)""", re.ASCII)
"""``env.NAME`` in an expression of a request."""
_REQUEST_TEXT: Final = re.compile(r"""([\w-]+)"?\s*:\s*'([^']+)'""")
"""Name of a field in an expression of a request, and its text in quotes."""
HEADER_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_NAMING: Final = r"(?:user|user[-_]?id|name|mail|tenant|groups?|roles?|type)$"
NAMING_HEADER: Final = re.compile(_NAMING, re.IGNORECASE)
"""Names of headers that say who asks, such as ``X-Auth-User``: their values are not secret."""
SENSITIVE_HEADER: Final = re.compile(
    rf"^(?!.*{_NAMING}).*(?:auth|key|token|secret|cookie|password)", re.IGNORECASE
)
"""Names of headers with secret values."""
SECRET_NAME: Final = re.compile(
    r"(?:^|[-_]|(?-i:(?=[A-Z])))(?:authorization|(?:api|access|account|subscription)[-_]?key|token|"
    r"secret|password|passwd|cookie)$",
    re.IGNORECASE,
)
"""Names of parameters with secret values, such as ``accessToken``; not ``max_tokens``."""
_SHORT_SECRET_NAME: Final = re.compile(
    r"(?:^|[-_])(?:auth|key|sig|signature|code|credentials?)$|^(?:pwd|apikey|pgpassword)$|[-_](?:pass|pwd)$",
    re.IGNORECASE,
)
"""More of them, in a query or an environment."""
_QUERY: Final = re.compile(r"(?<=[?&])([^=&#]{1,100})=([^&#]+)")
TOKEN: Final = re.compile(r"(?=.*\d)(?=.*[A-Za-z])\S{12,}")
"""Text that is no word, but one that a program made up."""
_USER_INFO: Final = re.compile(r"(?<=//)[^/?#\s]*@")
_WORD: Final = re.compile(r"""[^\s"']+""")
_MIN_SECRET_CHARS: Final = 4
"""Minimum length to blot out; shorter values would garble messages."""
_MIN_DIGITS: Final = 8
"""Minimum length of a number to blot out; a shorter one may be a count."""
_ESCAPED: Final = re.compile("[\"'&<>+`]|[^ -~]")
"""Characters that .NET escapes in JSON."""
_URL_SAFE: Final = str.maketrans("+/", "-_")
_learned: Final[dict[str, None]] = {}
"""Secrets that came up in this process."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Address:
    """Address that requests are sent to."""

    url: str
    """URL with path and query, without credentials."""
    credentials: tuple[str, str] | None = None
    """User name and password."""
    shown: str
    """URL for messages, without credentials and query."""
    loopback: bool
    """Whether the host is this machine by name or number."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that must not be printed: credentials and query keys, also in encoded form."""
        query = [value for name, value in _QUERY.findall(self.url) if _is_secret(name)]
        user = () if self.credentials is None else sent_forms(self.credentials)
        return (*query, *map(unquote, query), *user)


def sent_forms(credentials: tuple[str, str]) -> tuple[str, ...]:
    """Return a user name, its password, and what a header holds of both."""
    return (*credentials, basic_credentials(credentials))


def basic_credentials(credentials: tuple[str, str]) -> str:
    """Return a user name and its password as a header of HTTP basic authentication holds them."""
    plain = ":".join(credentials).encode("utf-8", "surrogateescape")  # a variable holds any bytes
    return base64.b64encode(plain).decode("ascii")


@cache
def join_url(base: str | None, path: str, where: str = "[tool.rageval.target] url") -> Address:
    """Join a base URL, with or without a slash at its end, and the path of the endpoint.

    Args:
        base: the URL.
        path: of the endpoint, with its query.
        where: the setting of the URL, for messages.

    Raises:
        ConfigError: the base is not an http or https URL; the message contains no credentials.
    """
    if not base:
        raise ConfigError.of(where, "not_url")
    parts = _split(base.strip(), where)
    if parts.query or parts.fragment:
        raise ConfigError.of(where, "url_query", setting="`path`")
    netloc = parts.netloc.rpartition("@")[2].lower().removesuffix(":")
    full = f"{parts.scheme}://{netloc}{parts.path.rstrip('/')}/{path.lstrip('/')}"
    return Address(
        url=full,
        credentials=credentials_in(base.strip()),
        shown=without_secrets(full),
        loopback=_is_loopback(parts.hostname or ""),
    )


def resolve_headers(headers: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Replace ``env:NAME``, alone or after a word as in ``Bearer env:NAME``, by its value.

    Whitespace around a variable's value is dropped: files of secrets end with a newline.

    Raises:
        ConfigError: a variable is missing or empty, or a header cannot be sent; names the header
            and the variable, never the value.
    """
    found = {}
    for name, value in headers.items():
        where, source = f"[tool.rageval.target] headers.{name}", "its value"
        if not HEADER_NAME.fullmatch(name):
            raise ConfigError.of(
                "[tool.rageval.target] headers", "value", found=repr(name), expected="a header name"
            )
        if match := ENV_VALUE.fullmatch(value):
            variable = match["name"]
            secret = environ.get(variable, "").strip()
            if not secret:
                raise ConfigError.of(where, "no_variable", variable=variable)
            source, value = f"the value of {variable}", match["prefix"] + secret
        check_sendable(value, f"{where}: {source}")
        found[name] = value
    return found


def request_environment(request: str | Mapping[str, str] | None) -> dict[str, str]:
    """Return the field of a request, or an empty text for the whole, by the variable it names.

    >>> request_environment({"auth": "{key: env.SEARCH_KEY}", "query": "question"})
    {'SEARCH_KEY': 'auth'}
    """
    fields = request if isinstance(request, Mapping) else {"": request or ""}
    return {name: field for field, text in fields.items() for name in _REQUEST_ENV.findall(text)}


def request_literals(request: str | Mapping[str, str] | None) -> list[str]:
    """Return the texts that a request holds in the place of a secret.

    >>> request_literals("{query: question, api_key: 'hushed'}")
    ['hushed']
    """
    fields = request if isinstance(request, Mapping) else {"": request or ""}
    texts = (f"{field}: {text}" for field, text in fields.items())
    found = (pair for text in texts for pair in _REQUEST_TEXT.findall(text))
    return [text for name, text in found if SECRET_NAME.search(name)]


def resolve_request(
    request: str | Mapping[str, str] | None, environ: Mapping[str, str]
) -> dict[str, str]:
    """Return the values of the variables that a request names as ``env.NAME``, all of them secret.

    Raises:
        ConfigError: a variable is missing or empty, or its name is not that of a secret, whose
            value would then be hidden in paths and answers; names the field and the variable.
    """
    found = {}
    for name, field in request_environment(request).items():
        found[name] = environ.get(name, "").strip()
        where = f"[tool.rageval.target] request{'.' if field else ''}{field}"
        if not _is_secret(name):
            raise ConfigError.of(where, "open_variable", variable=name)
        if not found[name]:
            raise ConfigError.of(where, "no_variable", variable=name)
    return found


def blot_out_of_reply(value: Any, secrets: Sequence[str]) -> Any:
    """Replace the secrets in a JSON value, texts and numbers: a target may echo its request."""
    if not secrets:
        return value
    if isinstance(value, str):
        return blot_out(value, secrets)
    if isinstance(value, list | tuple):
        return [blot_out_of_reply(item, secrets) for item in value]
    if isinstance(value, Mapping):
        keys = (blot_out(key, secrets) if isinstance(key, str) else key for key in value)
        items = (blot_out_of_reply(item, secrets) for item in value.values())
        return dict(zip(keys, items, strict=True))
    if isinstance(value, int) and len(digits := str(value)) >= _MIN_DIGITS and digits in secrets:
        return "***"
    return value


def blot_out(text: str, secrets: Iterable[str], *, cut: bool = False) -> str:
    r"""Replace every secret in a message, such as a header that a server echoes, by ``***``.

    Also as URLs, JSON, HTML and base64 contain it, and at the end of a message that was ``cut``
    its first characters.

    >>> blot_out(r"/ask?key=a%2fb%2Bc4ret, as YS9iK2M0cmV0 or a\/b+c4ret", ["a/b+c4ret"])
    '/ask?key=***, as *** or ***'
    >>> blot_out("<p>a&lt;b&amp;c4ret</p>", ["a<b&c4ret"])
    '<p>***</p>'
    >>> blot_out("the key is s3cret-", ["s3cret-key"], cut=True)
    'the key is ***'
    """
    pattern, forms = _forms(tuple(secrets))
    text = pattern.sub("***", text) if forms else text
    for form in forms if cut else ():
        for n in range(len(form) - 1, _MIN_SECRET_CHARS - 1, -1):
            if text.endswith(form[:n]):
                text = f"{text[:-n]}***"
    return text


@lru_cache(maxsize=64)
def _forms(secrets: tuple[str, ...]) -> tuple[re.Pattern[str], list[str]]:
    """Return the forms of secrets, longest first, and what finds any of them."""
    found = set()
    for secret in secrets:
        if len(secret) >= _MIN_SECRET_CHARS:
            data = secret.encode("utf-8", "surrogatepass")
            plain = base64.b64encode(data).decode("ascii").rstrip("=")
            escaped = {
                json.dumps(secret)[1:-1],
                json.dumps(secret, ensure_ascii=False)[1:-1],
                _ESCAPED.sub(lambda char: f"\\u{ord(char[0]):04X}", secret.replace("\\", r"\\")),
            }
            # Also twice, as in the JSON that a model wrote.
            escaped |= {json.dumps(one)[1:-1] for one in escaped}
            found |= {secret, plain, plain.translate(_URL_SAFE), *escaped}
            found |= {one.replace("/", "\\/") for one in escaped}
            found |= {quote(data, safe) for safe in ("", "/")}
            found |= {html.escape(secret), html.escape(secret, quote=False)}
    forms = sorted(found, key=len, reverse=True)
    # Some write the digits of an encoded character in lower case.
    patterns = (
        re.sub(r"(%|\\\\u00)(\w\w)", lambda pair: f"{pair[1]}(?i:{pair[2]})", re.escape(one))
        for one in forms
    )
    return re.compile("|".join(patterns)), forms


def header_secrets(headers: Mapping[str, str], environ: Mapping[str, str]) -> tuple[str, ...]:
    """List what headers hold that must not be printed, as far as their variables are set.

    Of a value with placeholders such as ``{case.id}``, the text around them is listed.
    """
    secret: list[str] = []
    for name, value in headers.items():
        if match := ENV_VALUE.fullmatch(value):
            # A header without its value is not secret: "Bearer" must not be blotted out.
            if found := environ.get(match["name"], "").strip():
                secret += [match["prefix"] + found, found]
        elif SENSITIVE_HEADER.search(name):
            secret += _PLACEHOLDER.split(value)
    return token_values(secret)


def sent_secrets(target: TargetSettings, environ: Mapping[str, str]) -> tuple[str, ...]:
    """List what is sent to a target and must not be printed, as far as it is set."""
    embedded = (name for key, name in target.embedded.items() if key.endswith("_api_key_env"))
    named = (*request_environment(target.request), *map(str, embedded))
    found = [environ.get(name, "").strip() for name in named]
    with suppress(ConfigError):  # which says what is wrong where the target is opened
        found += join_url(target.url, target.path).secrets
    found += request_literals(target.request)
    return (*filter(None, found), *header_secrets(target.headers, environ))


def token_values(secret: Iterable[str]) -> tuple[str, ...]:
    """Return values of headers, and what servers repeat of each.

    That is the token after a word like Bearer, the password of ``Basic``, and each cookie or other
    part that is no word.

    >>> token_values(["Basic YW5uOmh1c2hlZA=="])
    ('Basic YW5uOmh1c2hlZA==', 'YW5uOmh1c2hlZA==', 'hushed', 'YW5uOmh1c2hlZA')
    >>> token_values(["sid=4f7a9c1e2b8d; theme=dark"])
    ('sid=4f7a9c1e2b8d; theme=dark', 'theme=dark', '4f7a9c1e2b8d')
    """
    found: dict[str, None] = {}
    for value in filter(str.strip, secret):
        token = value.rsplit(maxsplit=1)[-1]
        found |= {value: None, token: None}
        if value.lower().startswith("basic "):
            with suppress(ValueError):
                found[base64.b64decode(token).decode("utf-8", "replace").partition(":")[2]] = None
        found |= dict.fromkeys(filter(TOKEN.fullmatch, re.split(r"""[\s;,="']+""", value)))
    return tuple(found)


def environment_secrets(environ: Mapping[str, str]) -> tuple[str, ...]:
    """List the values of environment variables whose names say that they are secret.

    Short values, such as ``1`` or ``true``, are not listed. User names and passwords of URLs are,
    such as those of a proxy or a database, and secrets that this process learned.
    """
    found: list[str] = []
    # One by one: pytest sets and removes a variable for each test, on another thread.
    for name in environ:
        value = environ.get(name) or ""
        if _is_secret(name) and name != "PWD":  # line by line: a file ends with one, a PEM has many
            found += [line for line in map(str.strip, value.split("\n")) if len(line) >= 8]
        if _USER_INFO.search(value) and (pair := credentials_in(value)) and pair[1]:
            found += sent_forms(pair)
    return (*found, *_learned)


def reply_secrets(environ: Mapping[str, str]) -> tuple[str, ...]:
    """List the secrets of an environment that no reply holds by chance.

    Those that may be words, such as a password of a database for tests, are not listed: they would
    be removed from answers, and change their scores.
    """
    return tuple(filter(TOKEN.fullmatch, environment_secrets(environ)))


def learn_secrets(values: Iterable[str]) -> None:
    """Note secrets that code of the user returned, which no setting and no variable holds."""
    _learned.update(dict.fromkeys(v for v in values if len(v) >= _MIN_SECRET_CHARS))


def learned_secrets() -> tuple[str, ...]:
    """Return the secrets noted in this process, oldest first."""
    return tuple(_learned)


def blot_out_written(text: str, secrets: Iterable[str], *, cut: bool = False) -> str:
    """Replace secrets in a text of unknown origin: known ones, and those in URLs.

    >>> blot_out_written("get('http://ann:s3cret@host/?token=abcdef', 'of host')", ["host"])
    "get('http://***@***/?token=***', 'of ***')"
    """
    text = _USER_INFO.sub("***@", blot_out(text, secrets, cut=cut))
    return _WORD.sub(lambda word: without_query_secrets(word[0], "***"), text)


def blot_out_known(text: str, limit: int | None = None) -> str:
    """Replace the secrets that a text of the project's code may contain: its environment's also.

    A text of ``limit`` characters or more is cut to them; its end may be a part of a secret.
    """
    cut = limit is not None and len(text) >= limit
    return blot_out_written(text[:limit], environment_secrets(os.environ), cut=cut)


def without_secrets(url: str) -> str:
    """Remove credentials, query and fragment from a URL, for messages."""
    address = re.split(r"[?#]", url, maxsplit=1)[0]
    return re.sub(r"//[^/]*@", "//", address, count=1)  # a password may hold blanks


def without_user_info(text: str) -> str:
    """Remove the credentials of each URL in a text."""
    return _USER_INFO.sub("", text)


def without_query_secrets(path: str, shown: str = "(hidden)") -> str:
    """Hide the values of a query that are secret by their name, for storage.

    >>> without_query_secrets("/ask?debug=true&api_key=s3cret&max_tokens=5")
    '/ask?debug=true&api_key=(hidden)&max_tokens=5'
    """
    return _QUERY.sub(lambda one: f"{one[1]}={shown}" if _is_secret(one[1]) else one[0], path)


def _is_secret(name: str) -> bool:
    return bool(SECRET_NAME.search(name) or _SHORT_SECRET_NAME.search(name))


def credentials_in(url: str) -> tuple[str, str] | None:
    """Return the user name and the password of a URL; None: it has none, or is not valid."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    if parts.username is None and parts.password is None:
        return None
    return unquote(parts.username or ""), unquote(parts.password or "")


def is_sendable(value: str) -> bool:
    """Whether a header may hold a value."""
    return value.isascii() and value.isprintable()


def check_sendable(value: str, what: str) -> None:
    """Refuse a value that no header may hold.

    Raises:
        ConfigError: it is one; the text begins with what it is.
    """
    if not is_sendable(value):
        raise ConfigError.of(what, "unsendable")


def _split(base: str, where: str) -> SplitResult:
    try:
        parts = urlsplit(base)
        port_is_valid = parts.port is None or parts.port > 0
        (parts.hostname or "").encode("idna")  # as it is looked up
    except ValueError:
        port_is_valid = False
    if not port_is_valid:
        raise ConfigError.of(where, "url_host")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        # The text before a bare colon may be a user name: `ann:secret@host`.
        odd = parts.scheme not in {"", "http", "https"} and parts.netloc
        raise ConfigError.of(where, "not_url", scheme=parts.scheme if odd else None)
    if any(char.isspace() or not char.isprintable() for char in base):
        raise ConfigError.of(where, "url_blank")
    return parts


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        address = ipaddress.ip_address(host)
        return address.is_loopback or address.is_unspecified
    return host == "localhost" or host.endswith(".localhost")
