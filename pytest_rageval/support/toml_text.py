"""Faults of a TOML file, each with the line of its key. Pure."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_rageval.support.text import clean, nearest, shown
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.json_documents import number

KeyPath = tuple[str, ...]
"""Path of a value: keys from the outside in."""

_KEY: Final = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_KEY_LINE: Final = re.compile(
    rf"^[ \t]*(?P<header>\[*)[ \t]*(?P<keys>{_KEY}(?:[ \t]*\.[ \t]*{_KEY})*)[ \t]*[]=]",
    re.MULTILINE,
)
_UNQUOTED: Final = re.compile(r"""[ \t]*\[ *([\w-]+) *\. *([^][\s"'][^]["'\n]*?) *\]""")
"""Header of a table in a table, whose name ``tomllib`` refuses without quotes."""
_EXCERPT_CHARS: Final = 100


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the first line of each key and table, from 1; that of the file itself is 1.

    A key within an array or an inline table has none of its own.
    """
    found: dict[KeyPath, int] = {(): 1}
    table: KeyPath = ()
    line, at = 1, 0
    for match in _KEY_LINE.finditer(text):
        line, at = line + text.count("\n", at, match.start()), match.start()
        path = () if match["header"] else table
        for key in re.findall(_KEY, match["keys"]):
            path = (*path, key.strip("\"'"))
            found.setdefault(path, line)
        table = path if match["header"] else table
    return found


_TYPES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "boolean": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str) and bool(value.strip()),
    "integer": lambda value: type(value) is int,
    "number": lambda value: number(value) is not None,
}
_BOUNDS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "minimum": operator.ge,
    "exclusiveMinimum": operator.gt,
    "exclusiveMaximum": operator.lt,
}


@dataclass(frozen=True, slots=True)
class Rule:
    """Valid values of a plain key, in words and as JSON Schema."""

    expected: str
    schema: Mapping[str, Any]

    def accepts(self, value: Any) -> bool:
        """Whether the schema allows a value of TOML; a text must not be blank either."""
        schema = self.schema
        if "type" in schema:
            bounds = [(holds, schema[name]) for name, holds in _BOUNDS.items() if name in schema]
            return _TYPES[schema["type"]](value) and all(holds(value, b) for holds, b in bounds)
        allowed = schema.get("enum") or [schema["const"]]
        return any(type(value) is type(one) and value == one for one in allowed)


def suggest(name: str, known: Iterable[str]) -> str:
    """Ask whether the closest known name was meant, after a comma; empty where none is close."""
    close = nearest(name, known)
    return f', did you mean "{close}"?' if close else ""


@dataclass(slots=True)
class TomlSource:
    """A TOML text with its values and the faults found in it so far."""

    display: str
    """The path as shown to the user."""
    text: str
    values: Mapping[str, Any]
    lines: Mapping[KeyPath, int] = field(default_factory=lambda: {(): 1})
    """See ``key_lines``."""
    faults: list[tuple[int, str]] = field(default_factory=list)
    """Line and message of each."""
    examples: Mapping[KeyPath, str] = field(default_factory=dict)
    """By path of a table, what may be written."""

    def line(self, path: KeyPath) -> int:
        """Return the line of the key at ``path``, or of the table around it."""
        while path not in self.lines:
            path = path[:-1]
        return self.lines[path]

    def fault(self, path: KeyPath, message: str) -> None:
        """Note a fault of the key at ``path`` or of its value."""
        one = self.line(path), message
        if one not in self.faults:  # a table may be read more than once
            self.faults.append(one)

    def unknown_key(self, path: KeyPath, known: Iterable[str], what: str = "key") -> None:
        """Note that there is no such key, and the one that was probably meant."""
        self.fault(path, f'unknown {what} "{path[-1]}"{suggest(path[-1], known)}')

    def table(self, path: KeyPath) -> Mapping[str, Any]:
        """Return the table at ``path``; empty if there is none, a fault if it is none."""
        value: Any = self.values
        for key in path:
            value = value.get(key, {})
        if isinstance(value, dict):
            return value
        such_as = f" such as {self.examples[path]}" if path in self.examples else ""
        self.fault(path, f"{path[-1]}: got {shown(value)}, expected a table{such_as}")
        return {}

    def plain(
        self, path: KeyPath, rules: Mapping[str, Rule], values: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Check plain keys of the table at ``path``, or some of them; return the valid values."""
        good = {}
        for key, value in (self.table(path) if values is None else values).items():
            rule = rules.get(key)
            if rule is None:
                self.unknown_key((*path, key), rules)
            elif not rule.accepts(value):
                self.fault((*path, key), f"{key}: got {shown(value)}, expected {rule.expected}")
            else:
                good[key] = value
        return good

    def raise_faults(self) -> None:
        """Raise every fault noted, by line, with the text of each line once.

        Raises:
            ConfigError: unless there is none.
        """
        lines = self.text.split("\n")
        shown_lines: list[str] = []
        last = 0
        for line, message in sorted(self.faults, key=operator.itemgetter(0)):
            shown_lines.append(f"{self.display}:{line}: {message}")
            if line != last:
                shown_lines.append(f"{line:5} | {clean(lines[line - 1], _EXCERPT_CHARS)}")
            last = line
        if shown_lines:
            raise ConfigError("\n".join(shown_lines))


def read_toml(text: str, *, display: str) -> TomlSource:
    """Parse a TOML text.

    Raises:
        ConfigError: it is not TOML.
    """
    import tomllib

    text = text.replace("\r\n", "\n")
    try:
        return TomlSource(display, text, tomllib.loads(text), key_lines(text))
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else text.rstrip().count("\n") + 1
        header = _UNQUOTED.match(text.split("\n")[line - 1])
        hint = f', write [{header[1]}."{header[2]}"]' if header else ""
        source = TomlSource(display, text, {}, faults=[(line, f"not TOML: {error}{hint}")])
        source.raise_faults()
        raise
    except (RecursionError, ValueError) as error:  # too deep, or a number of too many digits
        raise ConfigError(f"{display}: not TOML: {error}") from None
