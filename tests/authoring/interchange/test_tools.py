""""""

from __future__ import annotations

import json

import pytest

from pytest_rageval.values.case import Anchor
from pytest_rageval.values.errors import DatasetError
from tests.authoring.interchange.sources import cases_of, left_out, read_samples, read_texts


def test_goldens_become_cases() -> None:
    found = read_samples("deepeval", "deepeval-goldens.json")
    roses, beans, talk = cases_of(found)
    assert roses.expected_answer == "In late winter."
    assert roses.gold_supports == (Anchor(rel_path="garden/roses.md"),)
    assert roses.notes == "asked every year"
    assert roses.metadata["deepeval"] == {
        "context": ["Roses are pruned in late winter."],
        "additional_metadata": {"author": "club"},
    }
    assert beans.expected_answer == "Beans."
    assert [turn.question for turn in talk.turns] == ["What is pruned in winter?"]
    assert left_out(found) == {
        "tools_called": 1, "actual_output": 1,
    }  # fmt: skip


def test_actual_outputs_become_responses() -> None:
    (response,) = read_samples("deepeval", "deepeval-goldens.json").responses
    assert response["response"] == {
        "answer": "Beans.",
        "debug": {
            "retrieved_chunks": [
                {"rel_path": "retrieved/1", "rank": 1, "text": "Beans are sown in May."}
            ]
        },
    }


# ---


def test_samples_of_today_become_cases() -> None:
    found = read_samples("ragas", "ragas-0.2.jsonl")
    roses, spring, talk = cases_of(found)
    assert (roses.question, roses.expected_answer) == ("When are roses pruned?", "In late winter.")
    assert roses.category == "single_hop_specific_query_synthesizer"
    assert roses.metadata["ragas"] == {
        "reference_contexts": ["Roses are pruned in late winter."],
        "persona_name": "Gardener",
    }
    assert spring.gold_supports == (Anchor(rel_path="beans.md"), Anchor(rel_path="peas.md"))
    assert [turn.expected_answer for turn in talk.turns] == ["A greeting."]
    assert left_out(found) == {}
    assert found.kept == {"reference_contexts": 1, "persona_name": 1, "rubrics": 1}


def test_answers_of_a_system_become_responses() -> None:
    (response,) = read_samples("ragas", "ragas-0.2.jsonl").responses
    assert response["id"].startswith("what-is-sown-in-spring")
    assert response["response"] == {
        "answer": "Peas.",
        "debug": {
            "retrieved_chunks": [
                {"rel_path": "peas.md", "rank": 1, "text": "Peas are sown in March."}
            ]
        },
    }


def test_test_sets_of_0_1_become_cases_with_golds_in_their_sources() -> None:
    found = read_samples("ragas", "ragas-0.1.csv")
    (case,) = cases_of(found)
    assert (case.expected_answer, case.category) == ("In late winter.", "simple")
    assert case.gold_supports == (Anchor(rel_path="garden/roses.md"),)
    assert case.metadata["ragas"]["contexts"] == [
        "Roses are pruned in late winter.",
        "Don't prune in June.",
    ]
    assert left_out(found) == {"episode_done": 1}


@pytest.mark.parametrize(
    "value",
    [
        [{"user_input": "a?", "reference": "b"}],
        {"samples": [{"user_input": "a?", "reference": "b"}]},
        {"user_input": ["a?"], "reference": ["b"]},
        {"user_input": {"0": "a?"}, "reference": {"0": "b"}},
        [{"eval_sample": {"user_input": "a?", "reference": "b"}, "approval_status": "approved"}],
        [{"question": "a?", "ground_truths": ["b"]}],
    ],
    ids=["list", "samples", "columns", "data frame", "annotated", "0.0"],
)
def test_every_shape_of_the_rows_is_read(value: object) -> None:
    (case,) = cases_of(read_texts("ragas", {"set.json": json.dumps(value)}))
    assert (case.question, case.expected_answer) == ("a?", "b")


RAGAS = {
    "user_input": "a?", "response": "b", "retrieved_contexts": ["x"],
    "reference_context_ids": ["a.md"],
}  # fmt: skip
DEEPEVAL = {
    "input": "a?", "source_file": "a.md", "actual_output": "b", "retrieval_context": ["x"],
}  # fmt: skip


@pytest.mark.parametrize("with_responses", [False, True])
@pytest.mark.parametrize(("tool", "row"), [("ragas", RAGAS), ("deepeval", DEEPEVAL)])
def test_texts_without_a_document_are_for_a_judge_and_score_no_gold(
    tool: str, row: dict[str, object], with_responses: bool
) -> None:
    texts = {"set.json": json.dumps([row])}
    found = read_texts(tool, texts, with_responses=with_responses)
    (chunk,) = found.responses[0]["response"]["debug"]["retrieved_chunks"]
    assert (chunk["rel_path"], chunk["text"]) == ("retrieved/1", "x")
    assert any("without --responses" in note for note in found.notes) == with_responses
    (case,) = cases_of(found)
    kept = case.metadata.get("recorded", {}).get("gold_supports", [])
    assert (len(case.gold_supports), len(kept)) == ((0, 1) if with_responses else (1, 0))


def test_every_field_of_a_recorded_answer_is_counted_by_its_own_name() -> None:
    rows = [
        {"question": "a?", "answer": "b", "contexts": ["x"], "retrieved_context_ids": ["a.md"]},
        {"question": "b?", "contexts": ["x"]},
    ]
    found = read_texts("ragas", {"set.json": json.dumps(rows)})
    assert found.carried == {"question": 2, "answer": 1, "contexts": 1, "retrieved_context_ids": 1}
    assert left_out(found) == {"contexts": 1}


# ---

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
