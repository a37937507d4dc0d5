"""The part of JSON Schema with which a rubric describes replies, and the metrics that it defines.

A small subset, so that every server can enforce it and every reply is checked against all of it: a
keyword that would not be checked is refused when the rubric is loaded. Pure functions; schemas are
JSON values, and jsonschema checks them and the replies.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from pytest_rageval.metrics.registry import MetricInfo
from pytest_rageval.support.text import clean, part, shown
from pytest_rageval.values.lenient import number

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

Schema = Mapping[str, Any]
Scale = tuple[float, float]

_TEXT: Final[Schema] = {"type": "string", "description": "a string"}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0, "description": "a whole number from 0"}
_LIMIT: Final[Schema] = {"type": "number", "description": "a finite number"}
_NAMES: Final[Schema] = {"type": "array", "items": {"type": "string"}}
_NOTES: Final = {"type": _TEXT, "$schema": _TEXT, "title": _TEXT, "description": _TEXT}
DIRECTION: Final = "x-direction"
"""Keyword for the direction in which a score of a user's rubric improves."""
_WAY: Final[dict[str, Schema]] = {
    DIRECTION: {"enum": ["higher", "lower", "neutral"], "description": "higher, lower or neutral"}
}
_NUMBERS: Final[Schema] = {
    "type": "array",
    "items": {"type": "number"},
    "minItems": 2,
    "uniqueItems": True,
    "description": "a list of two numbers or more",
}
_NUMBER: Final = {"minimum": _LIMIT, "maximum": _LIMIT, "enum": _NUMBERS} | _WAY | _NOTES
_KEYWORDS: Final[Mapping[str, Mapping[str, Schema]]] = {
    "object": {
        "properties": {"type": "object", "minProperties": 1, "description": "at least one"},
        "required": {**_NAMES, "description": "a list of property names"},
        "additionalProperties": {"const": False, "description": "false or nothing"},
    }
    | _NOTES,
    "array": {"items": {}, "minItems": _COUNT, "maxItems": _COUNT} | _NOTES,
    "string": {"enum": {**_NAMES, "minItems": 1, "description": "a list of strings"}} | _NOTES,
    "boolean": _WAY | _NOTES,
    "number": _NUMBER,
    "integer": _NUMBER,
}
"""The keywords that each type may have, and the schema of their values."""
_PROPERTY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
_MAX_DEPTH: Final = 5


def schema_faults(schema: object, at: str = "", depth: int = 0) -> Iterator[str]:
    """Yield the faults of a rubric's schema: place, value received and value expected.

    Args:
        schema: the JSON value of the file.
        at: place of the schema, such as ``claims[].text``; empty: the whole reply.
        depth: number of enclosing schemas.
    """
    where = at or "the schema"
    if not isinstance(schema, dict):
        yield f"{where}: {shown(schema)} came, expected an object with a type"
        return
    kind = schema.get("type")
    if not isinstance(kind, str) or kind not in _KEYWORDS:
        yield f"{where}: type {shown(kind)} came, expected one of {', '.join(_KEYWORDS)}"
        return
    if not at and kind != "object":
        yield f"{where}: type {kind!r} came, expected 'object'"
    if depth > _MAX_DEPTH:
        yield f"{where}: nested more than {_MAX_DEPTH} deep"
        return
    sound = {key: value for key, value in schema.items() if _is_sound(kind, key, value)}
    yield from _keyword_faults(schema, sound, kind, where)
    ends = {"minimum", "maximum"} & sound.keys()
    if kind != "string" and "enum" in sound and ends:
        yield f"{where}: enum and {min(ends)} came, expected one of them"
    if at and depth == 1 and len(ends) == 1 == len({"minimum", "maximum"} & schema.keys()):
        missing = "maximum" if "minimum" in ends else "minimum"
        yield f"{where}: {missing} is missing; a score has both ends of its scale"
    if "items" in sound:
        yield from schema_faults(schema["items"], f"{at}[]", depth + 1)
    for name, inner in sound.get("properties", {}).items():
        if not _PROPERTY.fullmatch(name):
            yield f"{where}: property {shown(name)} came, expected letters, digits and _"
        yield from schema_faults(inner, f"{at}.{name}" if at else name, depth + 1)


def _is_sound(kind: str, keyword: str, value: Any) -> bool:
    expected = _KEYWORDS[kind].get(keyword)
    return expected is not None and validator(expected).is_valid(value)


def _keyword_faults(schema: Schema, sound: Schema, kind: str, where: str) -> Iterator[str]:
    """Yield the faults in the keywords of one schema, without those of inner schemas."""
    known = _KEYWORDS[kind]
    for keyword in sorted(schema.keys() - sound.keys()):
        if keyword in known:
            came = f"{keyword} {shown(schema[keyword])} came"
            yield f"{where}: {came}, expected {known[keyword]['description']}"
        else:
            listed = ", ".join(sorted(known.keys() - {"$schema"}))
            yield f"{where}: keyword {shown(keyword)} came, expected for type {kind} only {listed}"
    if kind == "object" and "properties" not in schema:
        yield f"{where}: properties None came, expected at least one"
    if kind == "array" and "items" not in schema:
        yield f"{where}: items is missing, expected the schema of one item"
    for name in sound.get("required", ()) if "properties" in sound else ():
        if name not in sound["properties"]:
            yield f"{where}: required names {name!r}, which is not a property"
    for low, high, sign in (("minItems", "maxItems", "<="), ("minimum", "maximum", "<")):
        if {low, high} <= sound.keys():
            first, last = sound[low], sound[high]
            if first > last or (first == last and sign == "<"):
                came = f"{low} {first} and {high} {last} came"
                yield f"{where}: {came}, expected {low} {sign} {high}"


def fits(value: object, schema: Schema) -> bool:
    """Return whether a value is valid against a rubric's schema, as ``validator`` has it.

    It knows the keywords that a rubric may have, and needs no library.
    """
    kind = schema["type"]
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "string":
        return isinstance(value, str) and ("enum" not in schema or value in schema["enum"])
    if kind == "object":
        inner: Mapping[str, Schema] = schema["properties"]
        return (
            isinstance(value, dict)
            and all(name in value for name in schema.get("required", ()))
            and ("additionalProperties" not in schema or value.keys() <= inner.keys())
            and all(fits(value[name], one) for name, one in inner.items() if name in value)
        )
    if kind == "array":
        return (
            isinstance(value, list)
            and schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
            and all(fits(item, schema["items"]) for item in value)
        )
    whole = kind == "number" or isinstance(value, int) or is_scale(schema)
    if not whole or number(value) is None:
        return False
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    return low <= value <= high and ("enum" not in schema or value in schema["enum"])


def validator(schema: Schema) -> Validator:
    """Return a validator of JSON values against a schema.

    Numbers must be finite and integers written without a fraction, but a score may be between the
    integers of its scale: 4.5 is valid on a scale of 0 to 5.
    """
    return _validator_class()(schema)


@cache
def _validator_class() -> type[Validator]:
    from jsonschema import Draft202012Validator, ValidationError, validators

    def of_type(check: Validator, kind: str, value: Any, schema: Schema) -> Iterator[Any]:
        # The library's own error contains the whole value as text, which may be very long.
        if not check.is_type(value, "number" if is_scale(schema) else kind):
            yield ValidationError(f"not of type {kind}")

    types = Draft202012Validator.TYPE_CHECKER.redefine_many(
        {
            "number": lambda _, value: number(value) is not None,
            "integer": lambda _, value: isinstance(value, int) and number(value) is not None,
        }
    )
    extend: Any = validators.extend  # has no types
    made: type[Validator] = extend(Draft202012Validator, {"type": of_type}, type_checker=types)
    return made


def scales(schema: Schema, *, own: bool = False) -> dict[str, Scale]:
    """Return the scale of each top-level property that is a score.

    Args:
        schema: of a rubric.
        own: whether it is a user's rubric, of which a boolean is a score of 0 or 1, too.
    """
    found: dict[str, Scale] = {}
    for name, inner in schema["properties"].items():
        if is_scale(inner):
            ends = inner.get("enum") or (inner["minimum"], inner["maximum"])
            found[name] = (float(min(ends)), float(max(ends)))
        elif own and inner["type"] == "boolean":
            found[name] = (0.0, 1.0)
    return found


def is_scale(schema: Schema) -> bool:
    """Return whether a schema is that of a number with both ends of its scale, or with a list."""
    numeric = schema["type"] in {"number", "integer"}
    return numeric and ("enum" in schema or {"minimum", "maximum"} <= schema.keys())


def asked_schema(schema: Schema, n_facts: int, asks_conflict: bool) -> dict[str, Any]:
    """Return a packaged rubric's schema for the reply to one kind of request.

    Args:
        schema: schema of the rubric.
        n_facts: number of expected facts, for each of which ``key_facts`` holds one boolean.
        asks_conflict: whether a conflict should be acknowledged, and ``acknowledges_conflict`` is
            asked.

    Returns:
        The schema without the properties that the request does not need.
    """
    properties = dict(schema["properties"])
    required = list(schema.get("required", []))
    if "key_facts" in properties:
        count = {"minItems": n_facts, "maxItems": n_facts}
        properties["key_facts"] = {**properties["key_facts"], **count}
    asked = {"key_facts": n_facts > 0, "acknowledges_conflict": asks_conflict}
    for name, wanted in asked.items():
        if wanted and name in properties:
            required.append(name)
        else:
            properties.pop(name, None)
    return {**schema, "properties": properties, "required": required}


def response_schema(schema: Schema) -> dict[str, Any]:
    """Return the schema in the strict form for servers that enforce it.

    Every property is required and no other is allowed, as strict modes demand; replies are checked
    by the rubric's own schema, which may require less.
    """
    strict = {key: value for key, value in schema.items() if key not in {"$schema", DIRECTION}}
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
        count = part(" ({:item})", low == high and low)
        return f"[{describe_shape(schema['items'])}, ...]{count}"
    if "enum" in schema:
        return " or ".join(json.dumps(one, ensure_ascii=False) for one in schema["enum"])
    words = {"boolean": "true or false", "string": "string"}
    if kind in words:
        return words[kind]
    low, high = schema.get("minimum"), schema.get("maximum")
    start = f" from {low:g}" if low is not None else ""
    return f"{kind}{start}" + (f" to {high:g}" if high is not None else "")


_ANSWERED = "answerable cases that were answered"
_OPTIONAL = f"{_ANSWERED}, if the judge gives this score"
_TITLE_CHARS = 80


def define_metrics(
    schema: Schema, keys: Mapping[str, str], *, version: str, source: str
) -> Iterator[MetricInfo]:
    """Yield the definition of each score of a rubric.

    Args:
        schema: of the rubric.
        keys: property of the reply to the metric key of its score.
        version: of the rubric.
        source: path of the rubric as the settings name it.
    """
    found = scales(schema, own=True)
    for name, key in keys.items():
        inner = schema["properties"][name]
        binary = inner["type"] == "boolean" or set(inner.get("enum", ())) == {0, 1}
        plain = key.replace("_", " ").replace(".", ": ", 1)
        yield MetricInfo(
            key=key,
            title=clean(inner.get("title", ""), _TITLE_CHARS) or plain[:1].upper() + plain[1:],
            direction=inner.get(DIRECTION, "higher"),
            scale=found[name],
            binary=binary,
            population=_ANSWERED if name in schema.get("required", ()) else _OPTIONAL,
            level="judged",
            version=version,
            source=source,
        )
