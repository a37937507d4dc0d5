"""Faults of a TOML file, each with the line of its key. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from pytest_rageval.support.files import read_plain
from pytest_rageval.support.reading import Keys, hint, not_utf8, read
from pytest_rageval.support.text import clean, part, shown
from pytest_rageval.values.diagnoses.table import Fact
from pytest_rageval.values.errors import ConfigError, Fault

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


@dataclass(slots=True)
class TomlSource:
    """A TOML text with its values and the faults found in it so far."""

    display: str
    """The path as shown to the user."""
    text: str
    values: Mapping[str, Any]
    lines: Mapping[KeyPath, int] = field(default_factory=lambda: {(): 1})
    """See ``key_lines``."""
    faults: list[Fault] = field(default_factory=list)
    examples: Mapping[KeyPath, str] = field(default_factory=dict)
    """By path of a table, what may be written."""

    def line(self, path: KeyPath) -> int:
        """Return the line of the key at ``path``, or of the table around it."""
        while path not in self.lines:
            path = path[:-1]
        return self.lines[path]

    def fault(self, path: KeyPath, code: str, /, name: str = "", **facts: Fact) -> None:
        """Note a fault of the key at ``path`` or of its value."""
        self.take(path, Fault(field=name, code=code, facts=facts))

    def take(self, path: KeyPath, fault: Fault) -> None:
        """Note a fault as one of the key at ``path``, in its line."""
        fault = replace(fault, file=self.display, line=self.line(path))
        if fault not in self.faults:  # a table may be read more than once
            self.faults.append(fault)

    def unfit(self, path: KeyPath, found: object, expected: str) -> None:
        """Note that the value at ``path``, or a part of it, is not what was expected."""
        self.fault(path, "value", name=path[-1], found=shown(found), expected=expected)

    def unknown(self, path: KeyPath, known: Iterable[str], what: str = "key") -> None:
        """Note that there is no such key, and the one that was probably meant."""
        self.fault(path, "unknown", what=f'{what} "{path[-1]}"', **hint(path[-1], known))

    def table(self, path: KeyPath) -> Mapping[str, Any]:
        """Return the table at ``path``; empty if absent, a fault if it is no table."""
        value: Any = self.values
        for key in path:
            value = value.get(key, {})
        if isinstance(value, dict):
            return value
        such_as = part(" such as {}", self.examples.get(path))
        self.unfit(path, value, f"a table{such_as}")
        return {}

    def plain(
        self, path: KeyPath, keys: Keys, values: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Check plain keys of the table at ``path``, or some of them; return the valid values."""
        good = {}
        for key, value in (self.table(path) if values is None else values).items():
            here = (*path, key)
            if key not in keys:
                self.unknown(here, keys)
                continue
            _, faults = read(keys[key], value)
            for one in faults:
                self.take(here, one.below(key))
            if not faults:
                good[key] = value
        return good

    def raise_faults(self) -> None:
        """Raise every fault noted, by line, with the text of each line once.

        Raises:
            ConfigError: there are faults.
        """
        lines = self.text.split("\n")
        faults = sorted(self.faults, key=attrgetter("line"))
        shown_lines: list[str] = []
        for last, one in zip([None, *faults], faults, strict=False):
            shown_lines.append(str(one))
            if last is None or one.line != last.line:
                shown_lines.append(f"{one.line:5} | {clean(lines[one.line - 1], _EXCERPT_CHARS)}")
        if faults:
            raise ConfigError("\n".join(shown_lines), faults=tuple(faults))


def read_text(path: Path, display: str) -> str:
    """Read the text of a file of settings.

    Raises:
        ConfigError: it cannot be read, or is not UTF-8.
    """
    try:
        return read_plain(path)
    except UnicodeDecodeError as error:
        raise ConfigError.of_faults([not_utf8(error, file=display)]) from None
    except OSError as error:
        raise ConfigError.of(display, "unreadable", reason=error.strerror) from error


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
        advice = f', write [{header[1]}."{header[2]}"]' if header else ""
        source = TomlSource(display, text, {})
        facts = {"reason": str(error), "advice": advice}
        source.faults.append(Fault(code="not_toml", facts=facts, file=display, line=line))
        source.raise_faults()
        raise
    except (RecursionError, ValueError) as error:  # too deep, or a number of too many digits
        raise ConfigError.of(display, "not_toml", reason=error) from None
