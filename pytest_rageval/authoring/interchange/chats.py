"""Conversations: the question that a chat ends with, and the turns before it. Pure.

A case is one question. The turns before it go to ``metadata.history``, from where a mapping of the
target can send them (docs/target.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.authoring.interchange.cells import parse_list, parse_object, snake, text_of
from pytest_rageval.authoring.interchange.values import Ledger, is_missing

_ROLES: Final[Mapping[str, str]] = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant",
    "gpt": "assistant", "bot": "assistant", "agent": "assistant", "model": "assistant",
    "system": "system", "developer": "system", "tool": "tool", "function": "tool",
}  # fmt: skip
"""Roles by the names that tools give them, in OpenAI's words."""
_ROLE: Final = ("role", "from", "speaker", "type")
_CLASS: Final = re.compile(r"Message(?:Chunk)?$")
_SAID: Final = ("content", "value", "text", "parts", "contents")
_WRAPPERS: Final = ("message", "kwargs", "data")
"""Keys of an object below which serializers and instrumentations put a message."""
_TEXT_PARTS: Final = frozenset("text input_text output_text refusal message".split())
"""Types of the parts of a message that are read; others are images, files, tools or reasoning."""
_IN_PART: Final = ("text", "content", "parts", "refusal", "value")
_OTHER_ITEMS: Final = frozenset(
    "reasoning function_call function_call_output item_reference file_search_call web_search_call "
    "computer_call code_interpreter_call image_generation_call mcp_call mcp_list_tools".split()
)
"""Types of the items of OpenAI's Responses API beside its messages."""
_PAIRS: Final = (
    ("question", "answer"), ("input", "output"), ("query", "response"), ("user", "assistant"),
    ("human", "ai"), ("prompt", "output"),
)  # fmt: skip
HISTORY: Final = tuple(
    "history chat_history conversation_history dialog_history dialogue_history message_history "
    "previous_messages previous_turns prior_turns past_messages _conversation".split()
)
"""Names of the turns before a question."""
_TURN: Final = frozenset(
    "turn turn_id turn_no turn_number turn_index conversation_id conversation_no dialog_id "
    "dialogue_id".split()
)
_NOTE: Final = (
    "questions that follow earlier turns have these in metadata.history; a mapping of the target "
    "sends them (docs/target.md), else it gets the question alone"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """A conversation, cut at its last question."""

    question: str
    before: tuple[Mapping[str, str], ...]
    """Messages of user and assistant before it, as ``{"role", "content"}``."""
    after: tuple[Mapping[str, str], ...]
    n_others: int
    """Number of messages of other roles, such as a system prompt."""


def read_messages(value: Any) -> list[dict[str, str]] | None:
    """Return the messages of a chat, as a list or in a text; None: the value is not one.

    Messages are objects with a role and a text, as OpenAI, ShareGPT, Gemini, LangChain and
    OpenTelemetry write them, pairs of a role and a text, or pairs of a question and its answer.
    Items that are not messages, such as the reasoning of a Responses API, are left out.
    """
    found = parse_object(value)
    given = [found] if isinstance(found, dict) and _role(_unwrapped(found)) else found
    if not isinstance(given, list):
        return None
    read = [_messages_of(one) for one in given if not _is_other_item(one)]
    messages = [message for one in read if one is not None for message in one]
    return messages if messages and None not in read else None


def _messages_of(one: Any) -> list[dict[str, str]] | None:
    if isinstance(one, list | tuple) and len(one) == 2:  # of LangChain
        one = dict(zip(("role", "content"), one, strict=True))
    if not isinstance(one, dict):
        return None
    for asked, said in _PAIRS:
        if isinstance(one.get(asked), str) and isinstance(one.get(said), str):
            said_by = {"user": one[asked], "assistant": one[said]}
            return [{"role": role, "content": text} for role, text in said_by.items()]
    inner = _unwrapped(one)
    role = _role(inner)
    name = next((name for name in _SAID if name in inner), None)
    if role is None or name is None:
        return None
    return [{"role": role, "content": content_text(inner[name])}]


def _unwrapped(one: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a message has below the key of a serializer, with its own keys."""
    inner: Iterator[Any] = (one[name] for name in _WRAPPERS if isinstance(one.get(name), dict))
    return {**one, **next(inner, {})}


def _role(one: Mapping[str, Any]) -> str | None:
    named = [one[name] for name in _ROLE if name in one]
    if isinstance(one.get("id"), list):  # the class, as LangChain serializes it
        named += one["id"][-1:]
    words = (_CLASS.sub("", word).casefold() for word in named if isinstance(word, str))
    return next((_ROLES[word] for word in words if word in _ROLES), None)


def _is_other_item(one: Any) -> bool:
    """Whether an item of a list of messages is something else that a model takes or gives."""
    return isinstance(one, dict) and str(one.get("type")) in _OTHER_ITEMS and "role" not in one


def content_text(content: Any) -> str:
    """Return the text in the content of a message: not its images, calls of tools or reasoning.

    >>> content_text([{"type": "text", "text": "Who?"}, {"type": "blob", "content": "iVBORw0"}])
    'Who?'
    """
    found = parse_object(content)
    if isinstance(found, str) or not isinstance(found, dict | list):
        return "" if is_missing(found) else text_of(found)
    if isinstance(found, list):
        if isinstance(content, str) and not all(isinstance(one, dict) for one in found):
            return content
        return "\n".join(filter(None, map(content_text, found)))
    if found.get("type", "text") not in _TEXT_PARTS or found.get("thought") is True:
        return ""
    inside = (found[name] for name in _IN_PART if found.get(name) is not None)
    return next((content_text(one) for one in inside), "")


def read_chat(value: Any) -> Chat | None:
    """Return a conversation that has a question; None: the value is not one."""
    messages = read_messages(value) or []
    spoken = [one for one in messages if one["role"] in {"user", "assistant"}]
    asked = [i for i, one in enumerate(spoken) if one["role"] == "user"]
    if not asked:
        return None
    at = asked[-1]
    return Chat(
        question=spoken[at]["content"],
        before=tuple(spoken[:at]),
        after=tuple(spoken[at + 1 :]),
        n_others=len(messages) - len(spoken),
    )


def keep_history(line: dict[str, Any], before: Sequence[Any], name: str, ledger: Ledger) -> None:
    """Store the turns before the question of a case, if any."""
    if before:
        line["metadata"] = {**line.get("metadata", {}), "history": list(before)}
        ledger.keep(name)
        ledger.note(_NOTE)


def take_history(given: dict[str, Any], line: dict[str, Any], ledger: Ledger) -> None:
    """Store a field of earlier turns; where a field alone says that there are some, note it."""
    for name in [name for name in given if snake(name) in HISTORY]:
        value = given.pop(name)
        before = read_messages(value) or parse_list(value)
        keep_history(line, before, name, ledger)
    if "history" not in line.get("metadata", {}) and not _TURN.isdisjoint(map(snake, given)):
        ledger.note(
            "the questions are turns of conversations, and nothing says what came before: those "
            "that depend on an earlier turn cannot be answered alone"
        )
