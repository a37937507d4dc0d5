from __future__ import annotations

from pytest_rageval.values.case import Anchor
from tests.authoring.interchange.sources import cases_of, left_out, read_samples


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
