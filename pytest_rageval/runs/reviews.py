"""Writings of people about a run: verdicts on answers by reviewer, and notes on cases.

``reviews/NAME.jsonl`` is the file of one reviewer, append-only: a complete line is never changed.
``notes.json`` has one note of each author on a case and repeat. Sessions never write either, so
that a run that is resumed or judged again keeps them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from pytest_rageval.analysis.review import (
    ReviewFindings,
    read_records,
    readable_record,
    record_key,
    review_findings,
)
from pytest_rageval.metrics.matching import text_hash
from pytest_rageval.runs.documents import decoded, encode_line
from pytest_rageval.runs.store import read_document, write_document
from pytest_rageval.support.files import Lock, named_errors, open_plain
from pytest_rageval.support.json_text import is_json
from pytest_rageval.support.jsonl import append_line
from pytest_rageval.support.text import counted
from pytest_rageval.values.errors import Fault, StorageError
from pytest_rageval.values.run import (
    AnswerReview,
    CaseNote,
    CaseNotes,
    CategoryChange,
    ReviewLine,
    StoredRun,
)

REVIEWS: Final = "reviews"
"""Folder of the files; no file in it is a case file."""
# Prepared here, since msgspec crashes where several threads convert to a new type at once.
_DECODER: Final = msgspec.json.Decoder(ReviewLine)


def reviews_folder(source: Path) -> Path:
    """Return the folder of the reviewers of a run's folder, or of a file of answers."""
    return source.parent / REVIEWS / source.stem if source.is_file() else source / REVIEWS


def read_reviews(source: Path) -> dict[str, tuple[ReviewLine, ...]]:
    """Return the lines of every reviewer by name; a last line that is cut short is left out.

    Raises:
        StorageError: a file cannot be read, or with every broken line.
    """
    found: dict[str, tuple[ReviewLine, ...]] = {}
    faults: list[Fault] = []
    for path in sorted(reviews_folder(source).glob("*.jsonl")):
        with named_errors(path, StorageError, "unreadable"), open_plain(path) as file:
            lines = file.read().split(b"\n")
        read = []
        for number, line in enumerate(lines, 1):
            # Without its line end the writer was killed.
            if not line.strip() or (number == len(lines) and not is_json(line)):
                continue
            try:
                read.append(decoded(line, _DECODER))
            except StorageError as error:
                facts = {"reason": str(error)}
                faults.append(
                    Fault(code="broken_review", facts=facts, file=path.as_posix(), line=number)
                )
        found[path.stem] = tuple(read)
    if faults:
        raise StorageError.of_faults(faults)
    return found


def readable_reviews(source: Path) -> dict[str, tuple[ReviewLine, ...]]:
    """Return the lines of every reviewer; empty also where a file is damaged, as for a report."""
    try:
        return read_reviews(source)
    except StorageError:
        return {}


def append_review(source: Path, reviewer: str, what: AnswerReview | CategoryChange) -> ReviewLine:
    """Write a verdict, or a change of a category, to the disk at once.

    Raises:
        StorageError: it cannot be written.
    """
    line = ReviewLine(
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        review=what if isinstance(what, AnswerReview) else None,
        category=what if isinstance(what, CategoryChange) else None,
    )
    path = reviews_folder(source) / f"{reviewer}.jsonl"
    with named_errors(path, StorageError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with Lock(path, wait=True):
            append_line(path, encode_line(line))
    return line


def join_reviews(folder: Path, parts: Iterable[Path]) -> None:
    """Write the reviews of several runs into one that consists of them.

    Raises:
        StorageError: a file cannot be written.
    """
    for part in parts:
        for name, lines in readable_reviews(part).items():
            path = reviews_folder(folder) / f"{name}.jsonl"
            with named_errors(path, StorageError):
                path.parent.mkdir(parents=True, exist_ok=True)
                for line in lines:
                    append_line(path, encode_line(line))


def findings_of_run(run: StoredRun) -> ReviewFindings | None:
    """Return the findings of readers of a run; None: nobody has read it, or a file is damaged."""
    lines = readable_reviews(run.folder)
    read = {line.review.key for of in lines.values() for line in of if line.review is not None}
    if not read:
        return None
    records = {record_key(one): one for one in read_records(run.records)}
    # Only of these is the text of the answer needed.
    hashes = {key: text_hash(run.whole(records[key]).answer or "") for key in read & set(records)}
    answers = {key: readable_record(one) for key, one in records.items()}
    return review_findings(lines, hashes, answers)


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
