"""Contents of logs: rows, requests, and question, answer and passages in them. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal, get_args

from pytest_rageval.authoring.interchange.chats import content_text, read_chat, read_messages
from pytest_rageval.authoring.linting.duplicates import words
from pytest_rageval.metrics.non_claims import opening
from pytest_rageval.support.text import whole_text
from pytest_rageval.target.adapters import PATHS, from_documents
from pytest_rageval.values.lenient import part

LOGS: Final = ("jsonl", "langfuse", "otel", "phoenix")
"""Formats of logs, the keys of `readers.READERS`."""
Feedback = Literal["up", "down"]
Stratum = Literal["random", "thumbs_down", "abstained", "long", "no_chunks"]
STRATA: Final[tuple[Stratum, ...]] = get_args(Stratum)
"""Groups of requests to sample from; ``random`` is every request that is in none of the others that
were asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Content of one row of a log; the rows of a request may be anywhere in the file."""

    trace: str = ""
    """Id of the request; empty: the row names only a span of it."""
    span: str = ""
    """Id of the step, for rows that refer to it."""
    rank: int = 0
    """Distance from the user: 0 for a trace as a whole, 1 for a step without a parent, 2 for one
    with, 3 for a call of a model, 4 for what only tells of a request. Question and answer are those
    of the lowest rank that has one."""
    at: str = ""
    """Time as the log writes it, a number as ISO 8601; it orders pieces of one rank."""
    question: str = ""
    history: tuple[Mapping[str, str], ...] = ()
    """Messages before the question, as ``{"role", "content"}``."""
    answer: str = ""
    retrieved: Any = None
    """Retrieved passages as they are logged (`messages.passages`); None: the row is not about
    retrieval."""
    references: Any = None
    """Sources that the answer names, as they are logged."""
    feedback: float | None = None
    """Opinion of a user: infinity for liked, minus infinity for not, else a number."""
    scale: str = ""
    """Name of the score that the number is of; its scale is that of all with this name."""
    abstained: bool | None = None
    """Whether the log says that the answer is a refusal; None: it does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """One request of a log, put together from its pieces."""

    trace: str
    turn: int = 0
    """Number of the request in its trace, from 0."""
    at: str = ""
    question: str
    history: tuple[Mapping[str, str], ...] = ()
    answer: str = ""
    chunks: tuple[Mapping[str, Any], ...] | None = None
    references: tuple[Mapping[str, Any], ...] = ()
    feedback: Feedback | None = None
    abstained: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """The requests of one family of near-equal questions in one stratum, sampled."""

    request: Logged
    """The request that stands for them."""
    stratum: Stratum
    """Group that it was sampled from."""
    size: int
    """Requests of the family, in all strata."""
    share: float
    """``size`` over all requests with a question, 0 to 1."""
    weight: float
    """Requests of the log that it stands for: those of the family in the stratum, times the
    families of the stratum over those sampled (Horvitz and Thompson 1952)."""


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts of a reading."""

    rows: int = 0
    requests: int = 0
    """Requests with a question."""
    without_question: int = 0
    families: int = 0
    unmatched: int = 0
    """Rows that name a span which no other row has."""
    strata: dict[Stratum, tuple[int, int]] = field(default_factory=dict)
    """Families of a stratum, and those sampled from it."""
    left_out: int = 0
    """Requests in no stratum that was asked for."""
    compared: int | None = None
    """Number of questions among which near-duplicates were looked for, if not among all."""


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
