"""Conversations of other tools as lines with turns. Pure.

Read in the sources of deepeval 3 (``ConversationalTestCase``, ``ConversationalGolden``), ragas 0.2
(``MultiTurnSample``), in chats as OpenAI's fine-tuning files have them, and in MTRAG.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_rageval.authoring.interchange.cells import parse_object, parse_texts
from pytest_rageval.authoring.interchange.chats import read_messages
from pytest_rageval.authoring.interchange.fields import take_answers
from pytest_rageval.authoring.interchange.values import Ledger, listed
from pytest_rageval.values.case import TURN_FIELDS
from pytest_rageval.values.lenient import part, texts, word

_ANSWERABILITY: Final = ("enrichments", "Answerability")


@dataclass(slots=True)
class _Exchange:
    """A question and the answers to it."""

    question: str
    unanswerable: bool = False
    said: list[str] = field(default_factory=list)
    contexts: list[Any] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A row that is a conversation."""

    name: str
    """Its field of the row."""
    turns: list[dict[str, Any]]
    """Turns of a line of a case file."""
    responses: list[dict[str, Any] | None]
    """Recorded response of each turn; None: it has none."""


def take_conversation(
    given: dict[str, Any], names: Sequence[str], ledger: Ledger, *, recorded: bool
) -> Conversation | None:
    """Remove a conversation from a row and return it; None: no field of the names has one.

    Args:
        given: the row.
        names: fields that may have one, the first that does is taken.
        ledger: counts the messages that are left out.
        recorded: whether answers are those of a system, and not what is expected.
    """
    for name in names:
        messages = parse_object(given.get(name))
        exchanges = _exchanges(messages, name, ledger) if isinstance(messages, list) else []
        if exchanges:
            del given[name]
            ledger.carry(f"{name}[]", len(exchanges))
            return Conversation(
                name=name,
                turns=[_turn(one, ledger, recorded=recorded) for one in exchanges],
                responses=[_response(one) if recorded else None for one in exchanges],
            )
    return None


def _exchanges(messages: Sequence[Any], name: str, ledger: Ledger) -> list[_Exchange]:
    found: list[_Exchange] = []
    for one in messages:
        if not isinstance(one, dict):
            continue
        if one.get("type") in ("human", "ai", "tool"):  # of LangChain, as ragas has them
            one = {"role": one["type"], **one}
        for message in read_messages([one]) or []:
            role, text = message["role"], message["content"].strip()
            if role == "user" and text:
                answerability = texts(one, *_ANSWERABILITY)
                found.append(_Exchange(text, unanswerable="UNANSWERABLE" in answerability))
            elif role == "assistant" and text and found:
                found[-1].said.append(text)
                found[-1].contexts += listed(one.get("contexts") or one.get("retrieval_context"))
            else:
                ledger.leave(f"{name}[]", "neither a question nor an answer to one")
    return found


def _turn(one: _Exchange, ledger: Ledger, *, recorded: bool) -> dict[str, Any]:
    turn: dict[str, Any] = {"question": one.question}
    if one.unanswerable:
        return {**turn, "answerable": False}
    if recorded:
        return turn
    if one.said:
        turn |= take_answers(one.said[-1], ledger)
    golds = [word(context, "document_id") for context in one.contexts if _is_relevant(context)]
    if paths := list(dict.fromkeys(path for path in golds if path)):
        turn["gold_supports"] = [{"rel_path": path} for path in paths]
    return turn


def _is_relevant(context: Any) -> bool:
    """Return whether the annotators of MTRAG took a passage for relevant."""
    votes = part(context, "feedback", "relevant").values()
    given = [word(vote, "value") or vote for vote in votes]
    return isinstance(context, Mapping) and "no" not in given


def _response(one: _Exchange) -> dict[str, Any] | None:
    if not one.said:
        return None
    passages = parse_texts(one.contexts)
    chunks = [
        {"rel_path": f"retrieved/{rank}", "rank": rank, "text": text}
        for rank, text in enumerate(passages, 1)
    ]
    return {"answer": one.said[-1], **({"debug": {"retrieved_chunks": chunks}} if chunks else {})}


def with_turns(line: dict[str, Any], found: Conversation) -> dict[str, Any]:
    """Return a line with turns; what it has that belongs to a turn is that of the last one."""
    of_turn = {name: value for name, value in line.items() if name in TURN_FIELDS}
    rest = {name: value for name, value in line.items() if name not in TURN_FIELDS}
    *first, last = found.turns
    return {**rest, "turns": [*first, {**last, **of_turn, "question": last["question"]}]}
