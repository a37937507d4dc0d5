"""Lines of a JSONL file with their numbers and faults.

Invalid UTF-8, invalid JSON, fields of a wrong type and broken rules between fields all become
faults with their line.
"""

from __future__ import annotations

import json
import os
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Final, Generic, NamedTuple, TypeVar

from pytest_rageval.support.files import UTF16_BOMS, open_plain
from pytest_rageval.support.json_text import is_json, json_fault, survey
from pytest_rageval.support.reading import JSON, not_utf8, read, unfit_at
from pytest_rageval.support.text import shown_json
from pytest_rageval.values.diagnoses.table import Fact, known
from pytest_rageval.values.errors import DatasetError, Fault, faults_error

T = TypeVar("T")

_BUFFER: Final = 1 << 15
"""Bytes read at once: more are slower where lines are not read in order, fewer where they are."""
_OPENS: Final = re.compile(r"^[ \t]*[\[{]", re.MULTILINE)


class Line(NamedTuple):
    """One non-blank line."""

    number: int
    """Number of the line, from 1."""
    offset: int
    """Offset of its first byte in the file."""
    text: str
    raw: bytes
    """The text in UTF-8, with its line end."""


def cannot_be_read(display: str, error: OSError) -> DatasetError:
    """Return the error for a file that cannot be read."""
    facts = {"reason": error.strerror or str(error)}
    return faults_error([Fault(code="unreadable", facts=facts, file=display)])


Place = tuple[int, int]
"""Number of a line, from 1, and the offset of its first byte in the file."""


def iterate_lines(
    file: Iterable[bytes], display: str, faults: list[Fault], places: Iterable[Place] | None = None
) -> Iterator[Line]:
    r"""Yield the non-blank lines of a file, one in memory at a time.

    A BOM, CRLF and blank lines are fine. Only ``\n`` ends a line: ``str.splitlines`` would also
    split at U+2028, which a JSON string may contain.

    Args:
        file: all of its lines with their line ends.
        display: path as shown in faults.
        faults: extended by a fault for each line that is not UTF-8.
        places: of the lines to yield, of a seekable file; None: every line.
    """
    for number, start, raw in _every_line(file) if places is None else _lines_at(file, places):
        if number == 1:
            if raw.startswith(UTF16_BOMS):
                faults.append(Fault(code="utf16", file=display))
                return
            if raw.startswith(BOM_UTF8):
                raw, start = raw[len(BOM_UTF8) :], start + len(BOM_UTF8)
        try:
            text = raw.decode("utf-8").removesuffix("\n")
        except UnicodeDecodeError as error:
            faults.append(not_utf8(error, file=display, line=number))
            continue
        if text and not text.isspace():
            yield Line(number, start, text, raw)


def _every_line(file: Iterable[bytes]) -> Iterator[tuple[int, int, bytes]]:
    offset = 0
    for number, raw in enumerate(file, 1):
        yield number, offset, raw
        offset += len(raw)


def _lines_at(file: Any, places: Iterable[Place]) -> Iterator[tuple[int, int, bytes]]:
    for number, offset in places:
        file.seek(offset)
        yield number, offset, file.readline()


def open_lines(path: Path, display: str, *, pipes: bool = False) -> IO[bytes]:
    """Open a file for ``iterate_lines``; with ``pipes`` also a pipe or a device.

    Raises:
        DatasetError: it cannot be opened.
    """
    try:
        return path.open("rb", _BUFFER) if pipes else open_plain(path, _BUFFER)
    except OSError as error:
        raise cannot_be_read(display, error) from error


def one_for_values(data: bytes, faults: Sequence[Fault], *, cases: bool = True) -> list[Fault]:
    """Return the faults of a file, of all JSON values over several lines one in place of theirs."""
    found = list(_values_over_lines(data.decode("utf-8-sig", "replace")))
    if not found:
        return list(faults)
    first, last, begins = found[0]
    facts: dict[str, Fact | None] = {"first": first, "last": last, "n_more": len(found) - 1 or None}
    if begins == "[" and cases:  # no command reads a list of anything else
        facts["list"] = "a list"
    lines = {number for one, end, _ in found for number in range(one, end + 1)}
    rest = (fault for fault in faults if fault.line not in lines)
    one = Fault(code="over_lines", facts=known(facts), file=faults[0].file, line=first)
    return [one, *rest]


def _values_over_lines(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield first line, last line and first character of each JSON value over several lines."""
    decoder = json.JSONDecoder()
    line, at, tries = 1, 0, 100  # each that fails takes a search of the text
    while tries and (found := _OPENS.search(text, at)):
        start, before = found.end() - 1, at
        try:
            at = decoder.raw_decode(text, start)[1]
        except (ValueError, RecursionError):
            at, tries = start + 1, tries - 1
        line += text.count("\n", before, start)
        if n := text.count("\n", start, at):
            yield line, line + n, text[start]
        line += n


def cut_torn_line(path: Path) -> None:
    """Remove the last line of a file if its writer was killed, or end it if only its end lacks."""
    with open_plain(path) as lines:
        data = lines.read()
    kept = data.rfind(b"\n") + 1
    if kept < len(data):
        with path.open("ab") as file:
            if is_json(data[kept:]):
                file.write(b"\n")
            else:
                file.truncate(kept)


def append_line(path: Path, line: bytes) -> None:
    """Add a line to a file, on the disk at once; complete lines are never changed.

    Raises:
        OSError: it cannot be written.
    """
    if path.exists():
        cut_torn_line(path)
    with path.open("ab") as file:
        file.write(line + b"\n")
        file.flush()
        os.fsync(file.fileno())


Rules = Callable[[int, dict[str, Any], Collection[int | str]], Iterator[Fault]]
"""Function that yields the fault of each rule that an object breaks, with its path. Arguments: the
number of the line, the object, and its fields with a wrong type."""


def no_rules(number: int, value: object, faulty: object) -> Iterator[Fault]:
    """Yield nothing: only types are checked."""
    return iter(())


def repeated_id(
    value: Mapping[str, Any], number: int, first_line: dict[str, int]
) -> Iterator[Fault]:
    """Yield a fault if the id of an object occurs in an earlier line, else note its line."""
    name = value.get("id")
    if isinstance(name, str) and (first := first_line.setdefault(name, number)) != number:
        facts = {
            "found": shown_json(name),
            "owner": f"the id of line {first}, expected a unique id",
        }
        yield Fault(loc=("id",), field="id", code="duplicate", facts=facts)


@dataclass(frozen=True, kw_only=True)
class ObjectLine(Generic[T]):
    """Description of the lines of a file: one object with fields of certain types."""

    type: Any
    """Type of its value, such as a dataclass with limits (``values.limits``)."""
    shape: str
    """The object in words, after "expected"."""
    meant: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Fields that an unknown name in lower case may mean."""

    def read(self, line: Line, rules: Rules = no_rules) -> tuple[T | None, list[Fault]]:
        """Return the value of a line, or else all of its faults."""
        try:
            value, faults = survey(line.text)
        except json.JSONDecodeError as error:
            return None, [json_fault(error, self.shape, line=line.number)]
        except (ValueError, RecursionError) as error:
            # The ValueError is an integer beyond Python's limit of digits.
            code = "deep" if isinstance(error, RecursionError) else "long_number"
            return None, [Fault(code=code, facts={"expected": self.shape}, line=line.number)]
        valid = None
        if isinstance(value, dict):
            valid, wrong = read(self.type, value, form=JSON, meant=self.meant)
            # What NaN should be is more than that it is not finite.
            twice = [one for one in faults if one.code == "duplicate_key"]
            there = {one.loc: one for one in faults if one.code != "duplicate_key"}
            half = {loc for loc, one in there.items() if one.code == "half_character"}
            there |= {one.loc: one for one in wrong if one.loc not in half}
            faults = [*twice, *there.values()]
            faulty = {loc[0] for loc in there}
            faults += [one for one in rules(line.number, value, faulty) if one.loc not in there]
        else:
            faults = [unfit_at((), shown_json(value), self.shape)]
        faults = [replace(one, line=line.number) for one in faults]
        return (None if faults else valid), faults


def read_objects(
    path: Path, kind: ObjectLine[T], rules: Rules = no_rules, *, display: str
) -> Iterator[tuple[int, T]]:
    """Yield number and value of each line of a file, one in memory at a time.

    Args:
        path: a JSONL file in UTF-8; a BOM, CRLF and blank lines are fine.
        kind: description of the lines.
        rules: further rules of a line.
        display: path as shown in messages.

    Raises:
        DatasetError: after the last valid line, with all faults of the file; or it cannot be read
            or is empty.
    """
    faults: list[Fault] = []
    empty = True
    try:
        with open_lines(path, display) as file:
            for line in iterate_lines(file, display, faults):
                empty = False
                value, found = kind.read(line, rules)
                if value is not None:
                    yield line.number, value
                faults += [replace(fault, file=display) for fault in found]
    except OSError as error:
        raise cannot_be_read(display, error) from error
    if empty and not faults:
        faults.append(Fault(code="empty", facts={"expected": kind.shape}, file=display))
    if faults:
        raise faults_error(sorted(faults, key=lambda fault: fault.line))
