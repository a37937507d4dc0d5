from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.authoring.inbox.collect import collect
from pytest_rageval.authoring.inbox.readers import READERS
from pytest_rageval.authoring.inbox.values import LOGS
from pytest_rageval.project.case_reader import parse_case
from pytest_rageval.target.contract import parse_ask_response

LOG_FILES = Path(__file__).parents[2] / "data" / "logs"
HISTORY = [
    {"role": "user", "content": "What does plan 7 cost?"},
    {"role": "assistant", "content": "7 EUR."},
]


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
        ("phoenix", "phoenix.jsonl"),
        ("phoenix", "phoenix-rest.json"),
        ("otel", "otlp.jsonl"),
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
    if name != "phoenix-rest.json":  # which has no annotations
        assert line["metadata"]["feedback"] == "up"


@pytest.mark.parametrize(
    ("log", "name"),
    [
        ("langfuse", "langfuse.jsonl"),
        ("phoenix", "phoenix.jsonl"),
        ("otel", "otlp.jsonl"),
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
