import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.authoring.inbox.collect import collect
from pytest_rageval.authoring.inbox.messages import LOGS
from pytest_rageval.authoring.inbox.readers import READERS, iso
from pytest_rageval.project.case_reader import parse_case
from pytest_rageval.target.contract import parse_ask_response

LOG_FILES = Path(__file__).parents[2] / "data" / "logs"
HISTORY = [
    {"role": "user", "content": "What does plan 7 cost?"},
    {"role": "assistant", "content": "7 EUR."},
]


def read_rows(
    log: str, rows: list[dict[str, Any]], folder: Path, **options: Any
) -> Sequence[dict[str, Any]]:
    path = folder / "log.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return collect([path], log, **options).lines


def by_question(log: str, name: str, **options: Any) -> dict[str, dict[str, Any]]:
    found = collect([LOG_FILES / name], log, **options)
    return {line["question"]: line for line in found.lines}


def test_each_format_has_a_reader() -> None:
    assert set(LOGS) == set(READERS)


@pytest.mark.parametrize(
    ("log", "name"),
    [
        ("langfuse", "langfuse.jsonl"),
        ("langfuse", "langfuse-trace.json"),
        ("langfuse", "langfuse-table.csv"),
        ("phoenix", "phoenix.jsonl"),
        ("phoenix", "phoenix-rest.json"),
        ("otel", "otlp.jsonl"),
        ("otel", "otlp-events.jsonl"),
        ("jsonl", "plain.jsonl"),
    ],
)
def test_a_request_is_put_together_from_its_rows(log: str, name: str) -> None:
    columns = {"question": "q.text"} if log == "jsonl" else {}
    line = by_question(log, name, columns=columns)["How do I get a refund?"]
    response = parse_ask_response(line["response"])
    (chunk,) = response.retrieved_chunks or ()

    assert response.answer == "Within 30 days of the purchase."
    assert (chunk.rel_path, chunk.text) == (
        "billing/refunds.md",
        "Refunds are paid within 30 days.",
    )
    assert parse_case(line).question == "How do I get a refund?"
    assert line["metadata"]["at"].startswith("2026-11-01")
    if name != "phoenix-rest.json":  # which has no annotations
        assert line["metadata"]["feedback"] == "up"


@pytest.mark.parametrize(
    ("log", "name"),
    [
        ("langfuse", "langfuse.jsonl"),
        ("langfuse", "langfuse-table.csv"),
        ("phoenix", "phoenix.jsonl"),
        ("otel", "otlp.jsonl"),
        ("otel", "otlp-events.jsonl"),
    ],
)
def test_the_question_of_a_chat_is_its_last_and_the_others_are_history(log: str, name: str) -> None:
    line = by_question(log, name)["And per year?"]

    assert line["metadata"]["history"] == HISTORY
    assert line["metadata"]["feedback"] == "down"
    assert line["response"]["answer"] == "I do not know."


def test_stars_are_read_by_the_scale_of_the_log() -> None:
    found = by_question("jsonl", "plain.jsonl", columns={"question": "q.text"})

    assert found["And per year?"]["metadata"]["feedback"] == "down"


def test_ids_of_users_and_sessions_are_not_carried() -> None:
    assert not {"u9", "s1"} & set(str(by_question("langfuse", "langfuse.jsonl")).split("'"))


def test_a_score_is_read_by_its_own_scale() -> None:
    found = by_question("langfuse", "langfuse-table.csv")

    assert [found[one]["metadata"]["feedback"] for one in found if "refund" in one] == ["up"]
    assert found["Is the shop open on Sunday?"]["metadata"]["feedback"] == "up"


@pytest.mark.parametrize(
    ("marks", "feedback"),
    [
        ([-1, 0, 1], ["down", None, "up"]),
        ([0, 1], ["down", "up"]),
        ([1, 3, 5], ["down", None, "up"]),
        (["thumbs-down", "maybe", True], ["down", None, "up"]),
    ],
)
def test_the_middle_of_a_scale_is_no_opinion(
    marks: list[object], feedback: list[str | None], tmp_path: Path
) -> None:
    rows: list[dict[str, Any]] = [
        {"question": f"Where is room {n}?", "rating": one} for n, one in enumerate(marks)
    ]

    found = sorted(read_rows("jsonl", rows, tmp_path), key=lambda one: str(one["question"]))

    assert [one["metadata"].get("feedback") for one in found] == feedback


def test_embeddings_are_not_requests() -> None:
    for log, name in [("phoenix", "phoenix.jsonl"), ("otel", "otlp-events.jsonl")]:
        assert len(by_question(log, name)) == 2


def observation(number: int, question: str, answer: str, **more: object) -> dict[str, Any]:
    at = f"2026-11-01 10:0{number}:00.000000"
    return {
        "id": f"o{number}", "trace_id": "t", "type": "SPAN", "start_time": at,
        "input": {"question": question}, "output": {"answer": answer}, **more,
    }  # fmt: skip


def test_each_turn_of_a_trace_is_a_request(tmp_path: Path) -> None:
    rows = [
        observation(1, "What does plan 7 cost?", "7 EUR."),
        observation(2, "x", "x", type="RETRIEVER", parent_observation_id="o1", output=["Plan 7."]),
        observation(3, "And per year?", "84 EUR."),
        {"name": "user-feedback", "value": 0, "trace_id": "t", "observation_id": "o1"},
        {"name": "user-feedback", "value": 1, "trace_id": "t", "observation_id": "o3"},
    ]
    found = {one["question"]: one for one in read_rows("langfuse", rows, tmp_path)}
    first, second = found["What does plan 7 cost?"], found["And per year?"]

    assert [one["response"]["answer"] for one in (first, second)] == ["7 EUR.", "84 EUR."]
    assert [one["metadata"]["feedback"] for one in (first, second)] == ["down", "up"]
    assert "debug" in first["response"]
    assert "debug" not in second["response"]
    assert second["metadata"]["history"] == HISTORY


def test_rows_of_one_conversation_are_its_turns(tmp_path: Path) -> None:
    rows = [
        {"trace_id": "t", "question": HISTORY[0]["content"], "answer": HISTORY[1]["content"]},
        {"trace_id": "t", "question": "And per year?", "answer": "84 EUR."},
    ]
    found = {one["question"]: one for one in read_rows("jsonl", rows, tmp_path)}

    assert len(found) == 2
    assert found["And per year?"]["metadata"]["history"] == HISTORY


@pytest.mark.parametrize("whole", [True, False])
def test_the_steps_of_one_request_are_not_turns(whole: bool, tmp_path: Path) -> None:
    trace: dict[str, Any] = {"id": "t", "input": "How much is it?", "output": "84 EUR."}
    rows = [
        *([trace] if whole else []),
        observation(1, "How much is it?", "What is the price of plan 7?"),
        observation(2, "What is the price of plan 7?", "84 EUR."),
    ]

    (found,) = read_rows("langfuse", rows, tmp_path)

    assert found["question"] == "How much is it?"


def test_the_calls_of_a_chat_are_turns_if_they_tell_it_on(tmp_path: Path) -> None:
    asked = {"role": "user", "content": "And per year?"}
    rows = [
        observation(1, "", "", type="GENERATION", input=HISTORY[:1], output=HISTORY[1]),
        observation(2, "", "", type="GENERATION", input=[*HISTORY, asked], output="84 EUR."),
    ]

    found = read_rows("langfuse", rows, tmp_path)

    assert {one["question"] for one in found} == {"What does plan 7 cost?", "And per year?"}


@pytest.mark.parametrize(
    "row",
    [
        {"question": "And per year?", "history": HISTORY},
        {"input": {"question": "And per year?", "chat_history": json.dumps(HISTORY)}},
        {"question": "And per year?", "history": [["human", HISTORY[0]["content"]],
                                                  ["ai", HISTORY[1]["content"]]]},
    ],
)  # fmt: skip
def test_the_turns_before_a_question_are_kept(row: dict[str, Any], tmp_path: Path) -> None:
    (line,) = read_rows("jsonl", [row], tmp_path)

    assert (line["question"], line["metadata"]["history"]) == ("And per year?", HISTORY)


def test_only_scores_of_users_are_feedback(tmp_path: Path) -> None:
    trace = {"id": "t", "input": "Where is it?", "output": "There."}
    scores = {"likelihood": [0], "correctness": [0], "userFeedback": [1]}

    (line,) = read_rows("langfuse", [trace | scores], tmp_path)

    assert line["metadata"]["feedback"] == "up"


def test_what_a_system_says_of_itself_is_kept(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"question": "Who is it?", "answer": "Ask the desk.", "abstained": "true"},
        {"question": "Where is it?", "answer": {"text": "I do not know.", "abstained": False}},
    ]
    (line,) = read_rows("jsonl", rows, tmp_path, by=["abstained"])

    assert line["question"] == "Who is it?"
    assert parse_ask_response(line["response"]).abstained is True


@pytest.mark.parametrize("number", ["1793527200", 1793527200.5, 1793527200500, "1793527200500000"])
def test_a_number_is_a_time(number: object) -> None:
    assert datetime.fromisoformat(iso(number)).timestamp() == pytest.approx(1793527200, abs=1)


@pytest.mark.parametrize("text", ["", "2026-11-01", "20261101", "4111111111111111", "1" * 25])
def test_other_times_stay_as_they_are(text: str) -> None:
    assert iso(text) == text
