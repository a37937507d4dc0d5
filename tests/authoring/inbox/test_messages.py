import json
from time import perf_counter
from typing import Any

import pytest

from pytest_rageval.authoring.inbox.messages import asked, passages, said, without_courtesy

CHAT = [
    {"role": "system", "content": "Be short."},
    {"role": "user", "content": "What is it?"},
    {"role": "assistant", "content": "Tea."},
    {"role": "user", "content": "And hot?"},
]
PARTS = [
    {"type": "text", "text": "What is it?"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
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
        (PARTS, "What is it?", 0),
        ({"input": [{"role": "user", "content": PARTS}]}, "What is it?", 0),
        ([["user", "What is it?"], ["assistant", "Tea."], ["user", "And hot?"]], "And hot?", 2),
        ([[{"lc": 1, "type": "constructor", "id": ["langchain", "HumanMessage"],
            "kwargs": {"content": "What is it?"}}]], "What is it?", 0),
        ([{"message": {"role": "user", "content": "What is it?"}}], "What is it?", 0),
        ("What is it? ![](data:image/png;base64,iVBORw0KGgo=)", "What is it? ![]([file])", 0),
        ([{"type": "blob", "content": "iVBORw0KGgo="}], "", 0),
        ([{"role": "assistant", "content": "Tea."}], "", 0),
    ],
)  # fmt: skip
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
        ([{"role": "assistant", "parts": [{"type": "reasoning", "content": "Hm."},
                                          {"type": "text", "content": "Tea."}]}], "Tea."),
        ({"output": [{"type": "reasoning", "summary": []}, {"type": "message", "role": "assistant",
          "content": [{"type": "output_text", "text": "Tea."}]}]}, "Tea."),
        ({"candidates": [{"content": {"role": "model", "parts": [
            {"text": "Hm.", "thought": True}, {"text": "Tea."}]}}]}, "Tea."),
        (None, ""),
        ([], ""),
    ],
)  # fmt: skip
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
    without_courtesy(text)
    assert perf_counter() - before < 2


def test_messages_of_langchain_have_a_type() -> None:
    messages = [{"type": "human", "content": "What is it?"}, {"type": "ai", "content": "Tea."}]
    assert asked({"messages": messages[:1]})[0] == "What is it?"
    assert said({"messages": messages}) == "Tea."


@pytest.mark.parametrize("value", ["text", None, 5, [1, 2], {"k": 5}])
def test_what_lists_no_passages_is_not_about_retrieval(value: Any) -> None:
    assert passages(value) is None


@pytest.mark.parametrize(
    "text",
    [
        "Hi, how do I use v1.2 of it, please?",
        "hello how do I use v1.2 of it please?",
        "Hello! It is me again. Please, how do I use v1.2 of it? Thanks!",
        "how do I use v1.2 of it?",
    ],
)
def test_courtesy_does_not_make_another_question(text: str) -> None:
    assert without_courtesy(text) == "how do I use v1.2 of it?"


@pytest.mark.parametrize("text", ["Hi-fi plan price?", "And then?", "Welcome bonus of plan 7?"])
def test_what_only_looks_like_a_courtesy_stays(text: str) -> None:
    assert without_courtesy(text) == text
