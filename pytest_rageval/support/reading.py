"""Reading of what people write: a value of a declared type, or all of its faults.

The types are those of pydantic, which is imported at the first reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, get_type_hints

from pytest_rageval.support.text import cut, nearest, shown, shown_json
from pytest_rageval.values.declared import Described
from pytest_rageval.values.diagnoses.table import Fact, known
from pytest_rageval.values.errors import Fault
from pytest_rageval.values.limits import MAX_INTEGER

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails

Loc = tuple[int | str, ...]
"""Path of a value: keys and list indices from the outside in."""
Schema = Mapping[str, Any]
Keys = Mapping[str, Any]
"""Types of the keys of a table."""

_CODES: Final[Mapping[str, str]] = {
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
    "null": "null",
}
_BOUNDS: Final = {
    "minimum": "of at least {:g}",
    "exclusiveMinimum": "above {:g}",
    "maximum": "at most {:g}",
    "exclusiveMaximum": "below {:g}",
    "minItems": "of at least {}",
    "maxItems": "of at most {}",
}


class Unfit(ValueError):
    """A value that a check refuses.

    Args:
        expected: the valid values in words.
        found: the value in words; None: itself.
        at: path of the part that is unfit.
        nearest: valid value that was probably meant.
        code: row of ``values.diagnoses.input``.
    """

    def __init__(
        self,
        expected: str,
        found: str | None = None,
        *,
        at: Loc = (),
        nearest: str = "",
        code: str = "value",
    ) -> None:
        super().__init__(expected)
        self.at, self.code = at, code
        self.facts = known({"expected": expected, "found": found, "nearest": nearest})

    def fault(self, **where: Any) -> Fault:
        """Return it as a fault of a place."""
        return Fault(code=self.code, facts=self.facts, **where)


class ValueCheck:
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


class FormatStyle(NamedTuple):
    """Way in which a format shows values and names its parts."""

    show: Callable[[Any], str]
    key: str
    """Word for a name of a value."""
    object: str
    """Word for named values."""


TOML: Final = FormatStyle(shown, "key", "a table")
JSON: Final = FormatStyle(shown_json, "field", "an object")
_MOST_HINTS: Final = 100
"""Unknown names that are compared with the known ones; an error shows fewer."""


def read(
    model: Any,
    value: object,
    *,
    form: FormatStyle = TOML,
    secret: bool = False,
    meant: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> tuple[Any, list[Fault]]:
    """Return a value of a type, or None and every fault of what was given.

    Args:
        model: a type with limits and checks, such as a dataclass.
        value: of TOML or JSON.
        form: the format that faults are written in.
        secret: whether no fault may repeat the value.
        meant: names of fields that an unknown name in lower case may mean.
    """
    from pydantic import ValidationError

    if secret:
        form = form._replace(show=lambda found: f"a value of type {type(found).__name__}")
    try:
        return adapter(model).validate_python(value), []
    except ValidationError as error:
        faults = []
        for n, one in enumerate(error.errors(include_url=False)):
            # Pydantic counts the valid items alone.
            if one["type"] != "too_short" or not one["input"]:
                faults.append(_fault(model, one, form, meant if n < _MOST_HINTS else None))
        return None, faults


def _fault(
    model: Any, error: ErrorDetails, form: FormatStyle, meant: Mapping[str, tuple[str, ...]] | None
) -> Fault:
    """Return the fault that pydantic found; ``meant`` None: without a hint."""
    loc, code = error["loc"], _CODES.get(error["type"], "type")
    unfit = error.get("ctx", {}).get("error")
    if isinstance(unfit, Unfit):
        facts: dict[str, Fact] = {"found": form.show(error["input"]), **unfit.facts}
        loc = (*loc, *unfit.at)
        return Fault(code=unfit.code, facts=facts, loc=loc, field=field_text(loc))
    if isinstance(unfit, ValueError):
        facts = {"reason": str(unfit)}
        return Fault(code="invalid", facts=facts, loc=loc, field=field_text(loc))
    facts = {}
    if code == "unknown":
        facts["what"] = form.key
        names = names_at(model, loc[:-1]) if meant is not None else ()
        aliases = (meant or {}).get(str(loc[-1]).lower(), ())
        near = next((one for one in aliases if one in names), str(loc[-1]))
        others = {"advice": f", expected one of {', '.join(names)}"} if names else {}
        facts |= hint(near, names) or others
    elif code != "missing":
        schema = schema_at(model, loc)
        facts = {"found": form.show(error["input"]), "expected": _expected(schema, error, form)}
        if isinstance(error["input"], str):
            facts |= hint(error["input"], [x for x in schema.get("enum", ()) if isinstance(x, str)])
    return Fault(loc=loc, field=field_text(loc), code=code, facts=facts)


def unfit_at(loc: Loc, found: str, expected: str) -> Fault:
    """Return the fault of a value that is not what was expected."""
    facts = {"found": found, "expected": expected}
    return Fault(loc=loc, field=field_text(loc), code="value", facts=facts)


def not_utf8(error: UnicodeDecodeError, **where: Any) -> Fault:
    """Return the fault of bytes that are not UTF-8."""
    return Fault(code="not_utf8", facts={"byte": f"{error.object[error.start]:02x}"}, **where)


def hint(name: str, names: Iterable[str]) -> dict[str, str]:
    """Return the known name that is most similar to an unknown one, as a fact; empty: none is."""
    near = nearest(name, names)
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


@cache
def _json_schema(model: Any) -> Schema:
    return adapter(model).json_schema()


def schema_at(model: Any, loc: Loc = ()) -> Schema:
    """Return the JSON Schema of the value at a path; empty: any value is valid."""
    whole = _json_schema(model)
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


def words(schema: Schema, form: FormatStyle = TOML) -> str:
    """Return the valid values of a JSON Schema in words.

    >>> words({"type": "integer", "minimum": 1, "maximum": 1000})
    'an integer of at least 1 and at most 1000'
    """
    if "enum" in schema or "const" in schema:
        allowed = schema.get("enum") or [schema["const"]]
        return f"{'one of ' if allowed[1:] else ''}{', '.join(map(shown_json, allowed))}"
    kind = schema.get("type", "")
    noun = form.object if kind == "object" else _NOUNS.get(kind, "another value")
    if kind == "array" and schema.get("items", {}).get("type") == "string":
        noun = "a list of strings"
    if "properties" in schema:
        noun += f" with {', '.join(schema['properties'])}"
    bounds = [
        text.format(schema[name])
        for name, text in _BOUNDS.items()
        if name in schema and schema[name] != MAX_INTEGER  # which needs no mention
    ]
    return " ".join([noun, " and ".join(bounds)]).strip()


def _expected(schema: Schema, error: ErrorDetails, form: FormatStyle) -> str:
    if error["type"] == "said":
        return error["msg"]
    most = error.get("ctx", {}).get("le")
    return words(schema, form) + (f" and at most {most}" if most == MAX_INTEGER else "")


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
