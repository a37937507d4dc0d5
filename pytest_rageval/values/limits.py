"""Annotations of fields with the limits of their values, which pydantic alone reads.

With them a class is the only declaration of what people and foreign systems write: a pydantic
``TypeAdapter`` of it finds every fault and makes the JSON Schema. msgspec, which reads the files
that this package wrote, ignores them. ``annotated_types`` would take 20 ms to import.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

Schema = dict[str, Any]
MAX_INTEGER: Final = 2**53
"""The largest integer that every JSON reader keeps exactly (RFC 8259, section 6)."""


class Limits:
    """Limits of a value.

    Args:
        said: the valid values in words, after "expected"; empty: as ``expected`` has them.
        limits: by their names in pydantic, such as ``ge``, ``pattern``, ``min_length``, ``strict``.
    """

    def __init__(self, said: str = "", **limits: Any) -> None:
        self._said = said
        self.limits = limits

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Schema]) -> Schema:
        """Return the schema of the type, with the limits."""
        return _said(handler(source) | self.limits, self._said)


class Read:
    """Function that reads a field whatever comes, in place of its type.

    Args:
        read: returns the value; one that does not fit counts as absent, or is a ValueError.
        said: the valid values in words, where it raises one.
    """

    def __init__(self, read: Callable[[object], object], said: str = "") -> None:
        self._read = read
        self._said = said

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Schema]) -> Schema:
        """Return the schema of the type, which describes the values and is not asked for them."""
        read = self._read
        function = {"type": "no-info", "function": lambda value, _: read(value)}
        schema = {"type": "function-wrap", "function": function, "schema": handler(source)}
        return _said(schema, self._said)


class Else(Read):
    """Function that reads what does not fit the type of its field.

    What fits stays as it is, without a call of Python; the type has to be strict.
    """

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Schema]) -> Schema:
        """Return the schema of the type, followed by that of the function."""
        choices = [handler(source), super().__get_pydantic_core_schema__(source, handler)]
        schema = {"type": "union", "mode": "left_to_right", "choices": choices}
        return _said(schema, self._said)


class Ours:
    """Mark of a field that nobody writes: given, it is unknown, and no JSON Schema has it."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Schema]) -> Schema:
        """Return a schema that refuses every value."""
        unknown = "unexpected_keyword_argument"
        return {"type": "custom-error", "schema": {"type": "none"}, "custom_error_type": unknown}

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Schema:
        """Leave the field out."""
        from pydantic_core import PydanticOmit

        raise PydanticOmit


def _said(schema: Schema, said: str) -> Schema:
    if not said:
        return schema
    return {
        "type": "custom-error",
        "schema": schema,
        "custom_error_type": "said",
        "custom_error_message": said,
    }


Text = Annotated[str, Limits(strict=True)]
Flag = Annotated[bool, Limits(strict=True)]

_EXPECTED: Final = {
    "string_type": "a string",
    "int_type": "an integer",
    "bool_type": "true or false",
    "literal_error": "{expected}",
    "too_short": "a list of at least {min_length}",
    "too_long": "{max_length} at most",
    **dict.fromkeys(("list_type", "tuple_type"), "a list"),
    **dict.fromkeys(("dataclass_type", "dict_type", "mapping_type"), "an object"),
}


def expected(fault: Mapping[str, Any]) -> str:
    """Return what was expected in place of a value, by the kind of its fault.

    Args:
        fault: an entry of ``errors()`` of pydantic.
    """
    said = _EXPECTED.get(fault["type"], "")
    return said.format(**fault.get("ctx", {})) or str(fault["msg"])
