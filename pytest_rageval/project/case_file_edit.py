"""Changes of single lines of a case file; every other byte is kept.

A change applies to the line as it was read. If another program changed the file meanwhile, a
change of another line is kept; a change of the same line is a conflict, and nothing is written.
The new file is complete before it replaces the old one, so a complete file always exists.
"""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from pytest_rageval.support.files import (
    UTF16_BOMS,
    Lock,
    open_plain,
    written_beside,
)
from pytest_rageval.support.json_text import HALF, dump_like, edit_line
from pytest_rageval.support.jsonl import cannot_be_read
from pytest_rageval.values.errors import DatasetError, Fault, faults_error

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
            message = f"byte 0x{self.raw[error.start]:02x}, expected UTF-8 text"
            raise faults_error([Fault(message=message)]) from None


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

    def with_appended(self, text: str) -> tuple[FileLines, FileLine]:
        """Return the file with one more line, with the line ending of the others, and that line.

        A file whose last line has no newline gets none after the new one either.
        """
        *before, last = self.lines
        end = b"\r" if any(raw.endswith(b"\r") for raw in before) else b""
        new = text.encode("utf-8")
        if not any(map(bytes.strip, self.lines)):  # an empty file ends with a newline from now on
            raw, after = new, [b""]
        elif last.strip():
            before.append(last + end)
            raw, after = new, []
        else:
            raw, after = new + end, [last]
        line = FileLine(number=len(before) + 1, raw=raw)
        return replace(self, lines=(*before, raw, *after)), line


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
    path: Path, line: FileLine, changes: Mapping[str, Any], *, display: str | None = None
) -> FileLine:
    """Change values of one line of a file.

    Args:
        path: the file; a symlink is followed, and stays.
        line: as it was read.
        changes: new value by key, as `edit_line` takes them.
        display: the path as shown in messages.

    Returns:
        The changed line, for the next change.

    Raises:
        EditConflictError: the line was changed since it was read; nothing was written.
        DatasetError: the line cannot be edited, or the file cannot be read or written.
    """
    shown = display or path.as_posix()
    try:
        raw = edit_line(line.text, changes).encode("utf-8")
    except UnicodeEncodeError:
        raise _fault(shown, HALF, line=line.number) from None
    except DatasetError as error:
        placed = (replace(f, file=shown, line=line.number) for f in error.faults)
        raise faults_error(placed) from None
    with _locked(path, shown) as (data, status):
        lines = FileLines.of(data)
        index = _index(lines, line, shown)
        if raw != line.raw:
            _write(path, lines.with_replaced(index, raw).joined(), status, shown)
    return FileLine(number=index + 1, raw=raw)


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


def append_line(path: Path, value: Mapping[str, Any]) -> FileLine:
    """Add one line at the end of a file, written in the style of its last one.

    Returns:
        The new line.

    Raises:
        DatasetError: the value is not a JSON value, or the file cannot be read or written.
    """
    shown = path.as_posix()
    with _locked(path, shown) as (data, status):
        lines = FileLines.of(data)
        text = dump_like(_last_text(lines), dict(value))
        changed, line = lines.with_appended(text)
        _write(path, changed.joined(), status, shown)
    return line


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


def _last_text(lines: FileLines) -> str:
    raw = next(filter(bytes.strip, reversed(lines.lines)), b"")
    with suppress(DatasetError):
        return edit_line(FileLine(number=0, raw=raw).text, {})
    return ""


def _index(lines: FileLines, line: FileLine, shown: str) -> int:
    index = lines.find(line)
    if index is None:
        message = "was changed by another program since it was read; nothing was written"
        raise _fault(shown, message, line=line.number, kind=EditConflictError)
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
        raise _fault(shown, "UTF-16 text, expected UTF-8")
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
                message = "is being changed by another program; try again"
                raise _fault(shown, message, kind=EditConflictError)
            os.replace(beside, target)
    except OSError as error:
        raise _fault(shown, f"cannot be written: {error.strerror or error}") from error
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
    shown: str, message: str, *, line: int = 0, kind: type[DatasetError] = DatasetError
) -> DatasetError:
    fault = Fault(file=shown, line=line, message=message)
    return kind(str(fault), faults=(fault,))
