"""People's labels of cases of a run, read from JSONL: all of them or one error with all faults."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pytest_rageval.analysis.trust.judge import SCALE
from pytest_rageval.analysis.trust.reliability import LABELLED, HumanLabel, JudgeLabels
from pytest_rageval.metrics.judged import valid_score
from pytest_rageval.support.json_text import parse, survey
from pytest_rageval.support.jsonl import read_lines
from pytest_rageval.support.text import shown_json
from pytest_rageval.values.errors import DatasetError, Fault

_EXPECTED: Final = 'expected {"id": case id, "rubric": "groundedness", "label": 4}'
_TEXT: Final = "a string that is not blank"


def load_judge_labels(path: Path, *, display: str | None = None) -> JudgeLabels:
    """Read a label file whole.

    Every line is an object with ``id`` (of a case), ``rubric`` (``groundedness`` or
    ``correctness``) and ``label`` (a score from 0 to 5, or true or false), and ``file`` (the case
    file) where an id stands in several; other fields are ignored. The labels of one rubric are
    all of one kind.

    Args:
        path: a JSONL file in UTF-8; a BOM, CRLF and blank lines are fine.
        display: the path as shown in messages; ``path`` itself by default.

    Raises:
        DatasetError: with every fault of the file, one a line, or it holds no label.
    """
    display = path.as_posix() if display is None else display
    lines, faults = read_lines(path, display)
    labels: list[HumanLabel] = []
    kinds: dict[str, HumanLabel] = {}
    for number, text in lines:
        label, found = _read(text, number)
        if label is not None:
            first = kinds.setdefault(label.rubric, label)
            found += list(_kind_faults(label, first))
            labels.append(label)
        faults += [replace(fault, file=display, line=number) for fault in found]
    if not lines and not faults:
        faults.append(Fault(file=display, message=f"holds no line, {_EXPECTED}"))
    if faults:
        faults.sort(key=lambda fault: (fault.line, fault.col))
        raise DatasetError("\n".join(map(str, faults)), faults=tuple(faults))
    return JudgeLabels(labels=tuple(labels), display=display)


def _read(text: str, number: int) -> tuple[HumanLabel | None, list[Fault]]:
    try:
        entry = parse(text)
    except (ValueError, RecursionError):
        return None, list(_syntax_faults(text))
    if not isinstance(entry, dict):
        return None, [Fault(message=f"{shown_json(entry)}, {_EXPECTED}")]
    faults = list(_field_faults(entry))
    if faults:
        return None, faults
    label = entry["label"]
    return HumanLabel(
        case_id=entry["id"],
        rubric=entry["rubric"],
        label=label if isinstance(label, bool) else float(label),
        file=entry.get("file"),
        line=number,
    ), []


def _syntax_faults(text: str) -> Iterator[Fault]:
    try:
        for loc, offset, message in survey(text).unfit:
            yield Fault(col=offset + 1, field=str(loc[0]) if loc else "", message=message)
    except json.JSONDecodeError as error:
        yield Fault(col=error.colno, message=f"{error.msg}, {_EXPECTED}")
    except (ValueError, RecursionError):
        yield Fault(message=f"cannot be read, {_EXPECTED}")


def _field_faults(entry: Mapping[str, Any]) -> Iterator[Fault]:
    for name in ("id", "file"):
        value = entry.get(name)
        if name == "file" and value is None:
            continue
        if not isinstance(value, str) or not value.strip():
            yield Fault(field=name, message=f"{_came(entry, name)}, expected {_TEXT}")
    if entry.get("rubric") not in LABELLED:
        known = " or ".join(json.dumps(rubric) for rubric in LABELLED)
        yield Fault(field="rubric", message=f"{_came(entry, 'rubric')}, expected {known}")
    label = entry.get("label")
    if not isinstance(label, bool) and valid_score(label, SCALE) is None:
        expected = f"a number from {SCALE[0]:g} to {SCALE[1]:g}, or true or false"
        yield Fault(field="label", message=f"{_came(entry, 'label')}, expected {expected}")


def _kind_faults(label: HumanLabel, first: HumanLabel) -> Iterator[Fault]:
    if isinstance(label.label, bool) == isinstance(first.label, bool):
        return
    kind = "true or false" if isinstance(first.label, bool) else "a score"
    yield Fault(
        field="label",
        message=f"{shown_json(label.label)}, expected {kind} as in line {first.line}: the labels "
        f"of {label.rubric} are all of one kind",
    )


def _came(entry: Mapping[str, Any], name: str) -> str:
    return shown_json(entry[name]) if name in entry else "missing"
