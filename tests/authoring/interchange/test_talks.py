import json
from typing import Any

import pytest

from pytest_rageval.authoring.interchange.registry import FORMATS
from pytest_rageval.authoring.interchange.values import Imported, ReadOptions, Source, SourceFile
from pytest_rageval.project.case_reader import parse_case

CHAT = [
    {"role": "system", "content": "Be short."},
    {"role": "user", "content": "How do I get a refund?"},
    {"role": "assistant", "content": "Within 30 days."},
    {"role": "user", "content": "And how long does that take?"},
    {"role": "assistant", "content": "Two weeks."},
]
RAGAS = [
    {"content": "How do I get a refund?", "type": "human"},
    {"content": "", "type": "ai"},
    {"content": "Within 30 days.", "type": "ai"},
    {"content": "And how long does that take?", "type": "human"},
    {"content": "Two weeks.", "type": "ai"},
]
DEEPEVAL = [
    {"role": "user", "content": "How do I get a refund?"},
    {"role": "assistant", "content": "Within 30 days.", "retrieval_context": ["Refunds: 30 days."]},
    {"role": "user", "content": "And how long does that take?"},
    {"role": "assistant", "content": "Two weeks."},
]


def voted(vote: str) -> dict[str, Any]:
    return {"relevant": {"editor": {"value": vote}}}


MTRAG = [
    {"speaker": "user", "text": "How do I get a refund?",
     "enrichments": {"Answerability": ["ANSWERABLE"]}},
    {"speaker": "agent", "text": "Within 30 days.", "contexts": [
        {"document_id": "refunds-1", "text": "30 days", "feedback": voted("yes")},
        {"document_id": "prices-7", "text": "7 EUR", "feedback": voted("no")},
    ]},
    {"speaker": "user", "text": "And how long does that take?",
     "enrichments": {"Answerability": ["UNANSWERABLE"]}},
    {"speaker": "agent", "text": "I do not have the answer."},
]  # fmt: skip


def read(name: str, rows: list[dict[str, Any]]) -> Imported:
    file = SourceFile(name="rows.jsonl", text="".join(f"{json.dumps(row)}\n" for row in rows))
    return FORMATS[name].read(Source(files=(file,), options=ReadOptions(with_responses=True)))


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("json", {"messages": CHAT}),
        ("json", {"messages": MTRAG, "id": "c1"}),
        ("ragas", {"user_input": RAGAS, "reference": "Two weeks."}),
        ("deepeval", {"turns": DEEPEVAL, "scenario": "A refund.", "expected_outcome": "Paid."}),
    ],
)
def test_a_conversation_is_one_line_with_its_turns(name: str, row: dict[str, Any]) -> None:
    (line,) = read(name, [row]).cases
    case = parse_case(line)

    assert [turn.question for turn in case.turns] == [
        "How do I get a refund?", "And how long does that take?",
    ]  # fmt: skip
    assert [one.id for one in case.expanded()] == [f"{line['id']}#1", f"{line['id']}#2"]


def test_answers_of_a_chat_are_expected_and_those_of_a_run_are_recorded() -> None:
    chat, run = read("json", [{"messages": CHAT}]), read("deepeval", [{"turns": DEEPEVAL}])
    (line,), (recorded,) = chat.cases, run.cases

    assert [turn["expected_answer"] for turn in line["turns"]] == ["Within 30 days.", "Two weeks."]
    assert chat.responses == ()
    assert [turn.get("expected_answer") for turn in recorded["turns"]] == [None, None]
    assert [(one["id"], one["response"]["answer"]) for one in run.responses] == [
        (f"{recorded['id']}#1", "Within 30 days."), (f"{recorded['id']}#2", "Two weeks."),
    ]  # fmt: skip
    assert (
        run.responses[0]["response"]["debug"]["retrieved_chunks"][0]["text"] == "Refunds: 30 days."
    )


def test_what_a_row_expects_is_expected_of_its_last_turn() -> None:
    (line,) = read("ragas", [{"user_input": RAGAS, "reference": "Two weeks."}]).cases

    assert [turn.get("expected_answer") for turn in line["turns"]] == [None, "Two weeks."]
    assert "expected_answer" not in line


def test_passages_that_annotators_took_for_relevant_are_golds() -> None:
    (line,) = read("json", [{"messages": MTRAG}]).cases

    assert line["turns"][0]["gold_supports"] == [{"rel_path": "refunds-1"}]
    assert line["turns"][1] == {"question": "And how long does that take?", "answerable": False}


def test_messages_that_are_no_questions_or_answers_are_counted() -> None:
    found = read("json", [{"messages": CHAT}])

    assert found.carried["messages[]"] == 2
    assert sum(one.count for one in found.left_out if one.field == "messages[]") == 1
