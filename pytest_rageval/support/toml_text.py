"""Positions of the keys and values of a TOML text, and faults that point at them. Pure.

``tomllib`` gives no positions, and tomlkit's tree cannot be rendered key by key if tables are out
of order or inline. This scanner reads only text that ``tomllib`` has accepted, so it only separates
tokens and does not validate them.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pytest_rageval.support.text import nearest, shown
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.json_documents import number

KeyPath = tuple[str, ...]
"""Path of a value: keys from the outside in."""

_SPACE: Final = re.compile(r"[ \t]*")
_BLANK: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY: Final = re.compile(r'[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|\'[^\']*\'')
_STRING: Final = re.compile(
    r'"""(?:[^\\]|\\.)*?"""(?:"{0,2})'  # up to two quotes may touch the closing three
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:[^"\\]|\\.)*"'
    r"|'[^']*'",
    re.DOTALL,
)
_BARE: Final = re.compile(r"[^,\]}#\r\n]+")
_SYNTAX: Final = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)
_UNQUOTED: Final = re.compile(r"""[ \t]*\[ *([\w-]+) *\. *([^][\s"'][^]["'\n]*?) *\]""")
"""Header of a table in a table, whose name ``tomllib`` refuses without quotes."""

_EXCERPT_CHARS: Final = 100
_MOST_FAULTS: Final = 90
"""Faults after which reading stops: an error shows no more, and each is compared with every known
name."""
_MOST_PARTS: Final = 100
_LONG_KEY: Final = re.compile(
    r"(?:^|[\[{,])[ \t]*"
    rf"(?P<key>(?:(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')[ \t]*\.[ \t]*){{{_MOST_PARTS}}})",
    re.MULTILINE,
)
"""Dotted key of too many parts; ``tomllib`` takes a time that grows with their square."""


@dataclass(frozen=True, slots=True)
class Place:
    """A key and its value; offsets in characters from 0."""

    start: int
    """Start of the dotted key that ends in this one; the parts of a header are separate."""
    key: int
    key_end: int
    value: int
    value_end: int


def locate(text: str) -> dict[KeyPath, Place]:
    """Find every key of a valid TOML text, including enclosing tables.

    A table that several headers name is at its first header. Keys inside arrays are
    left out. A header has its name for a value.
    """
    scanner = _Scanner(text)
    scanner.scan()
    return scanner.places


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.places: dict[KeyPath, Place] = {}

    def scan(self) -> None:
        table: KeyPath = ()
        self._skip(_BLANK)
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                self._skip(re.compile(r"\[+"))
                table = self._keys((), header=True)
                self._skip(re.compile(r"[ \t]*\]+"))
            else:
                self._statement(table)
            self._skip(_BLANK)

    def _skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match[0]

    def _keys(self, base: KeyPath, *, header: bool = False) -> KeyPath:
        """Read ``a.b.c``, note each part and return the whole way."""
        path, start = base, None
        while True:
            self._skip(_SPACE)
            at = self.at
            start = at if start is None or header else start
            path = (*path, _plain_key(self._skip(_KEY)))
            self.places.setdefault(path, Place(start, at, self.at, at, self.at))
            self._skip(_SPACE)
            if self.text[self.at : self.at + 1] != ".":
                return path
            self.at += 1

    def _statement(self, base: KeyPath) -> None:
        path = self._keys(base)
        self.at += 1  # the equals sign
        self._skip(_SPACE)
        start = self.at
        self._value(path)
        self.places[path] = replace(self.places[path], value=start, value_end=self.at)

    def _value(self, path: KeyPath | None) -> None:
        """Pass one value; the keys of an inline table are noted below ``path`` unless None."""
        opening = self.text[self.at]
        if opening == "{":
            self._inline_table(path)
        elif opening == "[":
            self._array()
        elif opening in "\"'":
            self._skip(_STRING)
        else:
            token = self._skip(_BARE)
            # Always advance, or the scanner would never end.
            assert token.strip(), f"no value at offset {self.at}"
            self.at -= len(token) - len(token.rstrip())

    def _inline_table(self, path: KeyPath | None) -> None:
        self.at += 1
        self._skip(_BLANK)
        while self.text[self.at] != "}":
            kept = self.places
            if path is None:
                self.places = {}
            self._statement(path or ())
            self.places = kept
            self._next_item()
        self.at += 1

    def _array(self) -> None:
        self.at += 1
        self._skip(_BLANK)
        while self.text[self.at] != "]":
            self._value(None)
            self._next_item()
        self.at += 1

    def _next_item(self) -> None:
        self._skip(_BLANK)
        if self.text[self.at] == ",":
            self.at += 1
            self._skip(_BLANK)


def _plain_key(raw: str) -> str:
    if raw.startswith("'"):
        return raw[1:-1]
    if not raw.startswith('"'):
        return raw
    import tomllib

    return next(iter(tomllib.loads(f"{raw} = 0")))


# --- faults ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Fault:
    offset: int
    end: int
    message: str
    hint: str


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
    """Ask whether the closest known name was meant; empty where none is close."""
    close = nearest(name, known)
    return f'did you mean "{close}"?' if close else ""


@dataclass(slots=True)
class TomlSource:
    """A TOML text with its values, its places and the faults found in it so far."""

    display: str
    """The path as shown to the user."""
    text: str
    values: Mapping[str, Any]
    places: Mapping[KeyPath, Place]
    faults: list[_Fault] = field(default_factory=list)
    examples: Mapping[KeyPath, str] = field(default_factory=dict)
    """By path of a table, what may be written."""

    def key_fault(
        self, path: KeyPath, message: str, hint: str = "", *, whole: bool = False
    ) -> None:
        """Note a fault of the key at ``path``, or of the ``whole`` dotted key that ends in it.

        Raises:
            ConfigError: there are so many faults that the rest is not read; also by other methods
                that note one.
        """
        place = self.places[path]
        start = place.start if whole else place.key
        self._note(_Fault(start, place.key_end, message, hint))

    def value_fault(self, path: KeyPath, message: str) -> None:
        """Note a fault of the value at ``path``."""
        place = self.places[path]
        fault = _Fault(place.value, place.value_end, message, "")
        if fault not in self.faults:  # a table may be read more than once
            self._note(fault)

    def _note(self, fault: _Fault) -> None:
        self.faults.append(fault)
        if len(self.faults) == _MOST_FAULTS:
            self.raise_faults()

    def unknown_key(self, path: KeyPath, known: Iterable[str], what: str = "key") -> None:
        """Note that there is no such key, and the one that was probably meant."""
        self.key_fault(path, f'unknown {what} "{path[-1]}"', suggest(path[-1], known))

    def table(self, path: KeyPath) -> Mapping[str, Any]:
        """Return the table at ``path``; empty if there is none, a fault if it is none."""
        value: Any = self.values
        for key in path:
            value = value.get(key, {})
        if isinstance(value, dict):
            return value
        such_as = f" such as {self.examples[path]}" if path in self.examples else ""
        self.value_fault(path, f"{path[-1]}: got {shown(value)}, expected a table{such_as}")
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
                message = f"{key}: got {shown(value)}, expected {rule.expected}"
                self.value_fault((*path, key), message)
            else:
                good[key] = value
        return good

    def line(self, path: KeyPath) -> int:
        """Return the line of the key at ``path``, from 1."""
        return self.text.count("\n", 0, self.places[path].key) + 1

    def raise_faults(self) -> None:
        """Raise every fault noted, in the order of the text.

        Raises:
            ConfigError: unless there is none.
        """
        if self.faults:
            raise ConfigError(self._render())

    def _render(self) -> str:
        lines: list[str] = []
        last = 0
        for fault in sorted(self.faults, key=lambda fault: fault.offset):
            line = self.text.count("\n", 0, fault.offset) + 1
            column = fault.offset - (self.text.rfind("\n", 0, fault.offset) + 1) + 1
            head = f"{self.display}:{line}:{column}: {fault.message}"
            if line == last:
                # The excerpt is already shown above.
                lines.append(f"{head}, {fault.hint}" if fault.hint else head)
                continue
            last = line
            lines += [head, *_excerpt(self.text, line, column, fault)]
            lines[-1] += f" {fault.hint}" if fault.hint else ""
        if len(self.faults) == _MOST_FAULTS:
            lines.append(f"{self.display}: after {_MOST_FAULTS} faults the rest was not read")
        return "\n".join(lines)


def _excerpt(text: str, line: int, column: int, fault: _Fault) -> list[str]:
    offset = fault.offset
    content = text[offset - column + 1 : (text + "\n").index("\n", offset)]
    content = "".join(char if char.isprintable() else " " for char in content).rstrip()
    start = max(0, column - 1 - _EXCERPT_CHARS // 2) if len(content) > _EXCERPT_CHARS else 0
    content = content[start : start + _EXCERPT_CHARS]
    at, width = column - 1 - start, fault.end - fault.offset
    # A value of several lines is underlined to the end of its first one.
    carets = "^" * max(1, min(width, len(content) - at))
    return [f"{line:5} | {content}", f"      | {' ' * at}{carets}"]


def read_toml(text: str, *, display: str) -> TomlSource:
    """Parse a TOML text and find its places.

    Raises:
        ConfigError: it is not TOML; the text names line and column.
    """
    import tomllib

    text = text.replace("\r\n", "\n")
    _refuse_long_keys(text, display)
    try:
        values = tomllib.loads(text)
        places = locate(text)
    except tomllib.TOMLDecodeError as error:
        offset, message = _syntax_error(text, str(error))
        header = _UNQUOTED.match(text, text.rfind("\n", 0, offset) + 1)
        hint = f'write [{header[1]}."{header[2]}"]' if header and offset < header.end() else ""
        source = TomlSource(display, text, {}, {}, [_Fault(offset, offset + 1, message, hint)])
        source.raise_faults()
        raise
    except (RecursionError, ValueError) as error:  # too deep, or a number of too many digits
        raise ConfigError(f"{display}: not TOML: {error}") from None
    return TomlSource(display, text, values, places)


def _refuse_long_keys(text: str, display: str) -> None:
    if found := _LONG_KEY.search(text):
        fault = _Fault(*found.span("key"), f"a key of more than {_MOST_PARTS} parts", "")
        TomlSource(display, text, {}, {}, [fault]).raise_faults()


def _syntax_error(text: str, message: str) -> tuple[int, str]:
    """Return the offset and the message of an error of ``tomllib``."""
    match = _SYNTAX.fullmatch(message)
    if match is None:
        return 0, f"not TOML: {message}"
    if match[2] is None:
        return len(text.rstrip()), f"not TOML: {match[1]} at the end of the file"
    start = sum(len(line) + 1 for line in text.split("\n")[: int(match[2]) - 1])
    return start + int(match[3]) - 1, f"not TOML: {match[1]}"
