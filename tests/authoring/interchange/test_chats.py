from __future__ import annotations

import json

import pytest

from pytest_rageval.authoring.interchange.chats import content_text, read_chat, read_messages

TURNS = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Who is the agent?"},
    {"role": "assistant", "content": "Bea."},
    {"role": "user", "content": "Where does she work?"},
]


@pytest.mark.parametrize("value", [TURNS, json.dumps(TURNS), str(TURNS)])
def test_the_last_message_of_the_user_is_the_question(value: object) -> None:
    chat = read_chat(value)
    assert chat is not None
    assert chat.question == "Where does she work?"
    assert [one["content"] for one in chat.before] == ["Who is the agent?", "Bea."]
    assert (chat.after, chat.n_others) == ((), 1)


@pytest.mark.parametrize(
    "value",
    [
        [{"from": "human", "value": "Who?"}, {"from": "gpt", "value": "Bea."}],
        [{"role": "user", "parts": [{"text": "Who?"}]}, {"role": "model", "parts": ["Bea."]}],
        [{"role": "user", "content": [{"type": "text", "text": "Who?"}]},
         {"role": "assistant", "content": "Bea."}],
        [{"question": "Who?", "answer": "Bea."}],
        [{"input": "Who?", "output": "Bea."}],
    ],
)  # fmt: skip
def test_messages_are_read_as_tools_write_them(value: object) -> None:
    assert read_messages(value) == [
        {"role": "user", "content": "Who?"},
        {"role": "assistant", "content": "Bea."},
    ]


@pytest.mark.parametrize(
    "value",
    ["Who?", "", None, [], ["Who?"], [{"role": "user"}], [{"role": "king", "content": "Who?"}],
     [{"question": "Who?"}], {"question": "Who?"}, [TURNS[1], 1]],
)  # fmt: skip
def test_what_is_no_chat_has_no_messages(value: object) -> None:
    assert read_messages(value) is None


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": "Who?"}, {"type": "image_url", "image_url": {}}], "Who?"),
        ([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Bea."}], "Bea."),
        ([{"text": "Hm.", "thought": True}, {"text": "Bea."}, "Yes."], "Bea.\nYes."),
        ({"content_type": "text", "parts": ["Who?"]}, "Who?"),
        ([{"type": "refusal", "refusal": "No."}], "No."),
        ("[1, 2]", "[1, 2]"),
        (None, ""),
    ],
)
def test_only_the_text_of_a_message_is_read(content: object, text: str) -> None:
    assert content_text(content) == text
