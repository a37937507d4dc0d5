from __future__ import annotations

import json

import pytest

from pytest_rageval.values.case import Anchor
from tests.authoring.interchange.sources import cases_of, left_out, read_samples, read_texts


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
