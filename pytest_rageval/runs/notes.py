"""Notes of people on the cases of a run, in ``notes.json`` of its folder.

Each author has one note on a case and repeat. Sessions never write this file, so that a run that is
resumed or judged again keeps it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pytest_rageval.runs.store import read_document, write_document
from pytest_rageval.support.files import Lock
from pytest_rageval.support.text import counted
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.run import CaseNote, CaseNotes

NOTES: Final = "notes.json"
MAX_TEXT: Final = 10_000
MAX_AUTHOR: Final = 100


def read_notes(folder: Path) -> tuple[CaseNote, ...]:
    """Return the notes of a run, in the order in which they were begun; empty: it has none.

    Raises:
        StorageError: the file cannot be read, or does not hold notes.
    """
    path = folder / NOTES
    return read_document(path, CaseNotes).notes if path.is_file() else ()


def readable_notes(folder: Path) -> tuple[CaseNote, ...]:
    """Return the notes of a run; empty also where the file is damaged, which hides no record."""
    try:
        return read_notes(folder)
    except StorageError:
        return ()


def put_note(folder: Path, note: CaseNote) -> tuple[CaseNote, ...]:
    """Write a note over the author's earlier one on the case, or remove that with an empty text.

    Returns:
        All notes of the run.

    Raises:
        StorageError: text or author are too long, or the file cannot be read or written.
    """
    for name, value, most in (("text", note.text, MAX_TEXT), ("author", note.author, MAX_AUTHOR)):
        if len(value) > most:
            got = counted(len(value), "character")
            raise StorageError.of(
                f"{name} of the note", "bound", found=got, expected=f"at most {most:,}"
            )
    path = folder / NOTES
    with Lock(path, wait=True):
        found = {_place(one): one for one in read_notes(folder)}
        if note.text.strip():
            found[_place(note)] = note
        else:
            found.pop(_place(note), None)
        _write(folder, found.values())
    return tuple(found.values())


def put_notes(folder: Path, notes: Iterable[CaseNote]) -> None:
    """Write the notes of several runs into one that consists of them; the last one counts.

    Raises:
        StorageError: the file cannot be written.
    """
    found = {_place(one): one for one in notes}
    if found:
        _write(folder, found.values())


def now() -> str:
    """Return the time of a note: UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _place(note: CaseNote) -> tuple[str, str, int, str]:
    return note.file, note.case_id, note.repeat, note.author


def _write(folder: Path, notes: Iterable[CaseNote]) -> None:
    write_document(folder, NOTES, CaseNotes(notes=tuple(notes)))
