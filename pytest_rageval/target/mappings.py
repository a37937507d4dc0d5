"""JMESPath mappings for APIs of another shape: our request to theirs, their reply to ours.

A mapping is one expression that yields the whole document, or a table of field to expression.
In a table a dot in a field's name nests: ``"input.query" = "question"`` sends
``{"input": {"query": ...}}``. Fields that come out null are left out, as only what is set is sent.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from itertools import permutations
from typing import Any, Final, Literal

from pytest_rageval.support.text import did_you_mean, excerpt, nearest
from pytest_rageval.values.errors import ConfigError, EndpointError

MapFunction = Callable[[object], object]

_REPLY_FIELDS: Final = ("answer", "references", "abstained", "abstain_reason")
_DEBUG_FIELDS: Final = (
    "retrieved_chunks",
    "folder_selection",
    "latency",
    "indexing_coverage",
    "models",
)


def compile_mapping(
    spec: str | Mapping[str, str] | None, direction: Literal["request", "response"]
) -> MapFunction:
    """Compile ``[tool.rageval.target] request`` or ``response``; None maps nothing.

    In a response table the fields of ``debug`` may be written without that prefix.

    Raises:
        ConfigError: an expression or a field is wrong; names the key, the position and what was
            found there.

    The returned function raises EndpointError (kind ``protocol``) where an expression that is
    well formed cannot be applied to the document at hand.
    """
    where = f"[tool.rageval.target] {direction}"
    if spec is None:
        return lambda document: document
    if isinstance(spec, str):
        whole = _compile(spec, where)
        return lambda document: _without_nulls(whole(document))
    paths = {name: _field_path(name, direction, where) for name in spec}
    _refuse_overlaps(paths, where)
    compiled = {
        path: _compile(spec[name], f"{where}.{_toml_key(name)}") for name, path in paths.items()
    }
    return lambda document: _assemble((path, search(document)) for path, search in compiled.items())


def _compile(expression: object, where: str) -> MapFunction:
    import jmespath
    from jmespath.exceptions import JMESPathError

    if not isinstance(expression, str):
        raise ConfigError(f"{where}: expected a JMESPath expression, got {expression!r}")
    try:
        with warnings.catch_warnings():
            # `word` for `"word"`: deprecated by the grammar, common in examples, and harmless.
            warnings.simplefilter("ignore", PendingDeprecationWarning)
            compiled = jmespath.compile(expression)
    except JMESPathError as error:
        raise ConfigError(f"{where}: {_syntax_fault(expression, error)}") from error
    _check_functions(compiled.parsed, expression, where)

    def search(document: object) -> object:
        try:
            return compiled.search(document)
        except (JMESPathError, TypeError, ValueError, RecursionError) as error:
            reason = excerpt(str(error), 160)
            raise EndpointError("protocol", f"{where} cannot be applied: {reason}") from error

    return search


def _syntax_fault(expression: str, error: Exception) -> str:
    position = getattr(error, "lex_position", None)
    if not isinstance(position, int):
        return f"bad JMESPath expression {expression!r}: {excerpt(str(error), 100)}"
    found = repr(expression[position : position + 20]) if position < len(expression) else "its end"
    return (
        f"bad JMESPath expression {excerpt(expression)!r}: "
        f"unexpected {found} at position {position + 1}"
    )


def _check_functions(node: object, expression: str, where: str) -> None:
    """Refuse an unknown function now: jmespath itself would only notice on a reply."""
    from jmespath.functions import Functions

    known = Functions.FUNCTION_TABLE
    for name in _function_names(node):
        if name not in known:
            close = nearest(name, known)
            hint = f"; did you mean {close}()?" if close else ""
            raise ConfigError(
                f"{where}: bad JMESPath expression {excerpt(expression)!r}: unknown function "
                f"{name}() at position {expression.find(name) + 1}{hint}"
            )


def _function_names(node: object) -> Iterator[str]:
    if isinstance(node, Mapping):
        if node.get("type") == "function_expression":
            yield node["value"]
        for child in node.get("children", ()):
            yield from _function_names(child)


def _field_path(name: str, direction: str, where: str) -> tuple[str, ...]:
    path = tuple(name.split("."))
    if "" in path:
        raise ConfigError(f"{where}: {name!r} is no field name")
    if direction == "request":
        return path
    if len(path) == 1 and name in _DEBUG_FIELDS:
        return ("debug", name)
    known = {*_REPLY_FIELDS, "debug", *(f"debug.{field}" for field in _DEBUG_FIELDS)}
    # Below a known field anything goes: `debug.latency.retrieval_ms`.
    if name in known or (path[0] == "debug" and path[1] in _DEBUG_FIELDS):
        return path
    if path[0] in _DEBUG_FIELDS:
        return ("debug", *path)
    hint = did_you_mean(name, [*known, *_DEBUG_FIELDS], before="; ")
    expected = ", ".join([*_REPLY_FIELDS, *_DEBUG_FIELDS])
    raise ConfigError(f"{where}: unknown field {name!r}; expected one of {expected}{hint}")


def _refuse_overlaps(paths: Mapping[str, tuple[str, ...]], where: str) -> None:
    for (name, path), (other_name, other) in permutations(paths.items(), 2):
        if other[: len(path)] == path:
            raise ConfigError(f"{where}: {name!r} and {other_name!r} overlap; keep one")


def _assemble(values: Iterator[tuple[tuple[str, ...], object]]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for path, value in values:
        if value is None:
            continue
        inner = document
        for name in path[:-1]:
            inner = inner.setdefault(name, {})
        inner[path[-1]] = _without_nulls(value)
    return document


def _without_nulls(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _without_nulls(entry) for name, entry in value.items() if entry is not None}
    return value


def _toml_key(name: str) -> str:
    return f'"{name}"' if "." in name else name
