"""What readers are given and what they return, the same for every format."""

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
"""How a foreign document id becomes the path of an anchor: ``keep`` takes it as it is, ``paths``
makes a path of a Markdown note below the scope prefix, ``auto`` does so where documents come
along."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One file to read."""

    name: str
    """As shown in messages, ``/``-separated; below a folder that was named, with that folder."""
    text: str


def _no_file_beside(file: SourceFile, reference: str) -> SourceFile:
    raise fault(file.name, f"{shown(reference)}: there are no further files here")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """What a user may say of the files; most formats need none of it."""

    ids: IdStyle = "auto"
    scope_prefix: str | None = None
    """Folder that documents are put under; None: the dataset's own."""
    set_name: str = "imported"
    """Name of the set, from the file that the cases go to."""
    split: str | None = None
    """Part of the judgements of a dataset that has several; ``all`` for every one."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Field of a case to column, for tables whose headers say something else."""
    delimiter: str | None = None
    """Of a table; None: found out."""
    question_var: str | None = None
    """Variable of a prompt that holds the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Everything that a reader reads."""

    files: tuple[SourceFile, ...]
    options: ReadOptions = ReadOptions()
    beside: Callable[[SourceFile, str], SourceFile] = _no_file_beside
    """Reads a file that another one refers to; raises `DatasetError` where it may not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A field that was not carried over."""

    field: str
    """Such as ``queries[].assets``."""
    why: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What a reader made of its files."""

    cases: tuple[dict[str, Any], ...] = ()
    """Lines of a case file as JSON values; not checked yet."""
    documents: tuple[Document, ...] = ()
    scope_prefix: str | None = None
    """Folder of the documents with its final ``/``; None: they have none."""
    responses: tuple[dict[str, Any], ...] = ()
    """Recorded answers and retrievals: lines that ``rageval score`` reads."""
    thresholds: Mapping[str, str] = field(default_factory=dict)
    """Limits of the dataset: metric to limit, as in ``[overall]`` of thresholds.toml."""
    carried: Mapping[str, int] = field(default_factory=dict)
    """Field of the source to how often it became a field of a case."""
    kept: Mapping[str, int] = field(default_factory=dict)
    """Field of the source to how often it went into ``metadata``, where it changes nothing."""
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences on what a user should know."""


class Ledger:
    """Counts what became of every field, so that nothing is dropped in silence."""

    def __init__(self) -> None:
        self.carried: Counter[str] = Counter()
        self.kept: Counter[str] = Counter()
        self._left_out: Counter[tuple[str, str]] = Counter()
        self._empty: Counter[str] = Counter()
        self._notes: dict[str, None] = {}

    def carry(self, name: str, count: int = 1) -> None:
        """Count a field that became one of a case or a document."""
        self.carried[name] += count

    def keep(self, name: str, count: int = 1) -> None:
        """Count a field that went into metadata."""
        self.kept[name] += count

    def leave(self, name: str, why: str, count: int = 1) -> None:
        """Count a field that goes no further."""
        self._left_out[name, why] += count

    def full(self, given: Mapping[str, Any], empty: Sequence[Any] = (None, "")) -> dict[str, Any]:
        """Return the fields that hold something, and count those that are empty."""
        self._empty.update(name for name, value in given.items() if value in empty)
        return {name: value for name, value in given.items() if value not in empty}

    def note(self, sentence: str) -> None:
        """Say something, once."""
        self._notes[sentence] = None

    def close(self, **parts: Any) -> Imported:
        """Return what was read with all that was counted."""
        return Imported(
            carried=dict(self.carried),
            kept=dict(self.kept),
            left_out=self.left_out,
            notes=tuple(self._notes),
            **parts,
        )

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Every field that was left out, in the order of first appearance; empty ones in one."""
        found = [
            LeftOut(field=name, why=why, count=count)
            for (name, why), count in self._left_out.items()
        ]
        if self._empty:
            names = ", ".join(self._empty)
            found.append(LeftOut(field=names, why="empty", count=self._empty.total()))
        return tuple(found)


def keep_in_metadata(line: dict[str, Any], room: str, name: str, value: Any) -> None:
    """Put a value under ``metadata.<room>.<name>`` of a case."""
    line.setdefault("metadata", {}).setdefault(room, {})[name] = value


def judged_not_relevant(case: Case, room: str) -> dict[str, int]:
    """Return the grades below 1 that a case came with; anything else that stands there is none."""
    kept = case.metadata.get(room)
    found = kept.get("judged_not_relevant") if isinstance(kept, dict) else None
    grades = found if isinstance(found, dict) else {}
    return {name: grade for name, grade in grades.items() if type(grade) is int}


def fault(file: str, message: str, *, line: int = 0, col: int = 0, field: str = "") -> DatasetError:
    """Return an error of one fault."""
    return faults_error([Fault(file=file, line=line, col=col, field=field, message=message)])


def _defaults(kind: type[Case | Anchor]) -> dict[str, Any]:
    return {
        one.name: one.default_factory() if one.default_factory is not MISSING else one.default
        for one in fields(kind)
    }


_CASE: Final = _defaults(Case)
_ANCHOR: Final = _defaults(Anchor)


def case_line(case: Case) -> dict[str, Any]:
    """Return the fields of a case that say something, as JSON values."""
    return _said(case, _CASE)


def anchor_line(anchor: Anchor) -> dict[str, Any]:
    """Return the fields of an anchor that say something, as JSON values."""
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
