"""Reading of what people write: a value of a declared type, or all of its faults.

The types are those of pydantic, which is imported at the first reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, get_type_hints

from pytest_rageval.support.text import cut, nearest, shown, shown_json
from pytest_rageval.values.declared import Described
from pytest_rageval.values.errors import Code, Fault
from pytest_rageval.values.limits import MAX_INTEGER

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails

Loc = tuple[int | str, ...]
"""Path of a value: keys and list indices from the outside in."""
Schema = Mapping[str, Any]
Keys = Mapping[str, Any]
"""Types of the keys of a table."""

_CODES: Final[Mapping[str, Code]] = {
    "missing": "missing",
    "missing_argument": "missing",
    "missing_keyword_only_argument": "missing",
    "unexpected_keyword_argument": "unknown",
    "extra_forbidden": "unknown",
    "literal_error": "choice",
    "enum": "choice",
    "value_error": "value",
    "said": "value",
    **dict.fromkeys(
        ("greater_than", "greater_than_equal", "less_than", "less_than_equal", "finite_number",
         "too_short", "too_long", "string_too_short", "string_too_long"),
        "bound",
    ),
}  # fmt: skip
"""Code by type of pydantic's error; all others are of type ``type``."""
_NOUNS: Final = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "null",
}
_BOUNDS: Final = {
    "minimum": "of at least {:g}",
    "exclusiveMinimum": "above {:g}",
    "maximum": "at most {:g}",
    "exclusiveMaximum": "below {:g}",
}


class Unfit(ValueError):
    """A value that a check refuses.

    Args:
        expected: the valid values in words.
        found: the value in words; None: itself.
        at: path of the part that is unfit.
        nearest: valid value that was probably meant.
    """

    def __init__(
        self, expected: str, found: str | None = None, *, at: Loc = (), nearest: str = ""
    ) -> None:
        super().__init__(expected)
        self.at = at
        facts = {"expected": expected, "found": found, "nearest": nearest}
        self.facts = {name: fact for name, fact in facts.items() if fact}


class Check:
    """Function of a valid value that returns it, maybe changed, or raises ``Unfit``."""

    def __init__(self, function: Callable[[Any], object]) -> None:
        self._function = function

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> dict[str, Any]:
        """Return the schema of the type, followed by the function."""
        function = {"type": "no-info", "function": self._function}
        return {"type": "function-after", "function": function, "schema": handler(source)}


@cache
def adapter(model: Any) -> TypeAdapter[Any]:
    """Return pydantic's validator of a type."""
    from pydantic import TypeAdapter

    return TypeAdapter(model)


def read(model: Any, value: object, *, secret: bool = False) -> tuple[Any, list[Fault]]:
    """Return a value of a type, or None and every fault of what was given.

    Args:
        model: a type with limits and checks, such as a dataclass.
        value: of TOML or JSON.
        secret: whether no fault may repeat the value.
    """
    from pydantic import ValidationError

    try:
        return adapter(model).validate_python(value), []
    except ValidationError as error:
        found = error.errors(include_url=False)
        return None, [_fault(model, one, secret=secret) for one in found]


def _fault(model: Any, error: ErrorDetails, *, secret: bool) -> Fault:
    loc, code, facts = error["loc"], _CODES.get(error["type"], "type"), {}
    given = error["input"]
    kind = type(given).__name__
    facts["found"] = f"a value of type {kind}" if secret else shown(given)
    unfit = error.get("ctx", {}).get("error")
    if isinstance(unfit, Unfit):
        loc, facts = (*loc, *unfit.at), {**facts, **unfit.facts}
    elif isinstance(unfit, ValueError):
        return Fault(loc=loc, field=field_text(loc), message=str(unfit))
    elif code == "unknown":
        known = names_at(model, loc[:-1])
        facts = {"what": "key", **hint(str(loc[-1]), known)}
    elif code != "missing":
        facts["expected"] = error["msg"] if error["type"] == "said" else ""
        facts["expected"] = facts["expected"] or _expected(schema_at(model, loc), error)
    return Fault(loc=loc, field=field_text(loc), code=code, facts=facts)


def hint(name: str, known: Iterable[str]) -> dict[str, str]:
    """Return the known name that is most similar to an unknown one, as a fact; empty: none is."""
    near = nearest(name, known)
    return {"nearest": near} if near else {}


def keys_of(model: type, *names: str) -> dict[str, Any]:
    """Return the types of some fields of a dataclass by name, described with their defaults."""
    hints, found = get_type_hints(model, include_extras=True), {}
    for one in fields(model):
        if one.name in names:
            default = [*one.default] if isinstance(one.default, tuple) else one.default
            found[one.name] = Annotated[
                hints[one.name],
                Described(**{"default": default} if default not in (None, MISSING) else {}),
            ]
    return found


# --- types in words ----------------------------------------------------------------------------


def schema_at(model: Any, loc: Loc = ()) -> Schema:
    """Return the JSON Schema of the value at a path; empty: any value is valid."""
    whole = adapter(model).json_schema()
    schema = _resolved(whole, whole)
    for step in loc:
        if isinstance(step, int):
            schema = schema.get("items", {})
        else:
            others = schema.get("additionalProperties") or {}
            schema = schema.get("properties", {}).get(step, others if others is not True else {})
        schema = _resolved(schema, whole)
    return schema


def _resolved(schema: Schema, whole: Schema) -> Schema:
    """Return what a reference refers to, and the one choice beside null."""
    if "$ref" in schema:
        found: Schema = whole["$defs"][schema["$ref"].rpartition("/")[2]]
        return _resolved(found, whole)
    choices = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    return _resolved(choices[0], whole) if len(choices) == 1 else schema


def names_at(model: Any, loc: Loc) -> tuple[str, ...]:
    """Return the names of the fields at a path."""
    return tuple(schema_at(model, loc).get("properties", ()))


def words(schema: Schema) -> str:
    """Return the valid values of a JSON Schema in words.

    >>> words({"type": "integer", "minimum": 1, "maximum": 1000})
    'an integer of at least 1 and at most 1000'
    """
    if "enum" in schema or "const" in schema:
        allowed = schema.get("enum") or [schema["const"]]
        return f"{'one of ' if allowed[1:] else ''}{', '.join(map(shown_json, allowed))}"
    noun = _NOUNS.get(schema.get("type", ""), "another value")
    if schema.get("type") == "array" and schema.get("items", {}).get("type") == "string":
        noun = "a list of strings"
    return " ".join([noun, " and ".join(_bounds(schema))]).strip()


def _bounds(schema: Schema) -> Iterator[str]:
    for name, text in _BOUNDS.items():
        if name in schema and schema[name] != MAX_INTEGER:  # which needs no mention
            yield text.format(schema[name])


def _expected(schema: Schema, error: ErrorDetails) -> str:
    most = error.get("ctx", {}).get("le")
    return words(schema) + (f" and at most {most}" if most == MAX_INTEGER else "")


def field_text(loc: Loc) -> str:
    """Format the path of a value as ``gold_supports[0].grade``."""
    text = ""
    for part in loc:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = cut(part) if part.isidentifier() else shown_json(part)
            text += f".{name}" if text else name
    return text
