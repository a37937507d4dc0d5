"""Question, answer and passages in the inputs and outputs that instrumentations log. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from pytest_rageval.authoring.interchange.chats import read_chat, read_messages
from pytest_rageval.authoring.linting.duplicates import words
from pytest_rageval.support.text import whole_text
from pytest_rageval.target.adapters import PATHS, from_documents
from pytest_rageval.values.json_documents import part

_ASKED: Final = (
    "question", "query", "user_input", "user_query", "input", "prompt", "message", "text",
    "content", "messages", "chat_history", "inputs", "args", "kwargs", "data", "value",
)  # fmt: skip
_SAID: Final = (
    "answer", "response", "output", "output_text", "completion", "result", "reply", "text",
    "content", "message", "messages", "choices", "outputs", "generations", "data", "value",
)  # fmt: skip
_PASSAGES: Final = (
    "documents", "context", "contexts", "chunks", "retrieved_chunks", "source_documents",
    "source_nodes", "nodes", "passages", "results", "matches", "hits", "output", "result",
)  # fmt: skip
_NAMES: Final = (*PATHS, "title", "name", "doc_id", "document_id", "chunk_id", "id")
_OTHER_NAMES: Final = {"pageContent": "text", "document": "text", "chunk_text": "text"}
"""Names of the text of a passage that `from_documents` does not know."""
_DEPTH: Final = 5
_SENTENCE: Final = re.compile(r"[^.!?\n]*[.!?\n]?")
_GREETING: Final = 2
"""Words of a question that says nothing alone, such as "And then?"."""

Asked = tuple[str, tuple[Mapping[str, str], ...]]


def parsed(value: Any) -> Any:
    """Return the JSON value that a text holds if it is an object or a list, else the value."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _chat(found: Any) -> Any:
    """Return messages with a role; those of LangChain have a type in its place."""
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        return found
    return [
        {"role": one["type"], **one} if one.get("type") in ("human", "ai", "tool") else one
        for one in found
    ]


def asked(value: Any, depth: int = _DEPTH) -> Asked:
    """Return the question in an input, and the messages before it; empty: not found."""
    found = _chat(parsed(value))
    if isinstance(found, str):
        return whole_text(found).strip(), ()
    if isinstance(found, list | dict) and (chat := read_chat(found)) is not None:
        return whole_text(chat.question).strip(), chat.before
    if not depth:
        return "", ()
    inner = [found[key] for key in _ASKED if key in found] if isinstance(found, dict) else found
    for one in inner if isinstance(inner, list) else ():
        question, before = asked(one, depth - 1)
        if question:
            return question, before
    return "", ()


def without_greeting(text: str) -> str:
    """Return the sentences of a message that ask, without its greetings.

    >>> without_greeting("Hello! It is me again. How long is it valid?")
    'How long is it valid?'
    """
    asking = " ".join(one.strip() for one in _SENTENCE.findall(text) if one.endswith("?"))
    return asking if len(words(asking)) > _GREETING else text


def said(value: Any, depth: int = _DEPTH) -> str:
    """Return the answer in an output; empty: not found."""
    found = _chat(parsed(value))
    if isinstance(found, str):
        return whole_text(found).strip()
    messages = read_messages(found) or []
    spoken = [one["content"] for one in messages if one["role"] == "assistant"]
    if spoken:
        return whole_text(spoken[-1]).strip()
    if not depth:
        return ""
    inner = [found[key] for key in _SAID if key in found] if isinstance(found, dict) else found
    for one in inner if isinstance(inner, list) else ():
        if answer := said(one, depth - 1):
            return answer
    return ""


def passages(value: Any, depth: int = _DEPTH) -> tuple[dict[str, Any], ...] | None:
    """Return the retrieved chunks in a value, as an ask response has them.

    Returns:
        None: the value lists none. Without a document a chunk has the path ``retrieved/1`` etc.
    """
    found = parsed(value)
    if isinstance(found, dict):
        lists = [found[key] for key in _PASSAGES if key in found] if depth else []
        inner = next((one for v in lists if (one := passages(v, depth - 1)) is not None), None)
        if inner is not None or not isinstance(found.get("text"), str):
            return inner
        found = [found]
    if not isinstance(found, list):
        return None
    if len(found) == 1 and isinstance(found[0], list):
        found = found[0]
    texts = [parsed(one) for one in found]
    if not all(isinstance(one, str | dict) for one in texts):
        return None
    documents = [{"text": one} if isinstance(one, str) else _document(one) for one in texts]
    chunks = []
    for number, document in enumerate(documents, 1):
        (chunk,) = from_documents([document], path=partial(_path, number=number))
        fields = {
            "rel_path": whole_text(chunk.rel_path),
            "heading_path": chunk.heading_path,
            "chunk_id": chunk.chunk_id,
            "score_final": chunk.score_final,
            "text": None if chunk.text is None else whole_text(chunk.text),
        }
        chunks.append({name: value for name, value in fields.items() if value is not None})
    return tuple(chunks)


def _document(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with the keys of OpenInference without their prefix."""
    inner = part(given, "document") or given
    inner = part(inner, "node") or inner  # LlamaIndex
    plain = {str(key).removeprefix("document."): value for key, value in inner.items()}
    plain |= {ours: plain.pop(name) for name, ours in _OTHER_NAMES.items() if name in plain}
    if isinstance(metadata := parsed(plain.get("metadata")), dict):
        plain["metadata"] = metadata
    else:
        plain.pop("metadata", None)
    score = plain.get("score", given.get("score"))
    return plain if score is None else {**plain, "score": score}


def _path(metadata: Mapping[str, Any], number: int) -> str:
    named = (metadata.get(name) for name in _NAMES)
    found = next((str(one) for one in named if isinstance(one, str | int) and str(one).strip()), "")
    return found or f"retrieved/{number}"
