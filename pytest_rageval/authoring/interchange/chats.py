"""Conversations: the question that a chat ends with, and the turns before it. Pure.

A case is one question. The turns before it go to ``metadata.history``, from where a mapping of the
target can send them (docs/target.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.authoring.interchange.cells import parse_list, parse_object, snake, text_of
from pytest_rageval.authoring.interchange.values import Ledger

_ROLES: Final[Mapping[str, str]] = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant",
    "gpt": "assistant", "bot": "assistant", "agent": "assistant", "model": "assistant",
    "system": "system", "developer": "system", "tool": "tool", "function": "tool",
}  # fmt: skip
"""Roles by the names that tools give them, in OpenAI's words."""
_ROLE: Final = ("role", "from", "speaker")
_SAID: Final = ("content", "value", "text", "parts")
_PAIRS: Final = (
    ("question", "answer"), ("input", "output"), ("query", "response"), ("user", "assistant"),
    ("human", "ai"), ("prompt", "output"),
)  # fmt: skip
_HISTORY: Final = frozenset(
    "history chat_history conversation_history dialog_history dialogue_history message_history "
    "previous_messages previous_turns prior_turns past_messages _conversation".split()
)
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

    Messages are objects with a role and a text, as OpenAI, ShareGPT and Gemini write them, or
    pairs of a question and its answer.
    """
    found = parse_object(value)
    given = [found] if isinstance(found, dict) and "role" in found else found
    if not isinstance(given, list):
        return None
    read = [_messages_of(one) if isinstance(one, dict) else None for one in given]
    messages = [message for one in read if one is not None for message in one]
    return messages if messages and None not in read else None


def _messages_of(one: Mapping[str, Any]) -> list[dict[str, str]] | None:
    for asked, said in _PAIRS:
        if isinstance(one.get(asked), str) and isinstance(one.get(said), str):
            said_by = {"user": one[asked], "assistant": one[said]}
            return [{"role": role, "content": text} for role, text in said_by.items()]
    role = next((_ROLES.get(str(one[name]).casefold()) for name in _ROLE if name in one), None)
    name = next((name for name in _SAID if name in one), None)
    if role is None or name is None:
        return None
    text = "\n".join(map(text_of, parse_list(one[name])))
    return [{"role": role, "content": text}]


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
    for name in [name for name in given if snake(name) in _HISTORY]:
        value = given.pop(name)
        before = read_messages(value) or parse_list(value)
        keep_history(line, before, name, ledger)
    if "history" not in line.get("metadata", {}) and not _TURN.isdisjoint(map(snake, given)):
        ledger.note(
            "the questions are turns of conversations, and nothing says what came before: those "
            "that depend on an earlier turn cannot be answered alone"
        )
