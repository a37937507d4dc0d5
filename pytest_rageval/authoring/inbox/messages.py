"""Question, answer and passages in the inputs and outputs that instrumentations log. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from pytest_rageval.authoring.interchange.chats import content_text, read_chat, read_messages
from pytest_rageval.authoring.linting.duplicates import words
from pytest_rageval.metrics.non_claims import opening
from pytest_rageval.support.text import whole_text
from pytest_rageval.target.adapters import PATHS, from_documents
from pytest_rageval.values.lenient import part

_ASKED: Final = (
    "question", "query", "user_input", "user_query", "input", "prompt", "message", "text",
    "content", "messages", "chat_history", "inputs", "args", "kwargs", "data", "value",
)  # fmt: skip
_SAID: Final = (
    "answer", "response", "output", "output_text", "completion", "result", "reply", "text",
    "content", "message", "messages", "choices", "candidates", "outputs", "generations", "data",
    "value",
)  # fmt: skip
_PASSAGES: Final = (
    "documents", "context", "contexts", "chunks", "retrieved_chunks", "source_documents",
    "source_nodes", "nodes", "passages", "results", "matches", "hits", "output", "result",
)  # fmt: skip
_NAMES: Final = (*PATHS, "title", "name", "doc_id", "document_id", "chunk_id", "id")
_OTHER_NAMES: Final = {"pageContent": "text", "document": "text", "chunk_text": "text"}
"""Names of the text of a passage that `from_documents` does not know."""
_DEPTH: Final = 5
_ENCODED: Final = re.compile(
    r"data:[\w.+-]+/[\w.+-]+(?:;[\w=.+-]+)*,[\w+/%=.-]*|@@@langfuseMedia:[^@\s]*@@@"
)
"""A file written into a text, or the mark that Langfuse leaves of one."""
_SENTENCES: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_GREETING: Final = 2
"""Words of a question that says nothing alone, such as "And then?"."""
_HELLO: Final = re.compile(
    r"^\W*(?:hello|hi|hey|hiya|hallo|moin|servus|bonjour|salut|hola|ciao|olá|hoi|hej)\b(?=[\s,!])[\s,!]*",
    re.I,
)
_PLEASE: Final = re.compile(
    r"[\s,]*\b(?:please|pls|kindly|bitte|s'il (?:vous|te) pla[iî]t|svp|por favor|per favore"
    r"|per piacere|alstublieft|alsjeblieft|proszę)\b,?",
    re.IGNORECASE,
)

Asked = tuple[str, tuple[Mapping[str, str], ...]]


def parsed(value: Any) -> Any:
    """Return the JSON value that a text holds if it is an object or a list, else the value."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def asked(value: Any, depth: int = _DEPTH) -> Asked:
    """Return the question in an input, and the messages before it; empty: not found."""
    found = parsed(value)
    if (messages := _messages(found)) is not None:
        if (chat := read_chat(messages)) is None:
            return "", ()
        before = ({**one, "content": _text(one["content"])} for one in chat.before)
        return _text(chat.question), tuple(before)
    inner = (asked(one, depth - 1) for one in _inner(found, _ASKED, depth))
    return next((one for one in inner if one[0]), (_own(found), ()))


def said(value: Any, depth: int = _DEPTH) -> str:
    """Return the answer in an output; empty: not found."""
    found = parsed(value)
    if (messages := _messages(found)) is not None:
        spoken = (one["content"] for one in reversed(messages) if one["role"] == "assistant")
        return _text(next(spoken, ""))
    inner = (said(one, depth - 1) for one in _inner(found, _SAID, depth))
    return next((one for one in inner if one), _own(found))


def _messages(found: Any) -> list[dict[str, str]] | None:
    return read_messages(found) if isinstance(found, list | dict) else None


def _inner(found: Any, names: Sequence[str], depth: int) -> Iterable[Any]:
    """Return the values that may hold a text, without the parts of a message."""
    if isinstance(found, dict) and depth:
        return [found[name] for name in names if name in found]
    return found if isinstance(found, list) and depth and not _is_parts(found) else ()


def _own(found: Any) -> str:
    if isinstance(found, list) and _is_parts(found):
        return _text(content_text(found))
    return _text(found) if isinstance(found, str) else ""


def _is_parts(found: Sequence[Any]) -> bool:
    """Whether a list has the parts of one message: texts, images and so on."""
    return all(isinstance(one, dict) and isinstance(one.get("type"), str) for one in found)


def _text(text: str) -> str:
    plain = _ENCODED.sub("[file]", whole_text(text)).strip()
    return "" if plain == "[file]" else plain


def without_courtesy(text: str) -> str:
    """Return the sentences of a message that ask, without its greetings, and without "please".

    >>> without_courtesy("Hello! It is me again. How long is it valid, please?")
    'How long is it valid?'
    """
    sentences = [one.strip() for one in _SENTENCES.split(text) if one.strip(" ?!.")]
    asking = " ".join(map(_bare, (one for one in sentences if one.endswith(("?", "？")))))
    if len(words(asking)) <= _GREETING:
        asking = " ".join(map(_bare, sentences))
    return asking if len(words(asking)) > _GREETING else text


def _bare(sentence: str) -> str:
    return _PLEASE.sub("", _HELLO.sub("", sentence[opening(sentence) :])).strip(" ,")


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
