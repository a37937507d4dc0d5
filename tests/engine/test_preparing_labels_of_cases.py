from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.analysis.trust.reliability import HumanLabel
from pytest_rageval.engine.preparing import load_judge_labels
from pytest_rageval.values.errors import DatasetError
from tests.build.files import write_lines


def write(folder: Path, *lines: Any) -> Path:
    return write_lines(folder / "labels.jsonl", *lines)


def line(**fields: Any) -> dict[str, Any]:
    return {"id": "a", "rubric": "groundedness", "label": 4} | fields


def faults(path: Path) -> list[str]:
    with pytest.raises(DatasetError) as caught:
        load_judge_labels(path, display="l.jsonl")
    return str(caught.value).splitlines()


def test_labels_are_read_with_their_kind_and_line(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        line(note="ignored"),
        "",
        line(id="b", rubric="correctness", label=False, file="evals/s.jsonl"),
    )
    found = load_judge_labels(path, display="l.jsonl")
    assert found.display == "l.jsonl"
    assert found.labels == (
        HumanLabel(case_id="a", rubric="groundedness", label=4.0, line=1),
        HumanLabel(case_id="b", rubric="correctness", label=False, file="evals/s.jsonl", line=3),
    )


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (line(id=" "), 'id: got " ", expected a string that is not blank'),
        (line(id=7), "id: got 7, expected a string"),
        ({"rubric": "correctness", "label": 1}, "id: missing"),
        (line(file=3), "file: got 3, expected a string"),
        (line(rubric="tone"), 'rubric: got "tone", expected one of "groundedness", "correctness"'),
        (line(rubric=["groundedness"]), 'rubric: got ["groundedness"], expected'),
        (line(label=5.5), "label: got 5.5, expected a number from 0 to 5, or true or false"),
        (line(label=-1), "label: got -1, expected"),
        (line(label="4"), 'label: got "4", expected a number'),
        (line(label=None), "label: got null, expected"),
        (line(label=10**400), "label: got 1000"),
        ('{"id": "a", "rubric": "groundedness", "label": NaN}', "label: NaN, expected a finite"),
        ('{"id": "a", "id": "b", "rubric": "correctness", "label": 4}', "id: duplicate key"),
        ("[4]", "[4], expected {"),
        ("{", "Expecting property name enclosed in double quotes"),
    ],
)
def test_a_fault_names_file_line_and_field(tmp_path: Path, bad: Any, told: str) -> None:
    (found,) = faults(write(tmp_path, line(id="z"), bad))
    assert found.startswith("l.jsonl:2")
    assert told in found


def test_the_labels_of_one_rubric_are_of_one_kind(tmp_path: Path) -> None:
    (found,) = faults(write(tmp_path, line(), line(id="b", label=True)))
    assert found == (
        "l.jsonl:2: label: got true, expected a score as in line 1: the labels of groundedness are "
        "all of one kind"
    )
    path = write(tmp_path, line(), line(rubric="correctness", label=True))
    load_judge_labels(path, display="l.jsonl")
