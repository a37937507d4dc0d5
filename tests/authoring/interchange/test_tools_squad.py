from __future__ import annotations

import json

import pytest

from pytest_rageval.values.case import Anchor
from pytest_rageval.values.errors import DatasetError
from tests.authoring.interchange.sources import cases_of, left_out, read_samples, read_texts

CONTEXT = "Roses are pruned in late winter."
ROWS = [
    {"id": "1", "title": "Roses", "context": CONTEXT, "question": "When are roses pruned?",
     "answers": {"text": ["in late winter"], "answer_start": [17]}},
    {"id": "2", "title": "Roses", "context": CONTEXT, "question": "When do they sing?",
     "answers": {"text": [], "answer_start": []}},
]  # fmt: skip


def test_questions_come_with_their_paragraphs() -> None:
    found = read_samples("squad", "squad-2.0.json", set_name="garden")
    roses, lilies, club = cases_of(found)
    assert roses.expected_answer == "in late winter\nlate winter"
    path = "squad/garden/Rose_garden/1.md"
    assert roses.gold_supports == (Anchor(rel_path=path, snippets=("in late winter",)),)
    assert (lilies.answerable, lilies.gold_supports) == (False, ())
    assert (club.id, club.metadata) == ("272819", {"squad": {"document_id": 266719}})
    assert {case.folders for case in (roses, lilies, club)} == {("squad/garden",)}
    first, second = found.documents
    assert (first.rel_path, second.text) == (path, "# Rose_garden\n\nThe club was founded in 1924.")
    assert found.scope_prefix == "squad/garden/"
    assert left_out(found) == {"plausible_answers": 1}


@pytest.mark.parametrize("page", [False, True])
def test_rows_of_the_hub_are_read_in_a_file_and_in_a_page(page: bool) -> None:
    rows = [{"row_idx": i, "row": row, "truncated_cells": []} for i, row in enumerate(ROWS)]
    value = {"features": [], "rows": rows, "num_rows_total": 2} if page else ROWS
    found = read_texts("squad", {"rows.json": json.dumps(value)})
    roses, odd = cases_of(found)
    assert roses.gold_supports[0].rel_path == found.documents[0].rel_path
    assert (odd.answerable, len(found.documents)) == (False, 1)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([{"question": "a?"}], "f.json: row 1: context: missing, expected the text of a"),
        (
            {"data": [{"paragraphs": [{"context": "x", "qas": [{"id": "1"}]}]}]},
            "data[0].paragraphs[0].qas[0].question: missing",
        ),
        ({"queries": {}}, "expected SQuAD: articles under data, or rows with a context"),
    ],
)
def test_faults_name_the_question(value: object, message: str) -> None:
    with pytest.raises(DatasetError) as caught:
        read_texts("squad", {"f.json": json.dumps(value)})
    assert message in str(caught.value)


def test_the_questions_of_a_conversation_have_those_before_them() -> None:
    asked = [
        {"id": "c#0", "question": "Who founded it?", "followup": "y",
         "answers": [{"text": "Ann", "answer_start": 0}]},
        {"id": "c#1", "question": "When?", "followup": "n",
         "answers": [{"text": "CANNOTANSWER", "answer_start": 9}]},
    ]  # fmt: skip
    paragraphs = [{"context": "Ann founded it. CANNOTANSWER", "qas": asked}]
    found = read_texts("squad", {"q.json": json.dumps({"data": [{"paragraphs": paragraphs}]})})
    first, second = cases_of(found)
    assert "history" not in first.metadata
    assert [one["content"] for one in second.metadata["history"]] == ["Who founded it?", "Ann"]
    assert (first.answerable, second.answerable, second.expected_answer) == (True, False, None)
