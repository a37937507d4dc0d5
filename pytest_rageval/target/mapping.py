"""JMESPath mappings between the contract and an API of another shape. Pure.

A mapping is one expression that yields the whole document, or a table of field to expression. In a
table a dot in a field's name nests: ``"input.query" = "question"`` sends ``{"input": {"query":
...}}``. Fields whose expression yields null are not sent.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any, Final, Literal

from pytest_rageval.support.reading import hint
from pytest_rageval.support.text import clean, counted, did_you_mean, nearest, part
from pytest_rageval.target.contract import (
    INNER_FIELDS,
    MOST_CHARS,
    error_message,
    last_data,
    shown_keys,
    size_of,
)
from pytest_rageval.target.variables import whole_request
from pytest_rageval.values.errors import ConfigError, EndpointError, target_error, with_facts
from pytest_rageval.values.reply import DEBUG_FIELDS, TOP_FIELDS
from pytest_rageval.values.settings import RESPONSE_TABLE, TargetSettings

MapFunction = Callable[[object], object]

_REPLY_FIELDS: Final = (*TOP_FIELDS, "error")
_PROJECTING: Final = frozenset(
    {"projection", "filter_projection", "flatten", "value_projection", "pipe"}
)
_JOINING: Final = frozenset(
    {"function_expression", "or_expression", "and_expression", "multi_select_dict", "key_val_pair"}
)
"""Nodes of JMESPath that make a list of their first child, or of all of them."""
_MADE_BY_ALL: Final = frozenset({"or_expression", "flatten"})
"""Nodes of JMESPath that give what any child gives."""
_DEPTH: Final = re.compile(r"\bk\b|@")
_QUOTED: Final = re.compile(r"'[^']*'|`[^`]*`")
_FOLLOWING: Final = re.compile(r"\bhistory\b|\bsession\b|@")
_ASKING: Final = re.compile(r"\bquestion\b|\bmetadata\b|@")


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingReport:
    """Findings about the mappings by one request and its reply."""

    unsent: Mapping[str, str] = field(default_factory=dict)
    """Expressions that gave null by field of the request, which was then not sent."""
    never_sent: frozenset[str] = frozenset()
    """Fields of ``unsent`` whose expression gives null for any request."""
    asks: bool = True
    """Whether anything of the request may hold the question."""
    sends_k: bool = True
    """Whether anything of the request may hold the number of chunks."""
    response: Mapping[str, str] = field(default_factory=dict)
    """Expressions by field of the reply without the prefix ``debug``; empty: it is not mapped. An
    expression for the whole reply has an empty name."""
    empty: frozenset[str] = frozenset()
    """Fields of ``response`` whose expression gave null, or a list that is empty although none in
    the reply is."""
    optional: frozenset[str] = frozenset()
    """Fields of ``response`` that the system behind the preset may leave out."""
    keys: str = ""
    """Names in the reply as it came, top level and three below; empty: it has none."""

    def name_of(self, field: str) -> str | None:
        """Return the name under which a field of the reply is mapped; None: it is not mapped."""
        return next((name for name in (field, "debug", "") if name in self.response), None)

    def nothing(self, field: str) -> str:
        """Name the expression that gave nothing for a field, and the keys of the reply.

        Empty: the field is not mapped or optional, or its expression gave something.
        """
        name = self.name_of(field)
        if name is None or name not in self.empty or name in self.optional:
            return ""
        return f"`{self.response[name]}` in {RESPONSE_TABLE} gave nothing; {self._keys}"

    def explained(self, error: EndpointError, answer: str) -> EndpointError:
        """Return the error of a mapped reply with the expression behind it, and the reply's keys.

        Args:
            error: such as ``reply_field``.
            answer: expression of a text that may be the answer; empty: none is likely.
        """
        keys, place = self.keys or "none", str(error.facts.get("field", ""))
        if error.code != "reply_field" or " " in place:  # of the whole reply
            return with_facts(error, keys=keys)
        field = re.split(r"[.\[]", place.removeprefix("debug."))[0]
        name = self.name_of(field)
        expression = None if name is None else self.response[name]
        if field == "answer" and self.nothing(field):
            return target_error("mapping_nothing", field=field, expression=expression, keys=keys)
        if expression is None and field == "answer":
            error = with_facts(error, **map_answer(answer))
        return with_facts(error, expression=expression, keys=keys)

    @property
    def _keys(self) -> str:
        return f"keys of the reply: {self.keys or 'none'}"


def map_answer(expression: str) -> Mapping[str, str]:
    """Return the facts about the answer of a reply: a likely expression, or that it is unmapped."""
    return {"likely": quoted(expression)} if expression else {"unmapped": "answer"}


def quoted(text: str) -> str:
    """Return a text as TOML has it."""
    literal = '"' in text and "'" not in text
    return f"'{text}'" if literal else json.dumps(text, ensure_ascii=False)


def mapping_report(
    target: TargetSettings, body: Mapping[str, object], reply: object
) -> MappingReport:
    """Apply each expression of the mappings alone.

    Args:
        target: the mappings, which compile.
        body: the request before it was mapped.
        reply: the decoded reply before it was mapped; None if absent.
    """
    whole = whole_request(body)
    response = {name.removeprefix("debug."): text for name, text in _rows(target.response)}
    request = _rows(target.request)
    unsent = {name: text for name, text in request if _is_null(text, body)}
    return MappingReport(
        unsent=unsent,
        asks=asks_question(target),
        sends_k=sends_k(target),
        # Another case may have the metadata that this one lacks.
        never_sent=frozenset(
            n for n, text in unsent.items() if "metadata" not in text and _is_null(text, whole)
        ),
        response=response,
        empty=frozenset(
            n for n, text in response.items() if reply is not None and _found_nothing(text, reply)
        ),
        optional=_optional(target, response),
        keys=shown_keys(reply) if last_data(reply) is reply else _stream_keys(reply),
    )


def asks_question(target: TargetSettings) -> bool:
    """Return whether a request may hold the question; one that is not mapped does."""
    rows = _rows(target.request)
    sent = (target.path, *(text for _, text in rows))
    return not rows or any(_ASKING.search(_QUOTED.sub("", text)) for text in sent)


def sends_k(target: TargetSettings) -> bool:
    """Return whether a request may hold ``k``; a request that is not mapped does."""
    texts = [_QUOTED.sub("", text) for _, text in _rows(target.request)]
    return not texts or "{k}" in target.path or any(map(_DEPTH.search, texts))


def sends_conversation(target: TargetSettings) -> bool:
    """Return whether a request may hold what was said before, or name the conversation.

    A request that is not mapped does.
    """
    texts = [_QUOTED.sub("", text) for _, text in _rows(target.request)]
    whole = (*texts, target.path, *target.headers.values())
    return not texts or any(map(_FOLLOWING.search, whole))


def unread_fields(response: str | Mapping[str, str] | None) -> Iterator[tuple[str, str]]:
    """Yield each name that a mapping gives within a field and that nobody reads.

    Yields:
        Field of the reply, and a sentence such as ``'score' is not read, did you mean
        'score_final'?``.
    """
    for name, expression in _rows(response):
        field = name.removeprefix("debug.")
        known = INNER_FIELDS.get(field)
        for given in _result_names(expression) if known else ():
            if known and given not in known:
                hint = did_you_mean(given, known) or f"; read are {', '.join(known)}"
                yield field, f"{given!r} is not read{hint}"


def _result_names(expression: str) -> list[str]:
    """Return the names of the objects that an expression gives, as far as it writes them."""
    import jmespath
    from jmespath.exceptions import JMESPathError

    def names(node: Any) -> list[str]:
        kind, children = node["type"], node.get("children", ())
        if kind == "multi_select_dict":
            return [child["value"] for child in children]
        if kind in _MADE_BY_ALL or node.get("value") == "some":
            return [name for child in children for name in names(child)]
        if kind == "subexpression":  # one for any number of dots
            return names(children[-1])
        if kind in _PROJECTING or kind in {"index_expression", "and_expression"}:
            # The right side of a projection may take its items as they are.
            return names(children[1]) or names(children[0])
        return []

    try:
        return list(dict.fromkeys(names(jmespath.compile(expression).parsed)))
    except (JMESPathError, RecursionError):  # which is reported where it is compiled
        return []


def _stream_keys(stream: Any) -> str:
    """Return the names in the data of the last event, and of the first one of each kind."""
    kinds = {str(event["event"]): event["data"] for event in reversed(stream["events"])}
    firsts = (
        shown_keys(data, f"events[?event=='{kind}'].data" if len(kinds) > 1 else "events[].data")
        for kind, data in sorted(kinds.items())
    )
    last = shown_keys(last_data(stream), "last.data") or "last.data: no keys"
    return clean("; ".join(["events, last", last, *filter(None, firsts)]), 1200)


def _optional(target: TargetSettings, response: Mapping[str, str]) -> frozenset[str]:
    """Return the fields that a system may leave out, as far as its preset maps them."""
    if target.preset is None:
        return frozenset()
    from pytest_rageval.project.presets.preset import load_preset

    preset = load_preset(target.preset)
    table = preset.settings["target.response"]
    return frozenset(name for name in preset.optional if response.get(name) == table.get(name))


def _rows(spec: str | Mapping[str, str] | None) -> list[tuple[str, str]]:
    if isinstance(spec, Mapping):
        return list(spec.items())
    return [] if spec is None else [("", spec)]


def _is_null(expression: str, document: object) -> bool:
    try:
        return compile_expression(expression, "")(document) is None
    except EndpointError:
        return True


def _found_nothing(expression: str, reply: object) -> bool:
    """Whether an expression gives null, or an empty list that no empty list of the reply explains.

    >>> _found_nothing("hits[].{rel_path: f}", {"hits": []})
    False
    >>> _found_nothing("hits[?kind=='x'].f", {"hits": [{"kind": "y"}]})
    True
    """
    import jmespath
    from jmespath.visitor import TreeInterpreter

    from pytest_rageval.target.functions import MappingFunctions

    def given(node: Any, document: object) -> object:
        options = jmespath.Options(custom_functions=MappingFunctions())
        return TreeInterpreter(options).visit(node, document)

    def explained(node: Any, document: object) -> bool:
        """Whether an empty list of the document explains that a node gives one."""
        kind, children = node["type"], node.get("children", ())
        if kind != "multi_select_dict" and given(node, document) != []:
            return False
        if kind == "pipe" and (left := given(children[0], document)) != []:
            return explained(children[1], left)
        if kind == "flatten" and given(children[0], document) != []:
            return True  # its lists are empty
        if kind in _PROJECTING:
            return explained(children[0], document)
        if kind in _JOINING:
            return any(explained(child, document) for child in children)
        return bool(kind != "literal")

    try:
        value = compile_expression(expression, "")(reply)
        if value == []:
            return not explained(jmespath.compile(expression).parsed, reply)
    except Exception:  # of a hostile reply, as in compile_expression; the reply's error names it
        return False
    return value is None


def compile_mapping(
    spec: str | Mapping[str, str] | None, direction: Literal["request", "response"]
) -> MapFunction:
    """Compile ``[tool.rageval.target] request`` or ``response``; None maps nothing.

    In a response table the fields of ``debug`` may be written without that prefix.

    Raises:
        ConfigError: an expression or a field is wrong; names the key, the position and the text
            found there.

    The returned function raises EndpointError (kind ``protocol``) where an expression that is
    well formed cannot be applied to this document.
    """
    where = f"[tool.rageval.target] {direction}"
    if spec is None:
        return lambda document: document
    if isinstance(spec, str):
        whole = compile_expression(spec, where)
        return lambda document: _without_nulls(_bounded(whole(document), where))
    paths = {name: _field_path(name, direction, where) for name in spec}
    for (name, path), (other_name, other) in permutations(paths.items(), 2):
        if other[: len(path)] == path:
            raise ConfigError.of(where, "overlap", found=repr(name), other=repr(other_name))
    compiled = {
        path: compile_expression(spec[name], where + (f'."{name}"' if "." in name else f".{name}"))
        for name, path in paths.items()
    }
    error = compiled.get(("error",)) if direction == "response" else None

    def assemble(document: object) -> object:
        # A reply that reports an error often lacks what the other expressions need.
        if error is not None and error_message(found := error(document)):
            return {"error": found}
        found = {path: search(document) for path, search in compiled.items()}
        _bounded(list(found.values()), where)
        return _assemble(found.items())

    return assemble


def _bounded(mapped: object, where: str) -> object:
    """Refuse what would fill the memory as soon as it is copied, such as one part many times."""
    if size_of(mapped) > MOST_CHARS:
        raise target_error("mapping_too_large", setting=where, most=f"{MOST_CHARS:,}")
    return mapped


def compile_expression(expression: object, where: str) -> MapFunction:
    """Compile one JMESPath expression.

    The returned function raises EndpointError (kind ``protocol``) where it cannot be applied.

    Args:
        expression: its text.
        where: place of the expression, for messages.

    Raises:
        ConfigError: the expression is wrong.
    """
    import jmespath
    from jmespath.exceptions import JMESPathError, JMESPathTypeError

    from pytest_rageval.target.functions import MappingFunctions

    if not isinstance(expression, str):
        raise ConfigError.of(
            where, "type", found=repr(expression), expected="a JMESPath expression"
        )
    try:
        with warnings.catch_warnings():
            # `word` for `"word"`: deprecated by the grammar, common in examples, and harmless.
            warnings.simplefilter("ignore", PendingDeprecationWarning)
            compiled = jmespath.compile(expression)
        _check_functions(compiled.parsed, expression, where)
    except JMESPathError as error:
        shown = repr(clean(expression, 80))
        raise ConfigError.of(
            where, "expression", found=shown, **_syntax_facts(expression, error)
        ) from error
    except RecursionError as error:
        raise ConfigError.of(
            where, "expression", found=repr(clean(expression, 80)), reason="nested too deeply"
        ) from error

    def search(document: object) -> object:
        try:
            options = jmespath.Options(custom_functions=MappingFunctions())
            return compiled.search(document, options)
        except Exception as error:  # of a hostile reply: ceil() of infinity is an OverflowError
            reason = clean(str(error), 160)
            joins = isinstance(error, JMESPathTypeError) and error.function_name == "join"
            lists = isinstance(error, JMESPathTypeError) and error.actual_type == "list"
            instead = "join('', map(&to_string(@), ...))" if joins and lists else ""
            raise target_error(
                "mapping_failed", setting=where, reason=reason, instead=instead
            ) from error

    return search


def _syntax_facts(expression: str, error: Exception) -> dict[str, object]:
    position = getattr(error, "lex_position", None)
    if not isinstance(position, int):
        return {"reason": clean(str(error), 100)}
    if re.fullmatch(r"\s*(?:\w+\s+)?env:\w+\s*", expression):
        return {"variable": expression.rpartition("env:")[2].strip()}
    found = repr(expression[position : position + 20]) if position < len(expression) else "its end"
    return {"rest": found, "n": position + 1}


def _check_functions(node: object, expression: str, where: str) -> None:
    """Refuse an unknown function or a wrong number of arguments before a reply comes."""
    from pytest_rageval.target.functions import MappingFunctions

    known = MappingFunctions.FUNCTION_TABLE
    for name, given in _calls(node):
        if name not in known:
            close = nearest(name, known)
            hint = part("; did you mean {}()?", close)
            fault = f"unknown function {name}() at position {expression.find(name) + 1}{hint}"
        elif (expected := len(known[name]["signature"])) != given and not any(
            argument.get("variadic") for argument in known[name]["signature"]
        ):
            fault = f"{name}() takes {counted(expected, 'argument')}, got {given}"
        else:
            continue
        raise ConfigError.of(where, "expression", found=repr(clean(expression, 80)), reason=fault)


def _calls(node: object) -> Iterator[tuple[str, int]]:
    """Yield the functions that an expression calls, with their number of arguments."""
    if isinstance(node, Mapping):
        children = node.get("children", ())
        if node.get("type") == "function_expression":
            yield node["value"], len(children)
        for child in children:
            yield from _calls(child)


def _field_path(name: str, direction: str, where: str) -> tuple[str, ...]:
    path = tuple(name.split("."))
    if "" in path:
        raise ConfigError.of(where, "type", found=repr(name), expected="a field name")
    if direction == "request":
        return path
    known = {*_REPLY_FIELDS, "debug", *(f"debug.{field}" for field in DEBUG_FIELDS)}
    # Any name is allowed below a known field: `debug.latency.retrieval_ms`.
    if name in known or (path[0] == "debug" and path[1] in DEBUG_FIELDS):
        return path
    if path[0] in DEBUG_FIELDS:
        return ("debug", *path)
    expected = ", ".join([*_REPLY_FIELDS, *DEBUG_FIELDS])
    raise ConfigError.of(
        where,
        "unknown",
        what=f"field {name!r}",
        **(hint(name, [*known, *DEBUG_FIELDS]) or {"advice": f", expected one of {expected}"}),
    )


def _assemble(values: Iterable[tuple[tuple[str, ...], object]]) -> dict[str, Any]:
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
