from __future__ import annotations

import json

import pytest

from pytest_rageval.values.case import Anchor
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


@pytest.mark.parametrize("with_responses", [False, True])
def test_texts_without_a_document_are_for_a_judge_and_score_no_gold(with_responses: bool) -> None:
    row = {"input": "a?", "source_file": "a.md", "actual_output": "b", "retrieval_context": ["x"]}
    texts = {"g.json": json.dumps([row])}
    found = read_texts("deepeval", texts, with_responses=with_responses)
    (chunk,) = found.responses[0]["response"]["debug"]["retrieved_chunks"]
    assert (chunk["rel_path"], chunk["text"]) == ("retrieved/1", "x")
    (case,) = cases_of(found)
    kept = case.metadata.get("recorded", {}).get("gold_supports", [])
    assert (len(case.gold_supports), len(kept)) == ((0, 1) if with_responses else (1, 0))
    assert any("without --responses" in note for note in found.notes) == with_responses
