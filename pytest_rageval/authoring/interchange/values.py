"""Input and output values of readers, the same for every format, and values for JSON."""

from __future__ import annotations

import datetime
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from pytest_rageval.project.documents import Document
from pytest_rageval.support.text import shown, whole_text
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.dataclass import dataclass
from pytest_rageval.values.errors import DatasetError, Fault, faults_error
from pytest_rageval.values.json_documents import part

IdStyle = Literal["auto", "keep", "paths"]
"""Conversion of a document id to the path of an anchor: ``keep`` leaves it unchanged, ``paths``
makes a path of a Markdown note below the scope prefix, ``auto`` does so if documents are
included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One file to read."""

    name: str
    """Name for messages, ``/``-separated; includes the folder if one was named."""
    text: str


def _no_file_beside(file: SourceFile, reference: str) -> list[SourceFile]:
    raise fault(file.name, f"{shown(reference)}: there are no further files here")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Options for the files; most formats need none."""

    ids: IdStyle = "auto"
    scope_prefix: str | None = None
    """Folder of the documents; None: the dataset's."""
    set_name: str = "imported"
    """Name of the set, from the file to which the cases are written."""
    split: str | None = None
    """Split of the judgements, if a dataset has several; ``all`` for all."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Column by case field, for tables with other headers."""
    delimiter: str | None = None
    """Delimiter of a table; None: detected."""
    question_var: str | None = None
    """Variable of a prompt that holds the question."""
    with_documents: bool = False
    """Whether the documents of a named dataset are wanted too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Input of a reader."""

    files: tuple[SourceFile, ...]
    names: tuple[str, ...] = ()
    """Datasets of a library, for a format that has no files."""
    options: ReadOptions = ReadOptions()
    beside: Callable[[SourceFile, str], list[SourceFile]] = _no_file_beside
    """Reads the files that another one refers to; raises `DatasetError` if that is not allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A field that was not carried over."""

    field: str
    """Such as ``queries[].assets``."""
    why: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """Output of a reader."""

    cases: tuple[dict[str, Any], ...] = ()
    """Lines of a case file as JSON values, not yet validated."""
    documents: tuple[Document, ...] = ()
    scope_prefix: str | None = None
    """Folder of the documents with its final ``/``; None: there is none."""
    responses: tuple[dict[str, Any], ...] = ()
    """Recorded answers and retrievals: lines for ``rageval score``."""
    thresholds: Mapping[str, str] = field(default_factory=dict)
    """Limits of the dataset by metric, as in ``[overall]`` of thresholds.toml."""
    carried: Mapping[str, int] = field(default_factory=dict)
    """Number of times that a source field became a case field."""
    kept: Mapping[str, int] = field(default_factory=dict)
    """Number of times that a source field was stored in ``metadata``, without effect."""
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    """Notes for the user, one sentence each."""


class Ledger:
    """Counts how every field was handled, so that nothing is dropped silently."""

    def __init__(self) -> None:
        self.carried: Counter[str] = Counter()
        self.kept: Counter[str] = Counter()
        self._left_out: Counter[tuple[str, str]] = Counter()
        self._empty: Counter[str] = Counter()
        self._notes: dict[str, None] = {}

    def carry(self, name: str, count: int = 1) -> None:
        """Count a field carried over to a case or a document."""
        self.carried[name] += count

    def keep(self, name: str, count: int = 1) -> None:
        """Count a field stored in metadata."""
        self.kept[name] += count

    def keep_values(
        self, line: dict[str, Any], room: str, values: Mapping[str, Any], *, prefix: str = ""
    ) -> None:
        """Store values in the metadata of a case, and count each by its name with a prefix."""
        for name, value in values.items():
            keep_in_metadata(line, room, name, value)
            self.keep(f"{prefix}{name}")

    def leave(self, name: str, why: str, count: int = 1) -> None:
        """Count a field that is left out."""
        self._left_out[name, why] += count

    def leave_values(self, given: dict[str, Any], reasons: Mapping[str, str]) -> None:
        """Remove the fields that have a reason to be left out, and count those with a value."""
        for name, why in reasons.items():
            if given.pop(name, None) is not None:
                self.leave(name, why)

    def full(self, given: Mapping[str, Any], empty: Sequence[Any] = (None, "")) -> dict[str, Any]:
        """Return the non-empty fields, and count the empty ones."""
        self._empty.update(name for name, value in given.items() if value in empty)
        return {name: value for name, value in given.items() if value not in empty}

    def note(self, sentence: str) -> None:
        """Add a note, once."""
        self._notes[sentence] = None

    def close(self, **parts: Any) -> Imported:
        """Return the result with all counts."""
        return Imported(
            carried=dict(self.carried),
            kept=dict(self.kept),
            left_out=self.left_out,
            notes=tuple(self._notes),
            **parts,
        )

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Every field left out, in order of first appearance; empty ones as one entry."""
        found = [LeftOut(field=name, why=why, count=n) for (name, why), n in self._left_out.items()]
        if self._empty:
            names = ", ".join(self._empty)
            found.append(LeftOut(field=names, why="empty", count=self._empty.total()))
        return tuple(found)


class Judgements:
    """Grades of a set, without contradictions.

    Args:
        ledger: counts judgements carried over, and repeated ones.
        name: of a judgement in the ledger.
    """

    def __init__(self, ledger: Ledger, name: str) -> None:
        self._ledger = ledger
        self._name = name
        self._places: dict[tuple[str, str], tuple[str, int]] = {}
        self.grades: dict[str, dict[str, int]] = {}
        """Query to document to grade."""
        self.faults: list[Fault] = []

    def add(self, file: SourceFile, line: int, query: str, document: str, grade: int) -> None:
        """Take one judgement; another grade for a judged document is a fault."""
        grades = self.grades.setdefault(query, {})
        if document not in grades:
            grades[document] = grade
            self._places[query, document] = file.name, line
            self._ledger.carry(self._name)
        elif grades[document] == grade:
            self._ledger.leave(self._name, "the same judgement again")
        else:
            name, number = self._places[query, document]
            message = (
                f"{shown(document)} has grade {grade} for {shown(query)}, but {grades[document]} "
                f"at {name}:{number}; expected one grade"
            )
            self.faults.append(Fault(file=file.name, line=line, message=message))

    def leave(self, why: str) -> None:
        """Count the judgements of the queries that no case has taken as left out, not carried."""
        if n := sum(map(len, self.grades.values())):
            self._ledger.carried -= Counter({self._name: n})
            self._ledger.leave(self._name, why, n)


def keep_in_metadata(line: dict[str, Any], room: str, name: str, value: Any) -> None:
    """Store a value under ``metadata.<room>.<name>`` of a case, beside what is there."""
    metadata = line.setdefault("metadata", {})
    held = metadata.get(room, {})
    metadata[room] = {**(held if isinstance(held, dict) else {"own": held}), name: value}


def graded_golds(
    grades: Mapping[str, int], anchor: Callable[[str], dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the golds of judgements: the documents with a grade of at least 1.

    Args:
        grades: document to grade.
        anchor: returns the fields of a gold for a document.
    """
    return [
        {**anchor(name), **({"grade": grade} if grade != 1 else {})}
        for name, grade in grades.items()
        if grade > 0
    ]


def keep_low_grades(
    line: dict[str, Any], room: str, grades: Mapping[str, int], ledger: Ledger, counted_as: str
) -> None:
    """Store the judgements below 1 in the metadata of a case, from where an export takes them."""
    if below := {name: grade for name, grade in grades.items() if grade < 1}:
        keep_in_metadata(line, room, "judged_not_relevant", below)
        ledger.keep(counted_as, len(below))


def case_grades(case: Case, room: str, name_of: Callable[[Anchor], str]) -> dict[str, int]:
    """Return the judgements of a case: document name to grade, including grades below 1."""
    found: dict[str, int] = {}
    for gold in case.gold_supports:
        name = name_of(gold)
        found[name] = max(gold.grade, found.get(name, 0))
    low = part(case.metadata, room, "judged_not_relevant").items()
    return {name: grade for name, grade in low if type(grade) is int} | found


def fault(file: str, message: str, *, line: int = 0, col: int = 0, field: str = "") -> DatasetError:
    """Return an error with one fault."""
    return faults_error([Fault(file=file, line=line, col=col, field=field, message=message)])


# --- values for JSON ------------------------------------------------------------------------


def tidy(value: Any) -> Any:
    """Return a value for JSON: dates become text, NaN and infinities null."""
    if isinstance(value, str):
        return whole_text(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {whole_text(_key(key)): tidy(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [tidy(item) for item in value]
    if isinstance(value, datetime.date | datetime.datetime):
        return value.isoformat()
    return whole_text(str(value))


def json_text(value: object) -> str:
    """Return a value as JSON on one line, in Unicode."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _key(key: object) -> str:
    if isinstance(key, str):
        return key
    return json.dumps(key) if key is None or isinstance(key, bool | int | float) else str(key)


def tidy_counted(value: Any, ledger: Ledger | None) -> Any:
    """Tidy a value and count the losses."""
    found = tidy(value)
    if ledger is not None and found != value:
        for path, is_number in _losses(value, ""):
            if is_number:
                ledger.leave(path or "value", "NaN or infinite, read as null")
            else:
                ledger.note(
                    f"{path or 'value'}: half of a surrogate pair, written as U+FFFD instead"
                )
    return found


def _losses(value: Any, path: str) -> Iterator[tuple[str, bool]]:
    """Yield the path of each number (true) and text (false) that ``tidy`` cannot keep."""
    if isinstance(value, str):
        if whole_text(value) != value:
            yield path, False
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield path, True
    elif isinstance(value, Mapping):
        for key, item in value.items():
            name = whole_text(_key(key))
            inner = f"{path}.{name}" if path else name
            if name != _key(key):
                yield inner, False
            yield from _losses(item, inner)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _losses(item, f"{path}[]")
