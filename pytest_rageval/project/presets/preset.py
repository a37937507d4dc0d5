"""Presets: the settings of known systems, read from ``files/NAME.toml``.

A file has ``title``, ``docs`` (address of the system's own documentation), ``lost`` (sentences on
what the preset cannot know) and the tables of ``[tool.rageval]`` that it sets; ``address`` (the
usual one) if the system has no public address, ``optional`` (fields of the reply that the system
may leave out). ``[vars.NAME]`` describes a value that differs from project to project:
``description``, and either ``default`` or ``example``. A variable with an ``example`` is required
unless ``optional = true``.

``{vars.NAME}`` stands for a value: percent-encoded in a path, as text in an address and in headers,
and in a JMESPath expression as a literal, so without quotes. A field of a mapping, or a header,
that names an optional variable without a value is left out.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final
from urllib.parse import quote

import msgspec

from pytest_rageval.project.case_variables import PLACEHOLDER
from pytest_rageval.support.reading import hint
from pytest_rageval.support.text import did_you_mean, nearest, shown
from pytest_rageval.values.errors import Fault

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


_PLACE: Final = re.compile(r"\{vars\.([A-Za-z_]\w*)\}")
_LITERAL_TABLES: Final = ("target.request", "target.response")
_HEADERS: Final = "target.headers"


def resolve(
    preset: Preset, given: Mapping[str, Any], own: Mapping[str, Any]
) -> tuple[dict[str, Any], list[Fault]]:
    """Return the settings of a preset, and every fault.

    Args:
        preset: the settings, with places for variables.
        given: ``vars`` of the project.
        own: values of the project by key such as ``target.path``, which go before those of the
            preset. Fields of a mapping and headers are taken one by one.

    Returns:
        Values by key: all of the preset, and those of the project that have places.
    """
    values, faults = _variables(preset, given)
    merged = {key: merge(key, value, own.get(key)) for key, value in preset.settings.items()}
    merged |= {key: value for key, value in own.items() if key not in merged and any(_names(value))}
    unknown = {name for value in merged.values() for name in _names(value)} - values.keys()
    what = f"variable of preset {preset.name!r}, which has {', '.join(values) or 'none'}"
    faults += [
        Fault(field=f"{{vars.{name}}}", code="unknown", facts={"what": what, **hint(name, values)})
        for name in sorted(unknown)
    ]
    if faults:
        return {}, faults
    filled = {key: _fill(key, value, values) for key, value in merged.items()}
    # Headers that the project empties stay: its own would be taken instead, with empty values.
    kept = own.keys() & {_HEADERS}
    return {key: value for key, value in filled.items() if value not in ("", {}) or key in kept}, []


def unneeded(preset: Preset | None, given: Mapping[str, Any]) -> list[Fault]:
    """Return one fault for each of the ``vars`` of a project that is ignored."""
    if preset is None:
        facts = {"reason": "no preset is set"}
        return [Fault(code="ignored", facts=facts, field=f"vars {name}") for name in given]
    known = preset.variables
    return [
        Fault(
            code="no_such_variable",
            facts={"preset": preset.name, **hint(name, known)},
            field=f"vars {name}",
        )
        for name in given
        if name not in known
    ]


def merge(key: str, preset: Any, own: Any) -> Any:
    """Return the value of a setting from that of a preset and that of the project (None: none).

    An empty header or expression of the project takes one of the preset away.
    """
    if own is None:
        return preset
    if not isinstance(own, Mapping) or not isinstance(preset, Mapping):
        return own
    if key == _HEADERS:
        names = {name.lower() for name in own}
        kept = {name: text for name, text in preset.items() if name.lower() not in names}
        return kept | {name: text for name, text in own.items() if text.strip()}
    kept = {name: text for name, text in preset.items() if not any(_overlap(name, o) for o in own)}
    return kept | {name: text for name, text in own.items() if text.strip()}


def _overlap(one: str, other: str) -> bool:
    """Whether of two fields one is the other or lies within it."""
    a, b = (f"{name.removeprefix('debug.')}." for name in (one, other))
    return a.startswith(b) or b.startswith(a)


def _variables(preset: Preset, given: Mapping[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
    """Return the value of every variable, None for one without, and the faults."""
    values: dict[str, Any] = {}
    faults: list[Fault] = []
    for name, variable in preset.variables.items():
        values[name] = variable.default
        if name in given:
            try:
                values[name] = variable.read(given[name])
            except ValueError:
                example = variable.default if variable.example is None else variable.example
                such_as = f"{variable.description}, such as {vars_line({name: example})}"
                facts = {"found": shown(given[name]), "expected": such_as}
                faults.append(Fault(field=f"vars.{name}", code="value", facts=facts))
    missing = [one for one in preset.required if one.name not in given]
    if missing:
        names = ", ".join(f"{one.name} ({one.description})" for one in missing)
        known = {name: given[name] for name in given if name in preset.variables}
        line = vars_line({**known, **{one.name: one.example for one in missing}})
        close = {one.name: nearest(one.name, given.keys() - values.keys()) for one in missing}
        mistaken = "".join(f"; {near!r} is not {name!r}" for name, near in close.items() if near)
        needs = {"preset": preset.name, "names": names, "write": line, "mistaken": mistaken}
        faults.append(Fault(field="vars", code="needs_vars", facts=needs))
    return values, faults


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for text in value.values() if isinstance(text, str))


def _names(value: Any) -> Iterator[str]:
    return (name for text in _texts(value) for name in _PLACE.findall(text))


def _fill(key: str, value: Any, values: Mapping[str, Any]) -> Any:
    writers = {"target.path": lambda value: quote(_text(value), safe=""), _HEADERS: _in_header}
    write = _literal if key in _LITERAL_TABLES else writers.get(key, _text)

    def filled(text: str) -> str:
        return _PLACE.sub(lambda place: write(values[place[1]]), text)

    if isinstance(value, str):
        return filled(value)
    if not isinstance(value, Mapping):
        return value
    unset = {name for name, given in values.items() if given is None}
    return {name: filled(text) for name, text in value.items() if unset.isdisjoint(_names(text))}


def _literal(value: Any) -> str:
    text = json.dumps(value).replace("`", "\\`")
    return f"`{text}`"


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(_text, value))
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _in_header(value: Any) -> str:
    # Else a request would fill in what the value has in braces.
    return PLACEHOLDER.sub(lambda place: f"{{{place[0]}}}", _text(value))
