"""Presets: the settings of known systems, read from ``files/NAME.toml``.

A file has ``title``, ``docs`` (address of the system's own documentation), ``lost`` (sentences on
what the preset cannot know) and the tables of ``[tool.rageval]`` that it sets; ``address`` (the
usual one) if the system has no public address, ``optional`` (fields of the reply that the system
may leave out). ``[vars.NAME]`` describes a value that differs from project to project:
``description``, and either ``default`` or ``example``. A variable with an ``example`` is required
unless ``optional = true``.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec

from pytest_rageval.support.text import did_you_mean, shown

_FILES: Final = files("pytest_rageval.project.presets") / "files"
_SUFFIX: Final = ".toml"
_VARIABLE: Final = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)")
_TABLES: Final = ("target", "citations")
"""Tables of ``[tool.rageval]`` that a preset may set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A value that a preset cannot know."""

    name: str
    description: str
    default: Any = None
    """None if absent."""
    example: Any = None
    optional: bool = False

    @property
    def required(self) -> bool:
        """Whether a project must set it."""
        return self.default is None and not self.optional

    def read(self, value: Any) -> Any:
        """Return a value of a project; one text may stand for a list of it, a number for its text.

        Raises:
            ValueError: the value has another type than the example or the default.
        """
        like = self.example if self.default is None else self.default
        if isinstance(like, str) and type(value) is int:
            return str(value)
        if isinstance(like, list) and isinstance(value, str) and value.strip():
            return [value]
        if isinstance(like, float) and type(value) is int:
            return value
        if type(value) is not type(like) or value in ("", []):
            raise ValueError(f"{self.name}: expected {self.description}")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """Settings of a known system."""

    name: str
    title: str
    docs: str
    lost: tuple[str, ...]
    """Sentences on what the preset cannot know or do."""
    optional: tuple[str, ...] = ()
    """Fields of a reply that are mapped and that the system may leave out."""
    address: str = ""
    """Usual address of a server; empty: ``url`` is among the settings."""
    settings: Mapping[str, Any]
    """Values by key of ``[tool.rageval]`` such as ``target.path``, with places ``{vars.NAME}``."""
    variables: Mapping[str, Variable]

    @property
    def environment(self) -> tuple[str, ...]:
        """Names of the environment variables that the headers need."""
        headers = self.settings.get("target.headers", {})
        return tuple(name for value in headers.values() for name in _VARIABLE.findall(value))

    @property
    def required(self) -> tuple[Variable, ...]:
        """Variables that a project must set."""
        return tuple(one for one in self.variables.values() if one.required)


@cache
def preset_names() -> tuple[str, ...]:
    """Return the names of all presets, sorted."""
    found = (entry.name for entry in _FILES.iterdir())
    return tuple(sorted(name[: -len(_SUFFIX)] for name in found if name.endswith(_SUFFIX)))


@cache
def load_preset(name: str) -> Preset:
    """Read a preset.

    Raises:
        ValueError: no preset has this name; the message lists their names.
    """
    if name not in preset_names():
        hint = did_you_mean(name.lower(), preset_names()) or "."
        names = ", ".join(preset_names())
        raise ValueError(f"unknown preset {shown(name)}{hint} There are {names}")
    document = tomllib.loads((_FILES / f"{name}{_SUFFIX}").read_text(encoding="utf-8"))
    variables = {key: {"name": key, **of} for key, of in document.get("vars", {}).items()}
    settings = {
        f"{table}.{key}": value
        for table in _TABLES
        for key, value in document.get(table, {}).items()
    }
    read = {**document, "name": name, "variables": variables, "settings": settings}
    return msgspec.convert(read, Preset)


def vars_line(values: Mapping[str, Any]) -> str:
    """Write variables as a line of pyproject.toml.

    >>> vars_line({"workspace": "docs"})
    'vars = { workspace = "docs" }'
    """
    inside = ", ".join(
        f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()
    )
    return f"vars = {{ {inside} }}"
