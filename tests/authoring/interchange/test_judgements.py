from __future__ import annotations

import pytest

from pytest_rageval.authoring.interchange.judgements import (
    json_judgements,
    parse_grade,
)
from pytest_rageval.authoring.interchange.values import Ledger, SourceFile
from pytest_rageval.values.errors import DatasetError


@pytest.mark.parametrize(
    ("value", "grade"),
    [("2", 2), ("2.0", 2), (2.0, 2), (2, 2), ("-1", -1), (" 0.00 ", 0), ("2.5", None),
     ("nan", None), ("", None), (True, None), ("9" * 40, None)],
)  # fmt: skip
def test_a_grade_is_an_integer_also_as_data_frames_write_it(
    value: object, grade: int | None
) -> None:
    assert parse_grade(value) == grade


def test_json_lines_are_judgements_under_usual_names() -> None:
    text = (
        '{"query-id": "q1", "corpus-id": "d1", "score": 2.0}\n'
        '{"score": 1, "query_id": 7, "doc_id": 8}\n'
    )
    found = list(json_judgements(SourceFile(name="q.jsonl", text=text), Ledger()))
    assert found == [(1, "q1", "d1", 2), (2, "7", "8", 1)]


@pytest.mark.parametrize(
    "line",
    [
        '{"query-id": "q1", "score": 1}',
        '{"query-id": "q1", "corpus-id": "d1", "score": 0.5}',
        '{"query-id": "", "corpus-id": "d1", "score": 1}',
    ],
)
def test_a_line_that_is_no_judgement_is_named(line: str) -> None:
    with pytest.raises(DatasetError, match=r"q\.jsonl:1: .* expected query-id, corpus-id"):
        list(json_judgements(SourceFile(name="q.jsonl", text=line), Ledger()))
