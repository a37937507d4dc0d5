"""The part of JSON Schema in which a rubric says what a reply holds.

A small subset, so that every server can hold a model to it and every reply is checked against all
of it: a keyword that would not be checked is refused when the rubric is loaded. Pure functions on
the standard library; schemas are JSON values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pytest_rageval.values.verdict import JudgeRequest

Schema = Mapping[str, Any]
Scale = tuple[float, float]

_NOTES: Final = frozenset({"type", "$schema", "title", "description"})
_KEYWORDS: Final[Mapping[str, frozenset[str]]] = {
    "object": frozenset({"properties", "required", "additionalProperties"}),
    "array": frozenset({"items", "minItems", "maxItems"}),
    "string": frozenset({"enum"}),
    "boolean": frozenset(),
    "number": frozenset({"minimum", "maximum"}),
    "integer": frozenset({"minimum", "maximum"}),
}
_PROPERTY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
_MAX_DEPTH: Final = 5


def schema_faults(schema: object, at: str = "", depth: int = 0) -> Iterator[str]:
    """Yield what is wrong with a rubric's schema: place, what came and what was expected.

    Args:
        schema: the JSON value of the file.
        at: where it stands, such as ``claims[].text``; empty: the whole reply.
        depth: how many schemas it stands in.
    """
    where = at or "the schema"
    if not isinstance(schema, dict):
        yield f"{where}: {_short(schema)} came, expected an object with a type"
        return
    kind = schema.get("type")
    if not isinstance(kind, str) or kind not in _KEYWORDS:
        yield f"{where}: type {_short(kind)} came, expected one of {', '.join(_KEYWORDS)}"
        return
    if not at and kind != "object":
        yield f"{where}: type {kind!r} came, expected 'object'"
    if depth > _MAX_DEPTH:
        yield f"{where}: nested more than {_MAX_DEPTH} deep"
        return
    allowed = _KEYWORDS[kind] | _NOTES
    for keyword in sorted(schema.keys() - allowed):
        yield (
            f"{where}: keyword {_short(keyword)} came, expected for type {kind} only"
            f" {', '.join(sorted(allowed - {'$schema'}))}"
        )
    for note in sorted(_NOTES & schema.keys()):
        if not isinstance(schema[note], str):
            yield f"{where}: {note} {_short(schema[note])} came, expected a string"
    yield from _KIND_FAULTS[kind](schema, at, where, depth)


def _object_faults(schema: Schema, at: str, where: str, depth: int) -> Iterator[str]:
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not properties:
        yield f"{where}: properties {_short(properties)} came, expected at least one"
        return
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        yield f"{where}: required {_short(required)} came, expected a list of property names"
        required = []
    for name in required:
        if name not in properties:
            yield f"{where}: required names {name!r}, which is no property"
    if schema.get("additionalProperties", False) is not False:
        yield f"{where}: additionalProperties came, expected false or nothing"
    for name, inner in properties.items():
        if not _PROPERTY.fullmatch(name):
            yield f"{where}: property {_short(name)} came, expected letters, digits and _"
        yield from schema_faults(inner, f"{at}.{name}" if at else name, depth + 1)


def _array_faults(schema: Schema, at: str, where: str, depth: int) -> Iterator[str]:
    limits = []
    for keyword in ("minItems", "maxItems"):
        count = schema.get(keyword, 0)
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            yield f"{where}: {keyword} {_short(count)} came, expected a whole number from 0"
        elif keyword in schema:
            limits.append(count)
    if limits != sorted(limits):
        low, high = limits
        yield f"{where}: minItems {low} and maxItems {high} came, expected minItems <= maxItems"
    if "items" not in schema:
        yield f"{where}: items is missing, expected the schema of one item"
        return
    yield from schema_faults(schema["items"], f"{at}[]", depth + 1)


def _number_faults(schema: Schema, at: str, where: str, depth: int) -> Iterator[str]:
    limits = [schema.get("minimum"), schema.get("maximum")]
    for keyword, limit in zip(("minimum", "maximum"), limits, strict=True):
        if keyword in schema and not _is_number(limit):
            yield f"{where}: {keyword} {_short(limit)} came, expected a finite number"
            return
    low, high = limits
    if low is not None and high is not None and low >= high:
        yield f"{where}: minimum {low} and maximum {high} came, expected minimum < maximum"
    if at and depth == 1 and (low is None) != (high is None):
        missing = "minimum" if low is None else "maximum"
        yield f"{where}: {missing} is missing; a score has both ends of its scale"


def _string_faults(schema: Schema, at: str, where: str, depth: int) -> Iterator[str]:
    names = schema.get("enum", ["any"])
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        yield f"{where}: enum {_short(names)} came, expected a list of strings"


def _no_faults(schema: Schema, at: str, where: str, depth: int) -> Iterator[str]:
    return iter(())


_KIND_FAULTS: Final = {
    "object": _object_faults,
    "array": _array_faults,
    "string": _string_faults,
    "boolean": _no_faults,
    "number": _number_faults,
    "integer": _number_faults,
}


def scales(schema: Schema) -> dict[str, Scale]:
    """Return the scale of each top-level property that is a score: a number with both ends."""
    return {
        name: (float(inner["minimum"]), float(inner["maximum"]))
        for name, inner in schema["properties"].items()
        if is_scale(inner)
    }


def is_scale(schema: Schema) -> bool:
    """Tell whether a schema is that of a number with both ends of its scale."""
    return schema["type"] in {"number", "integer"} and {"minimum", "maximum"} <= schema.keys()


def asked_schema(schema: Schema, request: JudgeRequest, *, conditional: bool) -> dict[str, Any]:
    """Return the schema of what one request asks for.

    Args:
        schema: of the rubric.
        request: what is judged.
        conditional: whether ``key_facts`` and ``acknowledges_conflict`` are asked for by request:
            one boolean for each expected fact, and whether a conflict is told of.

    Returns:
        The schema, in which ``key_facts`` has exactly as many items as facts are expected, and in
        which what is not asked is left out.
    """
    if not conditional:
        return dict(schema)
    properties = dict(schema["properties"])
    required = list(schema.get("required", []))
    n_facts = len(request.expected_key_facts)
    if "key_facts" in properties:
        properties["key_facts"] = {
            **properties["key_facts"],
            "minItems": n_facts,
            "maxItems": n_facts,
        }
    asked = {"key_facts": n_facts > 0, "acknowledges_conflict": request.asks_conflict}
    for name, wanted in asked.items():
        if wanted and name in properties:
            required.append(name)
        else:
            properties.pop(name, None)
    return {**schema, "properties": properties, "required": required}


def response_schema(schema: Schema) -> dict[str, Any]:
    """Return the schema as a server is asked to hold the reply to it.

    Every property is required and no other is allowed, as strict modes demand; a reply is read by
    the rubric's own schema, which may require less.
    """
    strict = {key: value for key, value in schema.items() if key != "$schema"}
    if schema["type"] == "object":
        properties = {name: response_schema(s) for name, s in schema["properties"].items()}
        strict |= {
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
    elif schema["type"] == "array":
        strict["items"] = response_schema(schema["items"])
    return strict


def describe_shape(schema: Schema) -> str:
    """Return the shape of a reply in one line, such as ``{"score": integer from 0 to 5}``."""
    kind = schema["type"]
    if kind == "object":
        inner = (f'"{name}": {describe_shape(s)}' for name, s in schema["properties"].items())
        return f"{{{', '.join(inner)}}}"
    if kind == "array":
        low, high = schema.get("minItems", 0), schema.get("maxItems")
        count = f" ({low} {'item' if low == 1 else 'items'})" if low == high else ""
        return f"[{describe_shape(schema['items'])}, ...]{count}"
    if "enum" in schema:
        return " or ".join(f'"{name}"' for name in schema["enum"])
    return {"boolean": "true or false", "string": "string"}.get(kind) or describe_number(schema)


def describe_number(schema: Schema) -> str:
    """Return a number's schema in words, such as ``number from 0 to 1``."""
    low, high = schema.get("minimum"), schema.get("maximum")
    start = f" from {low:g}" if low is not None else ""
    return f"{schema['type']}{start}" + (f" to {high:g}" if high is not None else "")


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer of some hundred digits
        return False


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
