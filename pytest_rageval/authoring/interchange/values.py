"""Input and output values of readers, the same for every format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Final, Literal

from pytest_rageval.project.documents import Document
from pytest_rageval.support.text import shown
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.errors import DatasetError, Fault, faults_error

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


def _no_file_beside(file: SourceFile, reference: str) -> SourceFile:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Input of a reader."""

    files: tuple[SourceFile, ...]
    options: ReadOptions = ReadOptions()
    beside: Callable[[SourceFile, str], SourceFile] = _no_file_beside
    """Reads a file that another one refers to; raises `DatasetError` if that is not allowed."""


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

    def leave(self, name: str, why: str, count: int = 1) -> None:
        """Count a field that is left out."""
        self._left_out[name, why] += count

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
        found = [
            LeftOut(field=name, why=why, count=count)
            for (name, why), count in self._left_out.items()
        ]
        if self._empty:
            names = ", ".join(self._empty)
            found.append(LeftOut(field=names, why="empty", count=self._empty.total()))
        return tuple(found)


def keep_in_metadata(line: dict[str, Any], room: str, name: str, value: Any) -> None:
    """Store a value under ``metadata.<room>.<name>`` of a case."""
    line.setdefault("metadata", {}).setdefault(room, {})[name] = value


def judged_not_relevant(case: Case, room: str) -> dict[str, int]:
    """Return the grades below 1 from the metadata of a case; other values are ignored."""
    kept = case.metadata.get(room)
    found = kept.get("judged_not_relevant") if isinstance(kept, dict) else None
    grades = found if isinstance(found, dict) else {}
    return {name: grade for name, grade in grades.items() if type(grade) is int}


def fault(file: str, message: str, *, line: int = 0, col: int = 0, field: str = "") -> DatasetError:
    """Return an error with one fault."""
    return faults_error([Fault(file=file, line=line, col=col, field=field, message=message)])


def _defaults(kind: type[Case | Anchor]) -> dict[str, Any]:
    return {
        one.name: one.default_factory() if one.default_factory is not MISSING else one.default
        for one in fields(kind)
    }


_CASE: Final = _defaults(Case)
_ANCHOR: Final = _defaults(Anchor)


def case_line(case: Case) -> dict[str, Any]:
    """Return the fields of a case that differ from the defaults, as JSON values."""
    return _said(case, _CASE)


def anchor_line(anchor: Anchor) -> dict[str, Any]:
    """Return the fields of an anchor that differ from the defaults, as JSON values."""
    return _said(anchor, _ANCHOR)


def _said(value: Case | Anchor, defaults: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _plain(getattr(value, name))
        for name, default in defaults.items()
        if getattr(value, name) != default
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Anchor):
        return anchor_line(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return dict(value) if isinstance(value, dict) else value
