"""Case files read for editing: every case with the line it came from, unknown keys and all."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from pytest_rageval.project.case_file_edit import FileLine, FileLines, read_file_lines
from pytest_rageval.project.case_reader import json_object, parse_case
from pytest_rageval.support.jsonl import one_for_values, repeated_id
from pytest_rageval.support.text import part
from pytest_rageval.values.case import CASE_FIELDS, TURN_FIELDS, Anchor, Case
from pytest_rageval.values.errors import DatasetError, Fault, faults_error
from pytest_rageval.values.json_documents import items, word

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
