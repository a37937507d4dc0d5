"""Reading of the values of settings, from text and from TOML. Pure.

Text comes from flags and environment variables, values from pyproject.toml. A type with its limits
says most; the checks of the formats that it does not say are here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import PurePath
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from pytest_rageval.support.http.address import SECRET_NAME
from pytest_rageval.support.reading import Unfit, ValueCheck, read
from pytest_rageval.support.text import nearest, shown
from pytest_rageval.values.declared import Setting
from pytest_rageval.values.errors import ConfigError, Fault
from pytest_rageval.values.lenient import number as finite
from pytest_rageval.values.numbers import plain
from pytest_rageval.values.reply import ID_FIELD, trace_link
from pytest_rageval.values.settings import AUTO, RUN_ID_RULE, is_run_id

REQUEST_FIELDS: Final = ("question", "vaults", "folders", "k", "folder_mode", "rerank_weights")
"""Fields of the ask request that other options or cases set."""
JUDGE_FIELDS: Final = (
    "model", "messages", "response_format", "temperature", "seed", "max_tokens",
    "max_completion_tokens", "stream",
)  # fmt: skip
"""Fields of a request to a judge that it sets itself, or cannot do with."""

Read = tuple[Any, list[Fault]]
"""A value, or None and all faults of what was given."""

_BOOLEANS: Final = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}


def read_text(option: Setting, text: str) -> Read:
    """Read the text of a flag or variable; a repeatable option gets one piece, not the list."""
    value: Any = text
    if option.kind == "repeats":
        value = int(text) if text.strip().isdecimal() else text.strip()
    elif option.kind == "boolean":
        value = _BOOLEANS.get(text.strip().lower(), text)
    elif option.kind in {"integer", "number"}:
        try:
            value = int(text) if option.kind == "integer" else float(text)
        except ValueError:
            value = text
    elif option.kind == "params":
        key, sign, raw = text.partition("=")
        if not sign or not key.strip():
            return None, [
                Fault(code="value", facts={"found": shown(text), "expected": "KEY=VALUE"})
            ]
        value = {key.strip(): _json_scalar(raw)}
    elif option.kind == "gates":
        value = [text]
    elif option.kind == "texts":
        value = [part.strip() for part in text.split(",")]
    found, faults = read_value(option, value)
    if isinstance(value, int | float):  # as it was typed
        faults = [replace(one, facts={**one.facts, "found": shown(text)}) for one in faults]
    return found, faults


def read_value(option: Setting, value: object) -> Read:
    """Read a value of pyproject.toml; no fault repeats that of a header."""
    if option.kind in {"folders", "markers", "selectors"} and isinstance(value, str):
        value = [value]
    return read(_model(option), value, secret=option.kind == "headers")


def _json_scalar(text: str) -> Any:
    """Return the JSON scalar that the text is, or the text itself."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    scalar = not isinstance(value, list | dict | float) or finite(value) is not None
    return value if scalar else text


@cache
def _model(option: Setting) -> Any:
    """Return the type of an option with the check of its kind."""
    check = _CHECKS.get(option.kind)
    kind = Any if option.kind in {"mapping", "repeats"} else option.type
    return kind if check is None else Annotated[kind, ValueCheck(check)]


# --- checks ----------------------------------------------------------------------------------


def _text(text: str) -> str:
    if not text.strip():
        raise Unfit("a string that is not empty")
    return text


def _url(text: str, instead: str) -> str:
    text = _text(text).strip()
    try:
        parts = urlsplit(text)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname)
        named = parts.username is not None
        _ = parts.port
    except ValueError:
        usable, named = False, False
    if named or (not usable and "@" in text):
        # A URL is stored with the run: say so without repeating the secret.
        raise Unfit(instead, "a URL with a user name or password")
    if not usable:
        raise Unfit("a URL such as http://127.0.0.1:8000")
    return text.rstrip("/")


def _trace_url(text: str) -> str:
    instead = "an address without them: it is stored with the run and shown in reports"
    _url(text, instead)
    text = text.strip()
    if not trace_link(text, "0") or set("{}") & set(text.replace(ID_FIELD, "")):
        raise Unfit("a URL with {trace_id} and no other braces")
    return text


def _repeats(value: object) -> object:

    if value != AUTO and (type(value) is not int or not 1 <= value <= 1000):
        raise Unfit('an integer of at least 1 and at most 1000, or "auto"')
    return value


def _run_id(text: str) -> str:

    if not is_run_id(text, new=True):
        raise Unfit(RUN_ID_RULE)
    return text


def _shard(text: str) -> str:
    from pytest_rageval.project.selecting import Shard

    return str(Shard.parse(_text(text)))


def _judge(text: str) -> str:
    text = _text(text).strip()
    if _BOOLEANS.get(text.lower()) is False:  # as a summary says; not the name of a model
        raise Unfit("offline, none or the name of a model")
    return text


def _texts(texts: tuple[str, ...]) -> tuple[str, ...]:
    if not texts or not all(map(str.strip, texts)):
        raise Unfit("a list of strings")
    return texts


def _gates(gates: tuple[str, ...]) -> tuple[str, ...]:
    from pytest_rageval.project.thresholds import parse_gate_expression

    for text in _texts(gates):
        try:
            parse_gate_expression(text, more=True)
        except ConfigError as error:
            raise ValueError(str(error)) from None
    return gates


def _markers(names: tuple[str, ...]) -> tuple[str, ...]:
    from pytest_rageval.metrics.citation_markers import PRESETS

    for name in _texts(names):
        if name not in PRESETS:
            raise Unfit(
                f"some of {', '.join(PRESETS)}", shown(name), nearest=nearest(name, PRESETS) or ""
            )
    return names


def _marker(pattern: str) -> str:
    from pytest_rageval.metrics.citation_markers import check_pattern

    if not pattern:
        raise Unfit("a regular expression")
    check_pattern(pattern)
    return pattern


def _selectors(names: tuple[str, ...]) -> tuple[str, ...]:
    from pytest_rageval.project.selecting import SELECTOR_RULE, is_selector

    for name in _texts(names):
        if not is_selector(name):
            raise Unfit(SELECTOR_RULE, shown(name))
    return names


def _below(path: str) -> str:
    if not is_below(_text(path)):
        raise Unfit("a path below the rootdir", shown(path))
    return path


def _folders(folders: tuple[str, ...]) -> tuple[str, ...]:
    from pytest_rageval.metrics.matching import norm_path

    for folder in _texts(folders):
        if not norm_path(folder):
            raise Unfit('a folder such as "/srv/docs"', shown(folder))
    return folders


def _preset(name: str) -> str:
    from pytest_rageval.project.presets.preset import load_preset

    return load_preset(_text(name)).name


def _json_table(table: Mapping[str, Any], taken: Sequence[str]) -> dict[str, Any]:
    values = {key: plain(item) for key, item in table.items()}
    for key, item in values.items():
        if key in taken:
            there = ", ".join(taken)
            raise Unfit(f"a field that the request does not have yet (it has {there})", shown(key))
        try:
            json.dumps(item, allow_nan=False)
        except (TypeError, ValueError):
            raise Unfit("a value that JSON can hold", shown(item), at=(key,)) from None
    return values


def _extra_body(table: Mapping[str, Any]) -> dict[str, Any]:
    extra = _json_table(table, JUDGE_FIELDS)
    for key, item in extra.items():
        if without_secrets({key: item}) != {key: item}:
            raise Unfit("its variable in api_key_env", "what looks like a secret", at=(key,))
    return extra


def _headers(headers: Mapping[str, str]) -> dict[str, str]:
    for name, item in headers.items():
        if item.startswith("env:") and not item[4:].strip():
            raise Unfit("env: and the name of a variable", "'env:'", at=(name,))
    return dict(headers)


def _mapping(value: object) -> str | dict[str, str]:
    if isinstance(value, str) and value.strip():
        return value
    if not isinstance(value, Mapping):
        raise Unfit("a JMESPath expression or a table of them")
    for name, item in value.items():
        if not isinstance(item, str):
            constant = 'an expression; a constant is one in backquotes, such as "`5`"'
            raise Unfit(constant, shown(item), at=(name,))
    return dict(value)


def _vars(table: Mapping[str, Any]) -> dict[str, Any]:
    for name, item in table.items():
        texts = isinstance(item, list) and all(isinstance(text, str) for text in item)
        if not texts and not isinstance(item, str | int | float):
            raise Unfit("a text, number or list of texts", shown(item), at=(name,))
    return dict(table)


_CHECKS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "text": _text,
    "url": partial(
        _url,
        instead="them in [tool.rageval.target] headers, as in Authorization = "
        '"Basic env:RAG_LOGIN", where the variable holds user:password in base64',
    ),
    "judge_url": partial(
        _url, instead="its key in the environment variable that --judge-api-key-env names"
    ),
    "repeats": _repeats,
    "run_id": _run_id,
    "shard": _shard,
    "judge": _judge,
    "texts": _texts,
    "gates": _gates,
    "params": partial(_json_table, taken=REQUEST_FIELDS),
    "extra_body": _extra_body,
    "headers": _headers,
    "mapping": _mapping,
    "preset": _preset,
    "vars": _vars,
    "markers": _markers,
    "folders": _folders,
    "selectors": _selectors,
    "below": _below,
    "marker": _marker,
    "trace_url": _trace_url,
}


def is_below(path: str) -> bool:
    """Return whether a relative path stays below its folder."""
    parts = PurePath(path)
    return not (parts.is_absolute() or parts.drive or ".." in parts.parts)


def is_secret_param(key: str, value: object) -> bool:
    """Return whether the name of a parameter says that its text is a secret."""
    return isinstance(value, str) and SECRET_NAME.search(key) is not None


def without_secrets(value: Any) -> Any:
    """Return parameters, those within others too, with ``(hidden)`` for each secret."""
    if isinstance(value, Mapping):
        return {
            key: "(hidden)" if is_secret_param(key, one) else without_secrets(one)
            for key, one in value.items()
        }
    return [*map(without_secrets, value)] if isinstance(value, list | tuple) else value
