"""Input and output values of readers, the same for every format, and values for JSON."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pytest_rageval.project.documents import Document
from pytest_rageval.support.text import shown, whole_text
from pytest_rageval.values.diagnoses.table import Fact
from pytest_rageval.values.errors import DatasetError, Fault, faults_error

_MISSING: Final = frozenset(
    "nan NaN NAN -nan -NaN NaT <NA> None null NULL N/A n/a #N/A #NA #NV #N/D #Н/Д "
    "1.#IND 1.#QNAN -1.#IND -1.#QNAN".split()
)
_SHEET: Final = re.compile(r"#[¡¿]?(?!\w*[a-z])[^\W\d_][\w/]*[!?]|#GETTING_DATA|Err:\d{3}")
"""Error of a spreadsheet in any language, such as ``#REF!`` or ``#WERT!``."""
CARRIED: Final = "carried over"
KEPT: Final = "kept in metadata"
COUNTED: Final = "counted where it is converted"
"""Fates of a field besides being left out, which is its reason."""
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
    raise fault(file.name, "no_further_file", found=shown(reference))


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
    with_responses: bool = False
    """Whether recorded responses are wanted, and not cases alone."""
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
    """Folder of the documents with its final ``/``; None if absent."""
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

    def take(self, other: Ledger, *, prefix: str) -> None:
        """Take the notes of another ledger, and what it carried and kept under longer names."""
        self._notes |= other._notes
        for ours, theirs in ((self.carried, other.carried), (self.kept, other.kept)):
            ours.update({f"{prefix}{name}": count for name, count in theirs.items()})

    def leave(self, name: str, why: str, count: int = 1) -> None:
        """Count a field that is left out."""
        self._left_out[name, why] += count

    def leave_values(self, given: dict[str, Any], reasons: Mapping[str, str]) -> None:
        """Remove the fields that have a reason to be left out, and count those with a value."""
        for name, why in reasons.items():
            if given.pop(name, None) is not None:
                self.leave(name, why)

    def account(
        self, value: Any, fates: Mapping[str, str], path: str = "", fate: str = COUNTED
    ) -> None:
        """Count every field of a document by the fate that a map declares.

        Args:
            value: a document, or a part of it.
            fates: fate by path, such as ``queries[].id``; that of ``queries[].*`` is for the other
                fields. An object or a list is one field unless the map has paths inside it.
            path: of the value.
            fate: of the value.
        """
        before = f"{path}." if path else ""
        if isinstance(value, dict) and f"{before}*" in fates:
            for name, item in value.items():
                inner = f"{before}{name}"
                self.account(item, fates, inner, fates.get(inner, fates[f"{before}*"]))
        elif isinstance(value, list) and not {f"{path}[]", f"{path}[].*"}.isdisjoint(fates):
            for item in value:
                self.account(item, fates, f"{path}[]", fates.get(f"{path}[]", "not an object"))
        elif fate == COUNTED:
            return
        elif is_missing(value):
            self._empty[path] += 1
        elif fate == CARRIED:
            self.carry(path)
        elif fate == KEPT:
            self.keep(path)
        else:
            self.leave(path, fate)

    def full(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields with a value, and count those without, as ``is_missing`` says."""
        found = {name: value for name, value in given.items() if not is_missing(value)}
        self._empty.update([name for name in given if name not in found])
        return found

    def note(self, sentence: str) -> None:
        """Add a note, once."""
        self._notes[sentence] = None

    def close(self, **parts: Any) -> Imported:
        """Return the result with all counts."""
        return Imported(
            carried=dict(+self.carried),
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


def keep_in_metadata(line: dict[str, Any], room: str, name: str, value: Any) -> None:
    """Store a value under ``metadata.<room>.<name>`` of a case, beside what is there."""
    metadata = line.setdefault("metadata", {})
    held = metadata.get(room, {})
    metadata[room] = {**(held if isinstance(held, dict) else {"own": held}), name: value}


NOT_BLANK: Final = "a text that is not blank"


def fault(
    file: str, code: str, /, *, line: int = 0, field: str = "", **facts: Fact
) -> DatasetError:
    """Return an error with one fault."""
    return faults_error([Fault(code=code, facts=facts, file=file, line=line, field=field)])


def unfit(
    file: SourceFile, value: object, expected: str, *, line: int = 0, field: str = ""
) -> DatasetError:
    """Return an error with one value that is absent or not what was expected."""
    if value is None:
        return fault(file.name, "missing", line=line, field=field, expected=expected)
    return fault(file.name, "value", line=line, field=field, found=shown(value), expected=expected)


# --- values for JSON ------------------------------------------------------------------------


def tidy(value: Any, ledger: Ledger | None = None, path: str = "") -> Any:
    """Return a value for JSON: dates become text, NaN and infinities null.

    Args:
        value: of any type.
        ledger: counts what is lost; None: nothing is counted.
        path: of the value, for the ledger.
    """
    if isinstance(value, str):
        return _whole(value, ledger, path)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        if ledger is not None:
            ledger.leave(path or "value", "NaN or infinite, read as null")
        return None
    if isinstance(value, Mapping):
        before = f"{path}." if path else ""
        names = {key: whole_text(_key(key)) for key in value}
        return {
            _whole(_key(key), ledger, before + name): tidy(value[key], ledger, before + name)
            for key, name in names.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [tidy(item, ledger, f"{path}[]") for item in value]
    if isinstance(value, datetime.date | datetime.datetime):
        return value.isoformat()
    return whole_text(str(value))


def _whole(text: str, ledger: Ledger | None, path: str) -> str:
    found = whole_text(text)
    if found != text and ledger is not None:
        ledger.note(f"{path or 'value'}: half of a surrogate pair, written as U+FFFD instead")
    return found


def listed(value: Any) -> list[Any]:
    """Return a list as it is, and another value as the one item of a list; null has none."""
    return value if isinstance(value, list) else [] if value is None else [value]


def is_missing(value: object) -> bool:
    """Whether a value stands for a missing one.

    So do null, blank texts, empty lists and objects, lists of nothing else, and the words of data
    frames, databases and spreadsheets for them, such as ``nan``, ``NULL`` and ``#REF!``.
    """
    if isinstance(value, str):
        text = value.strip()
        return not text or text in _MISSING or bool(_SHEET.fullmatch(text))
    if isinstance(value, list | tuple | dict):
        return not value or (not isinstance(value, dict) and all(map(is_missing, value)))
    return value is None or value != value  # NaN


def json_text(value: object) -> str:
    """Return a value as JSON on one line, in Unicode."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _key(key: object) -> str:
    if isinstance(key, str):
        return key
    return json.dumps(key) if key is None or isinstance(key, bool | int | float) else str(key)
