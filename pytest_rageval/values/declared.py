"""Annotations that declare a setting; standard library alone, as pytest loads them everywhere."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pytest_rageval.values.limits import MAX_INTEGER, Limits, Schema

_DEVICE: Final = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.ASCII | re.IGNORECASE)


def is_device(name: str) -> bool:
    """Whether Windows opens a device by a name, which it does with any suffix."""
    return _DEVICE.fullmatch(name) is not None


def is_portable(name: str) -> bool:
    """Whether Windows keeps a name of letters, digits, ``.``, ``_`` and ``-`` as it is."""
    return not is_device(name) and not name.endswith(".")


Affects = Literal["everything", "answers", "judged"]
"""Metrics that depend on a setting: all, those of the answer, or judged ones."""

Role = Affects | Literal["subject", "effort", "part", "nothing"]
"""Meaning of a setting for two runs that differ in it.

``everything``, ``answers``, ``judged``: an invariant; these numbers are not comparable.
``subject``: a comparison is meant to show its effect; ``config_hash`` differs.
``effort``: numbers do not depend on it; a comparison names it anyway.
``part``: the part of the set and its run name: parts of one run may differ.
``nothing``: not compared.
"""

Count = Annotated[int, Limits(strict=True, ge=1, le=MAX_INTEGER)]
Natural = Annotated[int, Limits(strict=True, ge=0, le=MAX_INTEGER)]
Integer = Annotated[int, Limits(strict=True, le=MAX_INTEGER)]
Repeats = Annotated[int, Limits(strict=True, ge=1, le=1000)] | Literal["auto"]
Positive = Annotated[float, Limits(strict=True, gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Limits(strict=True, ge=0, allow_inf_nan=False)]
Flag = Annotated[bool, Limits(strict=True)]
HeaderText = Annotated[str, Limits('a string such as "env:RAG_TOKEN"', strict=True)]

Finite = Annotated[float, Limits("a finite number", strict=True, allow_inf_nan=False)]
Distance = Annotated[
    float, Limits("a finite number of at least 0", strict=True, ge=0, allow_inf_nan=False)
]
Text = Annotated[str, Limits("a text", strict=True, pattern=r"\S")]

_KINDS: Final = {bool: "boolean", int: "integer", float: "number", str: "text", tuple: "texts"}


class Described:
    """Further keywords of the JSON Schema of a field, such as a description for editors."""

    def __init__(self, **keywords: Any) -> None:
        self._keywords = keywords

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Schema:
        """Return the JSON Schema of the value with the keywords."""
        return {**handler(schema), **self._keywords}


@dataclass(slots=True, eq=False)
class Setting:
    """Declaration of one setting, among the annotations of its field.

    Args:
        role: its meaning for two runs that differ in it.
        text: a phrase on what it is, with its unit.
        flag: command-line flag; None: it is set in pyproject.toml alone.
        metavar: of the flag's value; None: the choices.
        key: key below ``[tool.rageval]``, dotted for a key of a table; ``=``: section and field;
            empty: it has none.
        kind: name of a format that the type does not say, such as ``url``.
        unset: what applies if it is not set, where its default is None.
        alias: name in a comparison of two runs; None: its key.
        rescoring: whether stored records are scored again with the stored value.
    """

    role: Role
    text: str
    flag: str | None = None
    metavar: str | None = None
    key: str = "="
    kind: str = ""
    unset: str = ""
    alias: str | None = None
    rescoring: bool = False
    name: str = ""
    """Field of ``Settings``; ``target.url`` for a field of ``Settings.target``, likewise
    ``judging.seed``."""
    type: Any = None
    """Type of a value that is set, with its limits."""
    default: Any = None
    choices: tuple[str, ...] = ()

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Schema:
        """Return the JSON Schema of the value, described by the help."""
        found: Schema = handler(schema)
        return {**found, "description": self.help}

    def declare(self, name: str, annotation: Any, default: Any) -> None:
        """Take name, type and default of the field that it declares."""
        self.name, self.default = name, default
        limits = tuple(mark for mark in annotation.__metadata__ if mark is not self)
        inner = _not_none(annotation.__origin__)
        self.type = Annotated[(inner, *limits)] if limits else inner
        plain = get_args(self.type)[0] if get_origin(self.type) is Annotated else inner
        origin = get_origin(plain) or plain
        self.kind = self.kind or ("choice" if origin is Literal else _KINDS[origin])
        self.choices = get_args(plain) if origin is Literal else ()
        if self.key == "=":
            self.key = self.name.replace("judging.", "judge.")

    @property
    def section(self) -> str:
        """``target``, ``judging``, or empty for a field of ``Settings`` itself."""
        return self.name.rpartition(".")[0]

    @property
    def field(self) -> str:
        """The name within its section."""
        return self.name.rpartition(".")[2]

    @property
    def affects(self) -> Affects | None:
        """Metrics that it is an invariant of; None: of none."""
        match self.role:
            case "everything" | "answers" | "judged":
                return self.role
            case _:
                return None

    @property
    def env(self) -> str | None:
        """Environment variable: ``RAGEVAL_`` and the flag without its ``rageval-`` prefix."""
        if self.flag is None:
            return None
        name = self.flag.lstrip("-").removeprefix("rageval-")
        return "RAGEVAL_" + name.upper().replace("-", "_")

    @property
    def repeatable(self) -> bool:
        """Whether its flag may be given several times; its variable holds one value per line."""
        return self.kind in {"params", "gates"}

    @property
    def keyword(self) -> str:
        """Name as an argument of ``evaluate``: its key below ``[tool.rageval]``."""
        return (self.key or self.name).replace(".", "_")

    @property
    def dest(self) -> str:
        """Name of the parsed flag, with a prefix against conflicts with other plugins."""
        name = (self.flag or self.key).lstrip("-").removeprefix("rageval-")
        return "rageval_" + name.replace("-", "_").replace(".", "_")

    @property
    def default_text(self) -> str:
        """The value or rule that applies if it is not set; empty: none."""
        found = self.default
        if self.unset or found in (None, (), {}) or found is False:
            return self.unset
        if isinstance(found, tuple):
            return ",".join(found)
        return (
            f"{found:g}"
            if isinstance(found, float)
            else str(found).lower()
            if found is True
            else str(found)
        )

    @property
    def help(self) -> str:
        """The phrase, with the default."""
        return f"{self.text} (default: {self.default_text})" if self.default_text else self.text

    @property
    def addoption_kwargs(self) -> dict[str, Any]:
        """Keyword arguments for ``addoption`` of pytest and ``add_argument`` of argparse.

        Values stay text: ``load_settings`` reads them, so that all faults of all sources are
        reported in one message. An option that is not given is None.
        """
        # argparse formats help with "%".
        shared: dict[str, Any] = {"dest": self.dest, "default": None}
        shared["help"] = f"{self.help} [{self.env}]".replace("%", "%%")
        if self.kind == "boolean":
            return {**shared, "action": "store_true"}
        action = "append" if self.repeatable else "store"
        return {**shared, "action": action, "metavar": self.metavar or "|".join(self.choices)}


def _not_none(annotation: Any) -> Any:
    """Return a type without None."""
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    left = tuple(one for one in get_args(annotation) if one is not type(None))
    return reduce(or_, left)
