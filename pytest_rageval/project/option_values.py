"""Readers of the values of options, from text and from TOML. Pure.

Text comes from flags and environment variables, values from pyproject.toml. Every reader
returns the clean value or raises ``ValueError`` with the value found and what was expected.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from pytest_rageval.project.options import Kind, Setting
from pytest_rageval.support.http.address import SECRET_NAME
from pytest_rageval.support.text import did_you_mean, shown
from pytest_rageval.values.json_documents import number as finite
from pytest_rageval.values.limits import MAX_INTEGER
from pytest_rageval.values.numbers import plain
from pytest_rageval.values.trace import ID_FIELD, trace_link

REQUEST_FIELDS: Final = ("question", "vaults", "folders", "k", "folder_mode", "rerank_weights")
"""Fields of the ask request that other options or cases set."""
JUDGE_FIELDS: Final = (
    "model", "messages", "response_format", "temperature", "seed", "max_tokens",
    "max_completion_tokens", "stream",
)  # fmt: skip
"""Fields of a request to a judge that it sets itself, or cannot do with."""

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_CREDENTIALS = {
    "target.url": "them in [tool.rageval.target] headers, as in Authorization = "
    '"Basic env:RAG_LOGIN", where the variable holds user:password in base64',
    "target.trace_url": "an address without them: it is stored with the run and shown in reports",
    "judge.base_url": "its key in the environment variable that --judge-api-key-env names",
}
"""Places for credentials instead of a URL."""


def fault(value: object, expected: str) -> ValueError:
    """Build the error of a value that was not expected."""
    return ValueError(f"got {shown(value)}, expected {expected}")


def read_option_text(option: Setting, text: str) -> Any:
    """Read the text of a flag or of an environment variable.

    Args:
        option: of the text; a repeatable one gets one piece, not the list.
        text: as typed.

    Raises:
        ValueError: names the value found and what was expected.
    """
    if option.kind == "boolean":
        return _boolean_from(text)
    if option.kind in {"integer", "number"}:
        return _checked_number(option, _number_from(option, text), came=text)
    if option.kind == "params":
        return _param_from(text)
    if option.kind == "gates":
        return _gates(option, [text])
    if option.kind == "texts":
        return _texts(option, [part.strip() for part in text.split(",")])
    return read_option_value(option, text)


def read_option_value(option: Setting, value: object) -> Any:
    """Read a value of pyproject.toml.

    Raises:
        ValueError: names the value found, except that of a header, and what was expected.
    """
    return _READERS[option.kind](option, value)


def expected_number(option: Setting) -> str:
    """Describe the numbers that an option takes."""
    noun = "an integer" if option.kind == "integer" else "a number"
    if option.minimum is None:
        return noun
    bound = "above" if option.above_minimum else "of at least"
    return f"{noun} {bound} {option.minimum:g}"


# --- text ----------------------------------------------------------------------------------


def _boolean_from(text: str) -> bool:
    word = text.strip().lower()
    if word in _TRUE | _FALSE:
        return word in _TRUE
    raise fault(text, "true or false (or 1, 0, yes, no, on, off)")


def _number_from(option: Setting, text: str) -> float:
    try:
        return int(text) if option.kind == "integer" else float(text)
    except ValueError:
        raise fault(text, expected_number(option)) from None


def _param_from(text: str) -> dict[str, Any]:
    key, sign, raw = text.partition("=")
    key = key.strip()
    if not sign or not key:
        raise fault(text, "KEY=VALUE")
    _refuse_field(key, REQUEST_FIELDS)
    return {key: _json_scalar(raw)}


def _json_scalar(text: str) -> Any:
    """Return the JSON scalar that the text is, or the text itself."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    scalar = not isinstance(value, list | dict | float) or finite(value) is not None
    return value if scalar else text


# --- TOML ----------------------------------------------------------------------------------


def _text(option: Setting, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise fault(value, "a string that is not empty")
    return value


def _url(option: Setting, value: object) -> str:
    text = _text(option, value).strip()
    try:
        parts = urlsplit(text)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname)
        named = parts.username is not None
        _ = parts.port
    except ValueError:
        usable, named = False, False
    if named or (not usable and "@" in text):
        # A URL is stored with the run: say so without repeating the secret.
        raise ValueError(
            f"got a URL with a user name or password, expected {_CREDENTIALS[option.key]}"
        )
    if not usable:
        raise fault(value, "a URL such as http://127.0.0.1:8000")
    return text.rstrip("/")


def _run_id(option: Setting, value: object) -> str:
    from pytest_rageval.values.settings import RUN_ID_RULE, is_run_id

    text = _text(option, value)
    if not is_run_id(text, new=True):
        raise fault(value, RUN_ID_RULE)
    return text


def _shard(option: Setting, value: object) -> str:
    from pytest_rageval.project.shards import Shard

    return str(Shard.parse(_text(option, value)))


def _number(option: Setting, value: object) -> float:
    kinds: tuple[type, ...] = (int,) if option.kind == "integer" else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise fault(value, expected_number(option))
    assert isinstance(value, (int, float))
    return _checked_number(option, value, came=value)


def _checked_number(option: Setting, number: float, *, came: object) -> float:
    good, low = finite(number) is not None, option.minimum
    if good and low is not None:
        good = number > low or (number == low and not option.above_minimum)
    if not good:
        raise fault(came, expected_number(option))
    most = MAX_INTEGER if option.maximum is None else option.maximum
    if option.kind == "integer" and number > most:
        raise fault(came, f"{expected_number(option)} and at most {most}")
    return number


def _boolean(option: Setting, value: object) -> bool:
    if not isinstance(value, bool):
        raise fault(value, "true or false")
    return value


def _choice(option: Setting, value: object) -> str:
    if not isinstance(value, str) or value not in option.choices:
        raise fault(value, "one of " + ", ".join(option.choices))
    return value


def _judge(option: Setting, value: object) -> str:
    text = _text(option, value).strip()
    if text.lower() in _FALSE:  # as a summary says; not the name of a model
        raise fault(value, "offline, none or the name of a model")
    return text


def _texts(option: Setting, value: object) -> tuple[str, ...]:
    if isinstance(value, list) and value and all(isinstance(v, str) and v.strip() for v in value):
        return tuple(value)
    raise fault(value, "a list of strings")


def _gates(option: Setting, value: object) -> tuple[str, ...]:
    from pytest_rageval.project.thresholds import parse_gate_expression
    from pytest_rageval.values.errors import ConfigError

    for text in _texts(option, value):
        try:
            parse_gate_expression(text, more=True)
        except ConfigError as error:
            raise ValueError(str(error)) from None
    return _texts(option, value)


def _params(option: Setting, value: object) -> dict[str, Any]:
    return _json_table(value, REQUEST_FIELDS)


def _extra_body(option: Setting, value: object) -> dict[str, Any]:
    extra = _json_table(value, JUDGE_FIELDS)
    for key, item in extra.items():
        if without_secrets({key: item}) != {key: item}:
            raise ValueError(f"{key}: looks like a secret; name its variable in api_key_env")
    return extra


def _json_table(value: object, taken: Sequence[str]) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise fault(value, "a table")
    params = {key: plain(item) for key, item in value.items()}
    for key, item in params.items():
        _refuse_field(key, taken)
        try:
            json.dumps(item, allow_nan=False)
        except (TypeError, ValueError):
            raise ValueError(f"{key}: {fault(item, 'a value that JSON can hold')}") from None
    return params


def _refuse_field(key: str, taken: Sequence[str]) -> None:
    if key in taken:
        there = ", ".join(taken)
        raise fault(key, f"a field that the request does not have yet (it has {there})")


def _headers(option: Setting, value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise ValueError(f"got a value of type {type(value).__name__}, expected a table")
    for name, item in value.items():
        if not isinstance(item, str):
            raise ValueError(
                f"{name}: got a value of type {type(item).__name__}, "
                'expected a string such as "env:RAG_TOKEN"'
            )
        if item.startswith("env:") and not item[4:].strip():
            raise ValueError(f"{name}: got 'env:', expected env: and the name of a variable")
    return dict(value)


def _mapping(option: Setting, value: object) -> str | dict[str, str]:
    if isinstance(value, str) and value.strip():
        return value
    if not isinstance(value, Mapping):
        raise fault(value, "a JMESPath expression or a table of them")
    for name, item in value.items():
        if not isinstance(item, str):
            constant = 'an expression; a constant is one in backquotes, such as "`5`"'
            raise ValueError(f"{name}: {fault(item, constant)}")
    return dict(value)


def _preset(option: Setting, value: object) -> str:
    from pytest_rageval.project.presets.preset import load_preset

    return load_preset(_text(option, value)).name


def _vars(option: Setting, value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise fault(value, 'a table such as { workspace = "docs" }')
    for name, item in value.items():
        known = isinstance(item, str | int | float) or (
            isinstance(item, list) and all(isinstance(text, str) for text in item)
        )
        if not known:
            raise ValueError(f"{name}: got {shown(item)}, expected a text, number or list of texts")
    return dict(value)


def _markers(option: Setting, value: object) -> tuple[str, ...]:
    from pytest_rageval.metrics.citation_markers import PRESETS

    names = _texts(option, [value] if isinstance(value, str) else value)
    for name in names:
        if name not in PRESETS:
            hint = did_you_mean(name, PRESETS, before="; ")
            raise ValueError(f"got {shown(name)}, expected some of {', '.join(PRESETS)}{hint}")
    return names


def _folders(option: Setting, value: object) -> tuple[str, ...]:
    from pytest_rageval.metrics.matching import norm_path

    folders = _texts(option, [value] if isinstance(value, str) else value)
    for folder in folders:
        if not norm_path(folder):
            raise fault(folder, 'a folder such as "/srv/docs"')
    return folders


def _marker(option: Setting, value: object) -> str:
    from pytest_rageval.metrics.citation_markers import check_pattern

    if not isinstance(value, str) or not value:
        raise fault(value, "a regular expression")
    check_pattern(value)
    return value


def _trace_url(option: Setting, value: object) -> str:
    _url(option, value)
    text = _text(option, value).strip()
    if not trace_link(text, "0") or set("{}") & set(text.replace(ID_FIELD, "")):
        raise fault(value, "a URL with {trace_id} and no other braces")
    return text


_READERS: Final[Mapping[Kind, Callable[[Setting, object], Any]]] = {
    "text": _text,
    "url": _url,
    "run_id": _run_id,
    "shard": _shard,
    "integer": _number,
    "number": _number,
    "boolean": _boolean,
    "choice": _choice,
    "judge": _judge,
    "texts": _texts,
    "gates": _gates,
    "params": _params,
    "extra_body": _extra_body,
    "headers": _headers,
    "mapping": _mapping,
    "preset": _preset,
    "vars": _vars,
    "markers": _markers,
    "folders": _folders,
    "marker": _marker,
    "trace_url": _trace_url,
}


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
