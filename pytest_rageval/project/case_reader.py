"""Case files: JSONL text in, checked cases out, and the hashes that name their content.

A file gives all of its cases or one error with all of its faults. What
a line may hold is declared in ``case_fields``; the rules between fields are in ``case_rules``.
"""

from __future__ import annotations

import dataclasses
import gc
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, cast

from pydantic import ValidationError

from pytest_rageval.project.case_fields import CASE_LINE, AnchorLine, CaseLine, what_is_expected
from pytest_rageval.project.case_rules import CASE_WARNINGS, find_faults, find_warnings
from pytest_rageval.support.json_text import Loc, Survey, UnfitJsonError, parse, survey
from pytest_rageval.support.jsonl import Line, cannot_be_read, iterate_lines, open_lines
from pytest_rageval.support.text import cut, did_you_mean
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.errors import DatasetError, Fault

_CANONICAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
_NOT_HASHED: Final = frozenset(
    # The last two decide about the run, not about how their case is asked or scored.
    {"notes", "metadata", "tags", "category", "difficulty", "required", "review"}
)
_ANCHORS: Final = frozenset({"gold_supports", "irrelevant_supports"})
_SHOWN_CHARS: Final = 60
_SHOWN_IDS: Final = 5


@dataclass(frozen=True, kw_only=True)
class LocatedCase:
    """A case and the line it stands on."""

    case: Case
    lineno: int
    """From 1."""

    @cached_property
    def case_hash(self) -> str:
        """``case_hash`` of the case, computed at first use."""
        return case_hash(self.case)


@dataclass(frozen=True, kw_only=True)
class LoadedSet:
    """The cases of one file, in its order."""

    path: Path
    display: str
    """The path as shown to the user and stored in records."""
    cases: tuple[LocatedCase, ...]
    warnings: tuple[str, ...] = ()
    """One line each, with file and first line; one per kind, however many cases it concerns."""

    @cached_property
    def dataset_hash(self) -> str:
        """``dataset_hash`` over the cases, computed at first use."""
        return dataset_hash(located.case_hash for located in self.cases)


# --- hashes --------------------------------------------------------------------------------


def case_hash(case: Case) -> str:
    """Name what of a case changes asking or scoring: 16 hex digits of a SHA-256.

    Left out are notes, metadata, tags, category, difficulty, required and review. A field that
    holds its default counts as absent, so a later version that adds a field keeps the hashes of
    today.
    """
    return _digest(_CANONICAL.encode(_content(case, _CASE_DEFAULTS)))


def dataset_hash(hashes: Iterable[str]) -> str:
    """Name the content of a set, whatever the order of its cases: 16 hex digits.

    Args:
        hashes: ``case_hash`` of every case.
    """
    return _digest("\n".join(sorted(hashes)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]


_CASE_DEFAULTS: Final = {
    one.name: one.default for one in dataclasses.fields(Case) if one.name not in _NOT_HASHED
}
_ANCHOR_DEFAULTS: Final = {one.name: one.default for one in dataclasses.fields(Anchor)}


def _content(value: Case | Anchor, defaults: Mapping[str, Any]) -> dict[str, Any]:
    content = {}
    for name, default in defaults.items():
        item = getattr(value, name)
        if item == default:
            continue
        if isinstance(item, tuple):
            item = [
                _content(part, _ANCHOR_DEFAULTS) if isinstance(part, Anchor) else part
                for part in item
            ]
        content[name] = item
    return content


# --- one case ------------------------------------------------------------------------------


def parse_case(data: Mapping[str, Any]) -> Case:
    """Check one case and make it a value.

    Args:
        data: what one line of a case file holds.

    Raises:
        DatasetError: with every fault of the case.
    """
    try:
        text = json.dumps(dict(data))
    except (TypeError, ValueError, RecursionError) as error:
        raise _error([Fault(message=f"{error}, expected values that JSON can hold")]) from error
    try:
        return _parse_text(text)
    except (ValidationError, ValueError, RecursionError) as error:
        # The positions are those of a text that the caller never saw.
        raise _error(dataclasses.replace(fault, col=0) for fault in _faults_of(text)) from error


def _parse_text(text: str) -> Case:
    line = CASE_LINE.validate_python(parse(text))
    if next(find_faults(line), None) is not None:
        raise UnfitJsonError
    # The dictionary is ours alone, so it is turned into the case's values where it stands.
    given = cast(dict[str, Any], line)
    for name in _ANCHORS & given.keys():
        given[name] = tuple([Anchor(**_tuples(anchor)) for anchor in given[name]])
    return Case(**_tuples(given))


def _tuples(given: dict[str, Any]) -> dict[str, Any]:
    return {name: _tuple(item) if type(item) is list else item for name, item in given.items()}


def _tuple(items: list[Any]) -> tuple[Any, ...]:
    return tuple([_tuple(item) if type(item) is list else item for item in items])


def _error(faults: Iterable[Fault]) -> DatasetError:
    faults = tuple(faults)
    return DatasetError("\n".join(map(str, faults)), faults=faults)


# --- one file ------------------------------------------------------------------------------


class CaseReader:
    """Reads a case file case by case, with one line in memory at a time.

    Args:
        path: a JSONL file in UTF-8; a BOM, CRLF and blank lines are fine.
        display: the path as shown in messages and stored; ``path`` itself by default.
    """

    def __init__(self, path: Path, *, display: str | None = None) -> None:
        self.path = path
        self.display = path.as_posix() if display is None else display
        self.faults: list[Fault] = []
        """What was found wrong so far, in any order."""
        self._first_line: dict[str, int] = {}
        self._concerned: dict[str, _Concerned] = {}

    def __iter__(self) -> Iterator[LocatedCase]:
        """Yield every sound case; read it to the end once, then look at ``faults``.

        Raises:
            DatasetError: the file cannot be read.
        """
        try:
            with open_lines(self.path, self.display) as file:
                for line in iterate_lines(file, self.display, self.faults):
                    case = self._read(line)
                    if case is not None:
                        yield LocatedCase(case=case, lineno=line.number)
        except OSError as error:
            raise cannot_be_read(self.display, error) from error

    def raise_faults(self) -> None:
        """Raise a `DatasetError` with every fault found, if there is one."""
        if self.faults:
            raise _error(sorted(self.faults, key=lambda fault: fault.line))

    @property
    def warnings(self) -> tuple[str, ...]:
        """One line per kind of warning, however many of the cases read it concerns."""
        return tuple(
            f"{self.display}:{found.lineno}: {CASE_WARNINGS[kind]}: {found}"
            for kind, found in self._concerned.items()
        )

    def _read(self, line: Line) -> Case | None:
        case: Case | None = None
        found: list[Fault] = []
        try:
            case = _parse_text(line.text)
        except (ValidationError, ValueError, RecursionError):
            found = _faults_of(line.text)
        case_id = _raw_id(line.text) if case is None else case.id
        if case_id is not None:
            first = self._first_line.setdefault(case_id, line.number)
            if first != line.number:
                found.append(_duplicate_id(line.text, case_id, first))
        if not found and case is not None:
            for kind in find_warnings(case):
                concerned = self._concerned.setdefault(kind, _Concerned(lineno=line.number))
                concerned.add(case.id)
            return case
        found.sort(key=lambda fault: fault.col)
        numbered = (dataclasses.replace(f, file=self.display, line=line.number) for f in found)
        self.faults.extend(numbered)
        return None


@dataclass(slots=True, kw_only=True)
class _Concerned:
    """The cases that a warning is about: the first few by name, the rest by number."""

    lineno: int
    shown: list[str] = field(default_factory=list)
    n: int = 0

    def add(self, case_id: str) -> None:
        self.n += 1
        if len(self.shown) < _SHOWN_IDS:
            self.shown.append(case_id)

    def __str__(self) -> str:
        more = f" and {self.n - len(self.shown)} more" if self.n > len(self.shown) else ""
        return ", ".join(self.shown) + more


def load_cases(path: Path, *, display: str | None = None) -> LoadedSet:
    """Read a case file whole.

    Args:
        path: a JSONL file in UTF-8; a BOM, CRLF and blank lines are fine.
        display: the path as shown in messages and stored; ``path`` itself by default.

    Raises:
        DatasetError: with every fault of the file, one a line as
            ``file:line:col: field: what came, what was expected``.
    """
    reader = CaseReader(path, display=display)
    cases = tuple(reader)
    reader.raise_faults()
    return LoadedSet(path=path, display=reader.display, cases=cases, warnings=reader.warnings)


def _raw_id(text: str) -> str | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    found = value.get("id") if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def _duplicate_id(text: str, case_id: str, first: int) -> Fault:
    col = survey(text).values["id",] + 1
    message = f"{_shown(case_id)} is already the id of line {first}, expected a unique id"
    return Fault(col=col, field="id", message=message)


# --- what is wrong with a line -------------------------------------------------------------


def _faults_of(text: str) -> list[Fault]:
    """Name every fault of a line that ``_parse_text`` refused: at least one, by column."""
    faults = sorted(_diagnose(text), key=lambda fault: fault.col)
    return faults or [Fault(message="cannot be read, expected a case")]


def _diagnose(text: str) -> Iterator[Fault]:
    try:
        seen = survey(text)
    except (ValueError, RecursionError) as error:
        yield _syntax_fault(error)
        return
    for loc, offset, message in seen.unfit:
        yield Fault(col=offset + 1, field=_field(loc), message=message)
    if not isinstance(seen.value, dict):
        col = seen.values[()] + 1
        yield Fault(col=col, message=f"{_shown(seen.value)}, expected a JSON object")
        return
    faulty: set[int | str] = set()
    try:
        line = CASE_LINE.validate_python(seen.value)
    except ValidationError as error:
        for detail in error.errors(include_url=False, include_context=False):
            loc = detail["loc"]
            faulty.add(loc[0])
            if detail["type"] != "string_unicode":  # the survey has it
                yield _type_fault(loc, detail["type"], detail["input"], seen)
        line = _sound_part(seen.value, faulty)
    for loc, message in find_faults(line):
        if loc[0] not in faulty:
            yield Fault(col=seen.values[loc] + 1, field=_field(loc), message=message)


def _syntax_fault(error: ValueError | RecursionError) -> Fault:
    if isinstance(error, json.JSONDecodeError):
        return Fault(col=error.colno, message=f"{error.msg}, expected one JSON object")
    # The other ValueError is an integer beyond Python's limit of digits.
    came = "nested too deeply" if isinstance(error, RecursionError) else "a number is too long"
    return Fault(message=f"{came}, expected one JSON object")


def _sound_part(value: dict[str, Any], faulty: set[int | str]) -> CaseLine:
    """Keep the fields without fault, so that the rules between them are checked all the same."""
    if "gold_supports" in faulty:  # its indices cannot be judged
        faulty = faulty | {"required_support_groups"}
    sound = {name: item for name, item in value.items() if name not in faulty}
    return CASE_LINE.validate_python({"id": "-", "question": "-"} | sound)


def _type_fault(loc: Loc, kind: str, came: Any, seen: Survey) -> Fault:
    if kind == "extra_forbidden":
        return Fault(col=seen.keys[loc] + 1, field=_field(loc), message=_unknown_field(loc))
    expected, choices = what_is_expected(loc)
    if kind == "missing":
        col = seen.values[loc[:-1]] + 1
        return Fault(col=col, field=_field(loc), message=f"missing, expected {expected}")
    hint = did_you_mean(came, choices)
    message = f"{_shown(came)}, expected {expected}{hint}"
    return Fault(col=seen.values[loc] + 1, field=_field(loc), message=message)


def _unknown_field(loc: Loc) -> str:
    known = (CaseLine if len(loc) == 1 else AnchorLine).__annotations__
    hint = did_you_mean(loc[-1], known) or f", expected one of {', '.join(known)}"
    return f"unknown field{hint}"


def _field(loc: Loc) -> str:
    """Write a way as ``gold_supports[0].grade``."""
    text = ""
    for part in loc:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part if part.isidentifier() else _shown(part)
            text += f".{name}" if text else name
    return text


def _shown(value: Any) -> str:
    """Write a value as in JSON, on one line, harmless to a terminal and not long."""
    text = json.dumps(value, ensure_ascii=False)
    text = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in text[:200])
    return cut(text)


def read_set(path: Path, rootdir: Path) -> LoadedSet | DatasetError:
    """Load a case file; faults are returned, not raised, because they are shown later."""
    file = path.relative_to(rootdir).as_posix() if path.is_relative_to(rootdir) else str(path)
    try:
        with without_gc():
            return load_cases(path, display=file)
    except DatasetError as error:
        return error


@contextmanager
def without_gc() -> Iterator[None]:
    """Look for no garbage while a great many objects are made that all stay.

    Python looks whenever enough are new, among all that there are: at 100,000 cases that takes
    longer than making them.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
