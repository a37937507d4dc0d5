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

from pytest_rageval.support.text import NOT_SHOWN, UNSEEN
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
    r"(?:^|[-_]|(?-i:(?=[A-Z])))(?:authorization|(?:api|access|subscription)[-_]?key|token|secret|"
    r"password|passwd|cookie)$",
    re.IGNORECASE,
)
"""Names of parameters with secret values, such as ``accessToken``; ``max_tokens`` is none."""
_QUERY_SECRET: Final = re.compile(
    r"(?P<name>[?&](?:(?:[^=&#]{0,100}[-_])?(?:auth|authorization|api[-_]?key|key|token|secret|password|"
    r"passwd|pwd|sig|signature|code)|[^=&#]{0,100}(?-i:(?:Api|Access|Subscription)Key|Token|Secret|"
    r"Password))=)(?P<value>[^&#]+)",
    re.IGNORECASE,
)
"""Matches the end of a name, which separates a token from a number of tokens. The length is
limited, because the time would else grow with the square of the length of a text."""
_ENVIRONMENT_SECRET: Final = re.compile(
    r"(?:^|_)(?:AUTH|AUTHORIZATION|(?:API_?)?KEY|TOKEN|SECRET|(?:PG)?PASSWORD|PASSWD|CREDENTIALS?)$"
    r"|_(?:PASS|PWD)$",
    re.IGNORECASE,
)
"""End of the name of an environment variable with a secret."""
_WRITTEN_SECRET: Final = re.compile(
    r"""(?P<name>(?:(?:api|access|account|subscription)[-_]?key|token|secret|password|passwd
    |authorization)["']?\s*[=:]\s*
    [rfb]{0,2}(?:\'{3}|"{3}|["']))(?:(?!\.{3};)[^"'\n]){4,}
    |(?P<scheme>\b(?:Bearer|Basic)\s+)[^\s"']{4,}
    |(?P<bare>(?:(?:api|access|account|subscription)[-_]?key|token|secret|password|passwd)\s?[=:]\s?)
    (?=[^\s"'&,;()\[\]{}]{0,100}\d)(?=[^\s"'&,;()\[\]{}]{0,100}[a-z])
    [^\s"'&,;()\[\]{}]{6,}+(?![(\[])
    |(?<=://)[^/\s?\#"']+(?=@)|\bsk-[a-z0-9_-]{12,}
    |\b(?:gh[pousr]_[a-z0-9]{16,}|github_pat_\w{20,}|hf_[a-z0-9]{20,}
    |(?-i:(?:AKIA|ASIA)[0-9A-Z]{16}\b|AIza[\w-]{30,}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]+)?))""",
    re.VERBOSE | re.IGNORECASE,
)
"""A secret in source code or in a message, recognised by the text before it or by its beginning.
One without quotes has a digit and a letter, unlike most names of variables and types. One in quotes
ends where a text was cut for a message, which goes on."""
TOKEN: Final = re.compile(r"(?=.*\d)(?=.*[A-Za-z])\S{12,}")
"""Text that is no word, but one that a program made up."""
_BASE64_PART: Final = re.compile(r"(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9+]{16,}={0,2}")
"""Text between two slashes of base64, which hardly any path holds."""
_USER_INFO: Final = re.compile(r"(?<=//)[^/?#\s]*@")
_WORD: Final = re.compile(r"""[^\s"']+""")
_MIN_SECRET_CHARS: Final = 4
"""Minimum length to blot out; shorter values would garble messages."""
_MIN_DIGITS: Final = 8
"""Minimum length of a number to blot out; a shorter one may be a count."""
_NEEDLESS: Final = re.compile(r"(?<!\\)(\\{1,8})(?:/|u00([2-7][0-9a-f]))", re.IGNORECASE)
"""Escape for an ASCII character, also in JSON within JSON."""
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
        query = [match["value"] for match in _QUERY_SECRET.finditer(self.url)]
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
        raise ConfigError(f"{where}: expected a URL such as http://localhost:8000, got nothing")
    parts = _split(base.strip(), where)
    if parts.query or parts.fragment:
        raise ConfigError(f"{where}: holds a query or a fragment; put a query into `path`")
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
            raise ConfigError(f"[tool.rageval.target] headers: {name!r} is not a header name")
        if match := ENV_VALUE.fullmatch(value):
            variable = match["name"]
            secret = environ.get(variable, "").strip()
            if not secret:
                raise ConfigError(f"{where}: the environment variable {variable} is not set")
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
        if not _ENVIRONMENT_SECRET.search(name):
            raise ConfigError(
                f"{where}: env.{name}, expected a variable whose name ends with KEY, TOKEN, "
                "SECRET, PASSWORD, AUTH or CREDENTIALS: its value is hidden in replies and "
                "messages; write what is not secret into the request itself"
            )
        if not found[name]:
            raise ConfigError(f"{where}: the environment variable {name} is not set")
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


def blot_out(message: str, secrets: Iterable[str]) -> str:
    r"""Replace every secret in a message, such as a header that a server echoes, by ``***``.

    Also as URLs, JSON, HTML and base64 hold it. Where one is found only without needless escapes or
    invisible characters, the message loses all of these.

    >>> blot_out(r"/ask?key=a%2fb%2bc4ret, as YS9iK2M0cmV0 or a\/b+c4ret", ["a/b+c4ret"])
    '/ask?key=***, as *** or ***'
    """
    forms = _forms(tuple(secrets))
    for form in forms:
        message = message.replace(form, "***")
    views = [message]
    if forms and UNSEEN.search(message):
        views += [unseen.sub("", message) for unseen in NOT_SHOWN]
    if "\\" in message:
        views += [_NEEDLESS.sub(_unescaped, view) for view in views]
    for view in views[1:]:
        if any([form in view for form in forms]):
            return blot_out(view, secrets)
    return message


def _unescaped(escape: re.Match[str]) -> str:
    char, n = chr(int(escape[2] or "2f", 16)), len(escape[1])
    # These two need an escape at every level.
    return char if char not in '"\\' else "\\" * (2 * n - (char == '"')) + char.strip("\\")


def blot_out_cut(text: str, secrets: Iterable[str]) -> str:
    """Replace every secret in a text that was cut, whose end may be a part of one.

    >>> blot_out_cut("the key is s3cret-", ["s3cret-key"])
    'the key is ***'
    """
    text = blot_out(text, secrets)
    for shown in (text, _NEEDLESS.sub(_unescaped, text)):
        for form in _forms(tuple(secrets)):
            for n in range(len(form) - 1, _MIN_SECRET_CHARS - 1, -1):
                if shown.endswith(form[:n]):
                    return f"{shown[:-n]}***"
    return text


@lru_cache(maxsize=64)
def _forms(secrets: tuple[str, ...]) -> list[str]:
    """Return secrets as they are and as URLs, base64, JSON and HTML hold them, longest first."""
    found = set()
    for secret in secrets:
        if len(secret) < _MIN_SECRET_CHARS:
            continue
        data = secret.encode("utf-8", "surrogatepass")
        found |= {secret, html.escape(secret)}
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            found.add(encode(data).decode("ascii").rstrip("="))
        for safe in ("", "/", "!'()*"):  # of most libraries, of Python, of JavaScript
            quoted = quote(data, safe)
            for one in (quoted, quoted.replace("%20", "+")):
                found |= {one, re.sub("%..", lambda escape: escape[0].lower(), one)}
        for ascii_only in (True, False):
            escaped = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
            found |= {escaped, json.dumps(escaped)[1:-1]}
    return sorted(found, key=len, reverse=True)


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

    Paths and short values, such as ``1`` or ``true``, are not listed. User names and passwords of
    URLs are, such as those of a proxy or a database, and secrets that this process learned.
    """
    # One by one: pytest sets and removes a variable for each test, on another thread.
    variables = [(name, value) for name in environ if (value := environ.get(name)) is not None]
    found = (
        line
        for name, value in variables
        if _ENVIRONMENT_SECRET.search(name) and not _is_path(value.strip())
        for line in map(str.strip, value.split("\n"))  # as of a file, which ends with one, or a PEM
        if len(line) >= 8
    )
    urls = (credentials_in(value) for _, value in variables if _USER_INFO.search(value))
    pairs = (sent_forms(pair) for pair in urls if pair is not None and pair[1])
    return (*found, *(text for pair in pairs for text in pair), *learned_secrets())


def _is_path(value: str) -> bool:
    """Whether a value is a path, such as of a file with a key, and not base64."""
    return value[:1] in "/~." and not any(map(_BASE64_PART.fullmatch, value.split("/")))


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


def blot_out_written(text: str, secrets: Iterable[str]) -> str:
    """Replace secrets in a text of unknown origin: known ones, and those that look like one.

    >>> blot_out_written("get('http://ann:s3cret@host/?token=abcdef', 'Bearer abcdef')", ["host"])
    "get('http://***@***/?token=***', 'Bearer ***')"
    """
    text = _WORD.sub(
        lambda word: _QUERY_SECRET.sub(r"\g<name>***", word[0]), blot_out(text, secrets)
    )
    return _WRITTEN_SECRET.sub(
        lambda match: f"{match['name'] or match['scheme'] or match['bare'] or ''}***", text
    )


def blot_out_known(text: str, limit: int | None = None) -> str:
    """Replace the secrets that a text of the project's code may hold: its environment's also.

    A text of ``limit`` characters or more is cut to them; its end may be a part of a secret.
    """
    secrets = environment_secrets(os.environ)
    if limit is not None and len(text) >= limit:
        text = blot_out_cut(text[:limit], secrets)
    return blot_out_written(text, secrets)


def without_secrets(url: str) -> str:
    """Remove credentials, query and fragment from a URL, for messages."""
    address = re.split(r"[?#]", url, maxsplit=1)[0]
    return re.sub(r"//[^/]*@", "//", address, count=1)  # a password may hold blanks


def without_user_info(text: str) -> str:
    """Remove the credentials of each URL in a text."""
    return _USER_INFO.sub("", text)


def without_query_secrets(path: str) -> str:
    """Hide the values of a query that are secret by their name, for storage.

    >>> without_query_secrets("/ask?debug=true&api_key=s3cret&max_tokens=5")
    '/ask?debug=true&api_key=(hidden)&max_tokens=5'
    """
    return _QUERY_SECRET.sub(r"\g<name>(hidden)", path)


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
        raise ConfigError(f"{what} holds a character that no header may hold")


def _split(base: str, where: str) -> SplitResult:
    try:
        parts = urlsplit(base)
        port_is_valid = parts.port is None or parts.port > 0
        (parts.hostname or "").encode("idna")  # as it is looked up
    except ValueError:
        port_is_valid = False
    if not port_is_valid:
        raise ConfigError(f"{where}: the host or the port is not valid")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        # The text before a bare colon may be a user name: `ann:secret@host`.
        odd = parts.scheme not in {"", "http", "https"} and parts.netloc
        hint = f"it begins with {parts.scheme}://" if odd else "it has no http:// and host"
        raise ConfigError(f"{where}: expected a URL such as http://localhost:8000; {hint}")
    if any(char.isspace() or not char.isprintable() for char in base):
        raise ConfigError(f"{where}: holds whitespace or a control character")
    return parts


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        address = ipaddress.ip_address(host)
        return address.is_loopback or address.is_unspecified
    return host == "localhost" or host.endswith(".localhost")
