from __future__ import annotations

from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.analysis.trust.calibration import LabelledAnswer
from pytest_rageval.engine.preparing import load_judge_labels, load_labels
from pytest_rageval.values.errors import DatasetError
from tests.build.files import write_lines

ROW: dict[str, Any] = {"id": "a", "question": "Q?", "answer": "A.", "label": "grounded"}


def faults(path: Path, *lines: object) -> list[str]:
    write_lines(path, *lines)
    with chdir(path.parent), pytest.raises(DatasetError) as caught:
        load_labels(Path(path.name), "groundedness")
    assert len(caught.value.faults) == len(str(caught.value).splitlines())
    return str(caught.value).splitlines()


def test_a_row_keeps_what_judging_needs_and_nothing_else(tmp_path: Path) -> None:
    full = {
        **ROW,
        "context": "[1] One.\n[2] Two.",
        "history": ["user: Hi", "agent: Hello"],
        "reference": ["A", "a"],
        "source": "s",
        "model": "gpt",
        "ratings": {"faithfulness": [4, 3]},
    }
    path = write_lines(tmp_path / "mine.jsonl", full, "", {**ROW, "id": "b", "question": ""})
    assert load_labels(path, "groundedness") == (
        LabelledAnswer(
            id="a",
            label="grounded",
            answer="A.",
            question="Q?",
            context="[1] One.\n[2] Two.",
            history=("user: Hi", "agent: Hello"),
            reference=("A", "a"),
            source="s",
        ),
        LabelledAnswer(id="b", label="grounded", question="", answer="A.", source="mine"),
    )


def test_every_fault_of_a_file_is_named_at_once(tmp_path: Path) -> None:
    shape = 'expected {"id": ..., "question": ..., "answer": ..., "label": ...}'
    assert faults(
        tmp_path / "l.jsonl",
        ROW,
        "{'id'}",
        [1],
        {"id": "c", "question": None, "answer": " ", "context": 7},
        {**ROW, "id": "d", "history": "user: hi", "reference": [1], "source": ""},
        {**ROW, "id": "e", "label": "not grounded"},
        {**ROW, "id": "f", "label": "correct"},
        {**ROW, "id": "f2", "label": ["grounded"]},
        ROW,
        '{"id": "g", "id": "h", "question": "", "answer": "A", "label": "grounded"}',
        '{"id": "i", "question": "", "answer": "A", "label": "grounded", "x": NaN}',
        "[" * 100_000,
    ) == [
        "l.jsonl:2: not JSON: Expecting property name enclosed in double quotes at column 2, "
        + shape,
        "l.jsonl:3: got [1], " + shape,
        "l.jsonl:4: question: got null, expected a string",
        'l.jsonl:4: answer: got " ", expected a string that is not blank',
        "l.jsonl:4: context: got 7, expected a string",
        "l.jsonl:4: label: missing, expected grounded or not_grounded",
        'l.jsonl:5: history: got "user: hi", expected a list of strings',
        "l.jsonl:5: reference[0]: got 1, expected a string",
        'l.jsonl:5: source: got "", expected a string that is not blank',
        'l.jsonl:6: label: got "not grounded", expected grounded or not_grounded, '
        "did you mean 'not_grounded'?",
        'l.jsonl:7: label: got "correct", expected grounded or not_grounded, or --rubric '
        "correctness",
        'l.jsonl:8: label: got ["grounded"], expected grounded or not_grounded',
        'l.jsonl:9: id: "a" is already the id of line 1, expected a unique id',
        "l.jsonl:10: id: duplicate key; keep one of them",
        "l.jsonl:11: x: NaN, expected a finite number",
        "l.jsonl:12: nested too deeply, " + shape,
    ]


def test_labels_of_cases_and_of_answers_are_each_sent_to_the_right_command(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "labels.jsonl",
        {"id": "a", "rubric": "groundedness", "label": 4},
        {"id": "b", "question": "Why?", "answer": "So.", "label": "grounded"},
    )
    with pytest.raises(DatasetError, match=r"4, expected .*; a score .* is for --judge-labels"):
        load_labels(path, "groundedness")
    with pytest.raises(DatasetError, match=r'"grounded", .*answer is for rageval calibrate'):
        load_judge_labels(path, display="labels.jsonl")
