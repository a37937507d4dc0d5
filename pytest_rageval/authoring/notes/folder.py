"""Reads the Markdown files of a folder, and none outside of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_rageval.authoring.notes.sections import Note, parse_note
from pytest_rageval.values.errors import RagEvalError

SUFFIXES: Final = (".md", ".markdown")
MAX_BYTES: Final = 32 * 1024 * 1024
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")


class NotesError(RagEvalError):
    """The folder of notes cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedNote:
    """A file that was left out."""

    rel_path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Vault:
    """What was read from a folder."""

    notes: tuple[Note, ...]
    """In order of path."""
    skipped: tuple[SkippedNote, ...] = ()


def read_notes(folder: Path) -> Vault:
    """Read every ``*.md`` and ``*.markdown`` file below a folder.

    Hidden files and folders and links to folders are left out silently; with a reason: links that
    lead out of the folder, and files that are no text, too large or not readable.

    Raises:
        NotesError: it is no folder.
    """
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise NotesError(f"{folder}: {what}, expected a folder of Markdown notes")
    root = folder.resolve()
    notes, skipped = [], []
    for path, rel_path in sorted(_candidates(root), key=lambda found: found[1]):
        data = _read(path, root)
        if isinstance(data, bytes):
            notes.append(parse_note(rel_path, data))
        else:
            skipped.append(SkippedNote(rel_path=rel_path, reason=data))
    return Vault(notes=tuple(notes), skipped=tuple(skipped))


def _candidates(root: Path) -> Iterator[tuple[Path, str]]:
    for parent, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if not name.startswith(".") and name.lower().endswith(SUFFIXES):
                path = Path(parent, name)
                rel_path = path.relative_to(root).as_posix()
                # A name that is no UTF-8 can stand in no case file either.
                yield path, rel_path.encode("utf-8", "replace").decode("utf-8")


def _read(path: Path, root: Path) -> bytes | str:
    """Return the content of a file, or why it is left out."""
    try:
        target = path.resolve(strict=True)
        if not target.is_relative_to(root):
            return "a symbolic link that leads out of the folder"
        # O_NONBLOCK keeps a FIFO of this name from blocking the open.
        descriptor = os.open(target, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return "not a regular file"
            if status.st_size > MAX_BYTES:
                return f"{status.st_size:,} bytes, over the limit of {MAX_BYTES:,}"
            data = file.read()
    except (OSError, RuntimeError) as error:
        return str(getattr(error, "strerror", None) or error)
    if data.startswith(_UTF16) or b"\0" in data:
        return "not UTF-8 text"
    return data
