"""Case files read for editing, and changes of single lines; every other byte is kept.

A change applies to the line as it was read. If another program changed the file meanwhile, a
change of another line is kept; a change of the same line is a conflict, and nothing is written.
The new file is complete before it replaces the old one, so a complete file always exists.
"""

from __future__ import annotations

import json
import os
from codecs import BOM_UTF8
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from pytest_rageval.project.case_reader import json_object, parse_case
from pytest_rageval.support.files import UTF16_BOMS, Lock, open_plain, written_beside
from pytest_rageval.support.jsonl import (
    Line,
    ObjectLine,
    cannot_be_read,
    one_for_values,
    repeated_id,
)
from pytest_rageval.support.reading import not_utf8
from pytest_rageval.support.text import part
from pytest_rageval.values.case import CASE_FIELDS, TURN_FIELDS, Anchor, Case
from pytest_rageval.values.errors import DatasetError, Fault, faults_error
from pytest_rageval.values.lenient import items, word

_ORDER: Final = {name: place for place, name in enumerate(CASE_FIELDS)}
_ANY_LINE: Final = ObjectLine[dict[str, Any]](type=dict[str, Any], shape="one JSON object")
_STAMP: Final = attrgetter("st_mtime_ns", "st_size", "st_ino")


class EditConflictError(DatasetError):
    """The line to be changed differs from the line that was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLine:
    """One line as it was read, the base of a later change of it."""

    number: int
    """From 1."""
    raw: bytes
    """Without BOM and without its final newline; a carriage return before that belongs to it."""

    @property
    def text(self) -> str:
        r"""The line as text; a ``\r`` at its end is a blank to JSON.

        Raises:
            DatasetError: it is not UTF-8.
        """
        try:
            return self.raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise faults_error([not_utf8(error)]) from None

    def read(self) -> dict[str, Any]:
        """Return the object of the line.

        Raises:
            DatasetError: with every fault of the line; its fields are not checked.
        """
        value, faults = _ANY_LINE.read(Line(0, 0, self.text, b""))
        if value is None:
            raise faults_error(faults)
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLines:
    """The bytes of a file, line by line; joined they are the file again. Pure."""

    bom: bytes
    lines: tuple[bytes, ...]
    """Each without its newline. The last one is empty where the file ends in a newline."""

    @classmethod
    def of(cls, data: bytes) -> FileLines:
        """Split the bytes of a file."""
        bom = BOM_UTF8 if data.startswith(BOM_UTF8) else b""
        return cls(bom=bom, lines=tuple(data[len(bom) :].split(b"\n")))

    def joined(self) -> bytes:
        """Put the file together."""
        return self.bom + b"\n".join(self.lines)

    def filled(self) -> Iterator[FileLine]:
        """Yield the lines that are not blank."""
        for number, raw in enumerate(self.lines, 1):
            if raw.strip():
                yield FileLine(number=number, raw=raw)

    def find(self, line: FileLine) -> int | None:
        """Return the index of a line: its old one, or that of the only equal line elsewhere."""
        index = line.number - 1
        if index < len(self.lines) and self.lines[index] == line.raw:
            return index
        places = [i for i, raw in enumerate(self.lines) if raw == line.raw]
        return places[0] if len(places) == 1 else None

    def with_replaced(self, index: int, *raw: bytes) -> FileLines:
        """Return the file with other lines, or none, in the place of one."""
        return replace(self, lines=(*self.lines[:index], *raw, *self.lines[index + 1 :]))


# --- the file --------------------------------------------------------------------------------


def read_file_lines(path: Path, *, display: str | None = None) -> FileLines:
    """Read a case file for editing.

    Args:
        path: a JSONL file in UTF-8; a symlink is followed.
        display: the path as shown in messages; ``path`` itself by default.

    Raises:
        DatasetError: it cannot be read, is not a regular file or is UTF-16.
    """
    return FileLines.of(_read(path, display or path.as_posix())[0])


def change_line(
    path: Path,
    line: FileLine,
    changes: Mapping[str, Any],
    *,
    unset: Collection[str] = (),
    display: str | None = None,
) -> FileLine:
    """Change values of one line of a file, which is then written anew, in the order of ``Case``.

    Args:
        path: the file; a symlink is followed, and stays.
        line: as it was read.
        changes: new value by key. If none differs from the present one, nothing is written.
        unset: keys to remove.
        display: the path as shown in messages.

    Returns:
        The changed line, for the next change.

    Raises:
        EditConflictError: the line was changed since it was read; nothing was written.
        DatasetError: the line cannot be edited, or the file cannot be read or written.
    """
    shown = display or path.as_posix()
    try:
        raw = _edited(line, changes, unset)
    except DatasetError as error:
        placed = (replace(f, file=shown, line=line.number) for f in error.faults)
        raise faults_error(placed) from None
    with _locked(path, shown) as (data, status):
        lines = FileLines.of(data)
        index = _index(lines, line, shown)
        if raw != line.raw:
            _write(path, lines.with_replaced(index, raw).joined(), status, shown)
    return FileLine(number=index + 1, raw=raw)


def _edited(line: FileLine, changes: Mapping[str, Any], unset: Collection[str]) -> bytes:
    before = line.read()
    after = {name: value for name, value in {**before, **changes}.items() if name not in unset}
    if _canonical(after) == _canonical(before):
        return line.raw
    ordered = dict(sorted(after.items(), key=lambda one: _ORDER.get(one[0], len(_ORDER))))
    try:
        raw = json.dumps(ordered, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (TypeError, ValueError) as error:
        facts = {"reason": str(error)}
        raise faults_error([Fault(code="not_json_value", facts=facts)]) from None
    return raw + (b"\r" if line.raw.endswith(b"\r") else b"")


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=str)  # 1 is not true


def remove_line(path: Path, line: FileLine) -> None:
    """Delete one line of a file.

    Raises:
        EditConflictError: the line was changed since it was read; nothing was written.
        DatasetError: the file cannot be read or written.
    """
    shown = path.as_posix()
    with _locked(path, shown) as (data, status):
        lines = FileLines.of(data)
        _write(path, lines.with_replaced(_index(lines, line, shown)).joined(), status, shown)


def append_texts(path: Path, texts: Iterable[str]) -> None:
    """Add lines at the end of a file, in one write and unchanged.

    Raises:
        DatasetError: the file cannot be read or written.
    """
    shown = path.as_posix()
    with _locked(path, shown) as (data, status):
        end = b"\r\n" if b"\r\n" in data[:100_000] else b"\n"
        gap = b"" if not data.strip() or data.endswith(b"\n") else end
        added = b"".join(text.encode("utf-8") + end for text in texts)
        _write(path, data + gap + added, status, shown)


def _index(lines: FileLines, line: FileLine, shown: str) -> int:
    index = lines.find(line)
    if index is None:
        raise _fault(shown, "changed", line=line.number, kind=EditConflictError)
    return index


# --- reading and writing whole files ---------------------------------------------------------


def _read(path: Path, shown: str) -> tuple[bytes, os.stat_result]:
    try:
        with open_plain(path) as file:
            status = os.fstat(file.fileno())
            data = file.read()
    except OSError as error:
        raise cannot_be_read(shown, error) from error
    if data.startswith(UTF16_BOMS):
        raise _fault(shown, "utf16")
    return data, status


def _write(path: Path, data: bytes, read: os.stat_result, shown: str) -> None:
    """Replace the content of a file that was just read."""
    target = Path(os.path.realpath(path))
    try:
        # In a writable folder even a read-only file could be replaced.
        os.close(os.open(target, os.O_WRONLY))
        with written_beside(target, [data], sync=True, like=read) as beside:
            now = os.stat(target)
            # A program that takes no lock may have written since.
            if _STAMP(now) != _STAMP(read):
                raise _fault(shown, "changing", kind=EditConflictError)
            os.replace(beside, target)
    except OSError as error:
        reason = error.strerror or str(error)
        raise _fault(shown, "unwritable", reason=reason) from error
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    # Keeps the new name after a power cut; not every file system can.
    with suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


@contextmanager
def _locked(path: Path, shown: str) -> Iterator[tuple[bytes, os.stat_result]]:
    """Serialise the edits of this package to a file, and yield what it holds."""
    target = Path(os.path.realpath(path))
    with Lock(target, wait=True):
        yield _read(path, shown)


def _fault(
    shown: str, code: str, *, line: int = 0, kind: type[DatasetError] = DatasetError, **facts: str
) -> DatasetError:
    fault = Fault(code=code, facts=facts, file=shown, line=line)
    return kind(str(fault), faults=(fault,))


_ANCHORS: Final = ("gold_supports", "irrelevant_supports")
_FIELDS: Final = frozenset(CASE_FIELDS)
_OF_TURNS: Final = frozenset(TURN_FIELDS)
_OF_ANCHORS: Final = frozenset(one.name for one in fields(Anchor))


@dataclass(frozen=True, slots=True, kw_only=True)
class EditableCase:
    """A case with the line that holds it."""

    case: Case
    """Without the unknown fields of the line."""
    line: FileLine
    values: Mapping[str, Any]
    """All fields of the line; of a turn its own fields alone."""

    def expanded(self) -> tuple[EditableCase, ...]:
        """Return each turn of a conversation as a case with its line, or the case itself."""
        if not self.case.turns:
            return (self,)
        pairs = zip(self.case.expanded(), self.values["turns"], strict=True)
        return tuple([replace(self, case=case, values=values) for case, values in pairs])

    def on_line(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return changes of a case as those of its line: of a turn, within its ``turns``."""
        if self.case.turn is None:
            return {**changes}
        return changes_of_turn(self.line.read(), self.case.turn, changes)


def changes_of_turn(
    values: Mapping[str, Any], turn: int, changes: Mapping[str, Any], unset: Collection[str] = ()
) -> dict[str, Any]:
    """Return changes of a turn as changes of its line, whose fields outside ``turns`` all share.

    Args:
        values: of the line.
        turn: position of the turn, from 1.
        changes: new value by field.
        unset: fields of the turn to remove.
    """
    rest = {name: value for name, value in changes.items() if name not in _OF_TURNS}
    own = {name: value for name, value in changes.items() if name in _OF_TURNS}
    if not own and not unset:
        return rest
    turns = [*values["turns"]]
    after = {k: v for k, v in {**turns[turn - 1], **own}.items() if k not in unset}
    order = {name: place for place, name in enumerate(TURN_FIELDS)}
    turns[turn - 1] = dict(sorted(after.items(), key=lambda one: order.get(one[0], len(order))))
    return {**rest, "turns": turns}


@dataclass(frozen=True, slots=True, kw_only=True)
class EditableSet:
    """The cases of one file, in its order."""

    path: Path
    display: str
    cases: tuple[EditableCase, ...]
    warnings: tuple[str, ...]
    """One line for each unknown key, which an edit leaves as it is."""

    def expanded(self) -> EditableSet:
        """Return the set with each turn of a conversation as a case of its own."""
        return replace(self, cases=tuple([turn for one in self.cases for turn in one.expanded()]))


def load_editable(path: Path, *, display: str | None = None) -> EditableSet:
    """Read a case file for editing.

    Faults are those of ``load_cases``, but an unknown key is only a warning.

    Raises:
        DatasetError: with every fault of the file, or it cannot be read.
    """
    shown = path.as_posix() if display is None else display
    lines = read_file_lines(path, display=shown)
    found: list[EditableCase] = []
    faults: list[Fault] = []
    unknown: dict[str, list[int]] = {}
    first: dict[str, int] = {}
    for line in lines.filled():
        try:
            one = read_case_line(line)
        except DatasetError as error:
            faults += [replace(f, file=shown, line=line.number) for f in error.faults]
            continue
        twice = repeated_id({"id": one.case.id}, line.number, first)
        faults += [replace(fault, file=shown, line=line.number) for fault in twice]
        for key in unknown_keys(one.values):
            unknown.setdefault(key, []).append(line.number)
        found.append(one)
    if faults:
        raise faults_error(one_for_values(lines.joined(), faults))
    warnings = (
        f"{shown}:{number}: unknown field {key!r}"
        f"{part(' (and in {} more lines)', len(more))}, left as it is"
        for key, (number, *more) in unknown.items()
    )
    return EditableSet(path=path, display=shown, cases=tuple(found), warnings=tuple(warnings))


def read_case_line(line: FileLine) -> EditableCase:
    """Read one line.

    Raises:
        DatasetError: with every fault of the line but unknown keys.
    """
    values = line.read()
    return EditableCase(case=parse_case(_known(values, _FIELDS)), line=line, values=values)


def _known(value: Any, names: frozenset[str]) -> Any:
    """Return an object without its unknown keys and those of its anchors and turns."""
    if not isinstance(value, dict):
        return value
    known = {key: one for key, one in value.items() if key in names}
    within = {**dict.fromkeys(_ANCHORS, _OF_ANCHORS), "turns": _OF_TURNS}
    for name in within.keys() & known.keys():
        if isinstance(known[name], list):
            known[name] = [_known(one, within[name]) for one in known[name]]
    return known


def unknown_keys(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield each key of a line that no field of a case has, once."""
    seen = [key for key in values if key not in _FIELDS]
    for turn in items(values, "turns"):
        seen += [f"turns[].{key}" for key in turn if key not in _OF_TURNS]
    for name in _ANCHORS:
        for anchor in items(values, name):
            seen += [f"{name}[].{key}" for key in anchor if key not in _OF_ANCHORS]
    yield from dict.fromkeys(seen)


def lines_by_id(lines: FileLines) -> dict[str, FileLine]:
    """Return the first line of each case by its id, even if the line has other faults."""
    found: dict[str, FileLine] = {}
    for line in lines.filled():
        with suppress(DatasetError):
            if (case_id := word(json_object(line.text), "id")) is not None:
                found.setdefault(case_id, line)
    return found
