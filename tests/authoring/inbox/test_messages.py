import json
from time import perf_counter
from typing import Any

import pytest

from pytest_rageval.authoring.inbox.messages import asked, passages, said, without_greeting

CHAT = [
    {"role": "system", "content": "Be short."},
    {"role": "user", "content": "What is it?"},
    {"role": "assistant", "content": "Tea."},
    {"role": "user", "content": "And hot?"},
]


@pytest.mark.parametrize(
    ("value", "question", "n_before"),
    [
        ("What is it?", "What is it?", 0),
        ({"question": "What is it?", "k": 5}, "What is it?", 0),
        ({"args": [{"input": {"query": "What is it?"}}], "kwargs": {}}, "What is it?", 0),
        ({"messages": CHAT}, "And hot?", 2),
        (json.dumps({"messages": CHAT}), "And hot?", 2),
        ([{"role": "user", "parts": [{"type": "text", "content": "Hot?"}]}], "Hot?", 0),
        (None, "", 0),
        ({"k": 5}, "", 0),
        ("{not json", "{not json", 0),
    ],
)
def test_the_question_is_found_in_what_was_logged(value: Any, question: str, n_before: int) -> None:
    found, before = asked(value)
    assert (found, len(before)) == (question, n_before)


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ("Tea.", "Tea."),
        ({"answer": "Tea.", "sources": []}, "Tea."),
        ({"choices": [{"message": {"role": "assistant", "content": "Tea."}}]}, "Tea."),
        ([{"role": "assistant", "parts": [{"type": "text", "content": "Tea."}]}], "Tea."),
        ({"generations": [[{"text": "Tea."}]]}, "Tea."),
        (None, ""),
        ([], ""),
    ],
)
def test_the_answer_is_found_in_what_was_logged(value: Any, answer: str) -> None:
    assert said(value) == answer


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (["Green tea."], [("retrieved/1", "Green tea.")]),
        ([{"pageContent": "Tea.", "metadata": {"source": "a.md"}}], [("a.md", "Tea.")]),
        ([{"document": {"content": "Tea.", "id": 7}}], [("7", "Tea.")]),
        ({"documents": '[{"path": "a.md", "text": "Tea."}]'}, [("a.md", "Tea.")]),
        ([{"node": {"text": "Tea.", "metadata": {"file_name": "a.md"}}, "score": 0.5}],
         [("a.md", "Tea.")]),
        ([], []),
        ([["Green tea."]], [("retrieved/1", "Green tea.")]),
        ({"path": "a.md", "text": "Tea."}, [("a.md", "Tea.")]),
    ],
)  # fmt: skip
def test_passages_have_path_and_text(value: Any, found: list[tuple[str, str]]) -> None:
    assert [(one["rel_path"], one["text"]) for one in passages(value) or ()] == found


@pytest.mark.parametrize("text", ["x" * 50_000, "word " * 20_000, "a?b" * 20_000, "? " * 50_000])
def test_a_long_message_takes_no_time(text: str) -> None:
    before = perf_counter()
    without_greeting(text)
    assert perf_counter() - before < 2


def test_messages_of_langchain_have_a_type() -> None:
    messages = [{"type": "human", "content": "What is it?"}, {"type": "ai", "content": "Tea."}]
    assert asked({"messages": messages[:1]})[0] == "What is it?"
    assert said({"messages": messages}) == "Tea."


@pytest.mark.parametrize("value", ["text", None, 5, [1, 2], {"k": 5}])
def test_what_lists_no_passages_is_not_about_retrieval(value: Any) -> None:
    assert passages(value) is None
