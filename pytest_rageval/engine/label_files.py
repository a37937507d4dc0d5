"""Label files: answers with what people said of them, read from JSONL.

A file gives all of its rows or one error with all of its faults.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pytest_rageval.analysis.trust.calibration import (
    LABELS,
    LEFT_OUT,
    CalibrationRubric,
    LabelledAnswer,
)
from pytest_rageval.support.json_text import parse, survey
from pytest_rageval.support.jsonl import cannot_be_read, iterate_lines, open_lines
from pytest_rageval.support.text import did_you_mean, shown_json
from pytest_rageval.values.errors import DatasetError, Fault

_EXPECTED: Final = 'expected {"id": ..., "question": ..., "answer": ..., "label": ...}'
_TEXTS: Final = {
    "id": "a string that is not blank",
    "question": "a string",
    "answer": "a string that is not blank",
    "context": "a string or null",
    "source": "a string that is not blank",
}
_REQUIRED: Final = frozenset({"id", "question", "answer"})
_MAY_BE_BLANK: Final = frozenset({"question", "context"})
_LISTS: Final = ("history", "reference")


def load_labels(
    path: Path, rubric: CalibrationRubric, *, display: str | None = None
) -> tuple[LabelledAnswer, ...]:
    """Read a label file whole.

    Every line is an object with ``id``, ``question`` (may be empty), ``answer`` and ``label``, and
    where known ``context``, ``history``, ``reference`` and ``source`` (by default the name of the
    file); other fields are ignored.

    Args:
        path: a JSONL file in UTF-8; a BOM, CRLF and blank lines are fine.
        rubric: which labels are expected.
        display: the path as shown in messages; ``path`` itself by default.

    Raises:
        DatasetError: with every fault of the file, one a line, or it holds no row.
    """
    display = path.as_posix() if display is None else display
    faults: list[Fault] = []
    rows: list[LabelledAnswer] = []
    reader = _Reader(rubric, path.stem)
    try:
        with open_lines(path, display) as file:
            for line in iterate_lines(file, display, faults):
                row, found = reader.read(line.text, line.number)
                faults += [replace(fault, file=display, line=line.number) for fault in found]
                if row is not None:
                    rows.append(row)
    except OSError as error:
        raise cannot_be_read(display, error) from error
    if not rows and not faults:
        faults.append(Fault(file=display, message=f"holds no line, {_EXPECTED}"))
    if faults:
        faults.sort(key=lambda fault: (fault.line, fault.col))
        raise DatasetError("\n".join(map(str, faults)), faults=tuple(faults))
    return tuple(rows)


class _Reader:
    """Reads line after line and remembers the ids."""

    def __init__(self, rubric: CalibrationRubric, source: str) -> None:
        self._rubric = rubric
        self._source = source
        self._first_line: dict[str, int] = {}

    def read(self, text: str, number: int) -> tuple[LabelledAnswer | None, list[Fault]]:
        try:
            # Only a faulty line is walked to find out where.
            row = self._sound_row(parse(text), number)
            if row is not None:
                return row, []
        except (ValueError, RecursionError):
            pass
        return None, self._faults(text, number)

    def _sound_row(self, entry: object, number: int) -> LabelledAnswer | None:
        if not isinstance(entry, dict) or any(self._field_faults(entry, number)):
            return None
        return self._row(entry)

    def _field_faults(self, entry: Mapping[str, Any], number: int) -> Iterator[Fault]:
        yield from _text_faults(entry)
        yield from _list_faults(entry)
        yield from self._label_faults(entry)
        yield from self._id_faults(entry, number)

    def _faults(self, text: str, number: int) -> list[Fault]:
        try:
            seen = survey(text)
        except (ValueError, RecursionError) as error:
            return [_syntax_fault(error)]
        faults = [
            Fault(col=offset + 1, field=str(loc[0]) if loc else "", message=message)
            for loc, offset, message in seen.unfit
        ]
        entry = seen.value
        if not isinstance(entry, dict):
            message = f"{shown_json(entry)}, {_EXPECTED}"
            return [*faults, Fault(col=seen.values[()] + 1, message=message)]
        start = seen.values[()]
        return faults + [
            replace(fault, col=seen.values.get((fault.field,), start) + 1)
            for fault in self._field_faults(entry, number)
        ]

    def _row(self, entry: Mapping[str, Any]) -> LabelledAnswer:
        return LabelledAnswer(
            id=entry["id"],
            label=entry["label"],
            answer=entry["answer"],
            question=entry["question"],
            context=entry.get("context"),
            history=tuple(entry.get("history") or ()),
            reference=tuple(entry.get("reference") or ()),
            source=entry.get("source") or self._source,
        )

    def _label_faults(self, entry: Mapping[str, Any]) -> Iterator[Fault]:
        label = entry.get("label")
        known = (*LABELS[self._rubric], *LEFT_OUT.get(self._rubric, ()))
        if label in known:
            return
        came, hint = "missing" if "label" not in entry else shown_json(label), ""
        if isinstance(label, str):
            homes = [rubric for rubric, labels in LABELS.items() if label in labels]
            hint = f", or --rubric {homes[0]}" if homes else did_you_mean(label, known)
        yield Fault(field="label", message=f"{came}, expected {_one_of(known)}{hint}")

    def _id_faults(self, entry: Mapping[str, Any], number: int) -> Iterator[Fault]:
        row_id = entry.get("id")
        if isinstance(row_id, str) and row_id.strip():
            first = self._first_line.setdefault(row_id, number)
            if first != number:
                message = (
                    f"{shown_json(row_id)} is already the id of line {first}, expected a unique id"
                )
                yield Fault(field="id", message=message)


def _text_faults(entry: Mapping[str, Any]) -> Iterator[Fault]:
    for name, expected in _TEXTS.items():
        value = entry.get(name)
        if name not in entry:
            if name in _REQUIRED:
                yield Fault(field=name, message=f"missing, expected {expected}")
        elif value is None and name not in _REQUIRED:
            continue
        elif not isinstance(value, str) or not (value.strip() or name in _MAY_BE_BLANK):
            yield Fault(field=name, message=f"{shown_json(value)}, expected {expected}")


def _list_faults(entry: Mapping[str, Any]) -> Iterator[Fault]:
    for name in _LISTS:
        value = entry.get(name)
        sound = isinstance(value, list) and all(isinstance(item, str) for item in value)
        if value is not None and not sound:
            yield Fault(field=name, message=f"{shown_json(value)}, expected a list of strings")


def _syntax_fault(error: ValueError | RecursionError) -> Fault:
    if isinstance(error, json.JSONDecodeError):
        return Fault(col=error.colno, message=f"{error.msg}, {_EXPECTED}")
    came = "nested too deeply" if isinstance(error, RecursionError) else "a number is too long"
    return Fault(message=f"{came}, {_EXPECTED}")


def _one_of(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"
