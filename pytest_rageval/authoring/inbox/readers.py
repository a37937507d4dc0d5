"""Rows of logs as pieces of requests: Langfuse, Phoenix, OTLP JSON and plain rows. Pure.

Read in the documentation of Langfuse's exports (UI, blob storage, API), of OpenInference and
Phoenix (data frames, REST), of OTLP JSON and the OpenTelemetry conventions for generative AI.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pytest_rageval.authoring.inbox.messages import Asked, asked, parsed, said
from pytest_rageval.authoring.inbox.values import Piece
from pytest_rageval.values.json_documents import items, part, text

Row = Mapping[str, Any]
Columns = Mapping[str, str]
"""Field of ours to the name of a column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFormat:
    """One format of logs."""

    read: Callable[[Row, Columns], Iterator[Piece]]
    """Yields the pieces in one row."""
    lists: tuple[str, ...] = ()
    """Keys of a document below which its rows are, from the outside in, where it is not a list."""


# --- feedback ------------------------------------------------------------------------------------

_OPINION: Final = ("feedback", "thumb", "rating", "vote", "like", "user")
_UP: Final = frozenset("up thumbs_up thumbsup positive good like liked yes true helpful 👍".split())
_DOWN: Final = frozenset(
    "down thumbs_down thumbsdown negative bad dislike disliked no false unhelpful 👎".split()
)


def opinion(value: object) -> float | None:
    """Return a user's opinion as `Piece.feedback` has it; None: the value is not one."""
    said = str(value).casefold()
    word = "_".join(said.replace("_", " ").replace("-", " ").split())
    if word in _UP or word in _DOWN:
        return math.inf if word in _UP else -math.inf
    try:
        number = float(said)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _is_opinion(name: str, source: str = "") -> bool:
    by_machine = source.casefold() in {"eval", "llm", "code"}
    return not by_machine and any(one in name.casefold() for one in _OPINION)


# --- Langfuse ------------------------------------------------------------------------------------


def _key(row: Row, *names: str) -> Any:
    """Return the first value that is set, by its name in snake_case or camelCase."""
    for name in names:
        head, *tail = name.split("_")
        for one in (name, head + "".join(map(str.title, tail))):
            if row.get(one) not in (None, ""):
                return row[one]
    return None


def _langfuse(row: Row, columns: Columns) -> Iterator[Piece]:
    """Read a trace, an observation or a score, and what a trace has inside it."""
    for name in ("trace", "observations", "scores"):
        inner = row.get(name)
        for one in inner if isinstance(inner, list) else [inner]:
            if isinstance(one, dict):
                within = {"trace_id": text(row, "id")} if row.get("id") else {}
                yield from _langfuse({**within, **one}, columns)
    trace = _key(row, "trace_id")
    if _key(row, "value", "string_value") is not None and "input" not in row:
        source = str(_key(row, "source") or "")
        if _is_opinion(text(row, "name"), source):
            step = str(_key(row, "observation_id") or "")
            liked = opinion(_key(row, "string_value"))
            liked = opinion(_key(row, "value")) if liked is None else liked
            yield Piece(trace=str(trace or ""), span=step, feedback=liked)
        return
    kind = str(_key(row, "type") or "").upper()
    if "input" not in row and "output" not in row:
        return
    is_trace = trace is None and not kind
    parent = _key(row, "parent_observation_id")
    output = row.get("output")
    is_search = kind == "RETRIEVER" or "retriev" in text(row, "name")
    piece = Piece(
        trace=str(_key(row, "id") if is_trace else trace or ""),
        span=text(row, "id"),
        at=str(_key(row, "timestamp", "start_time") or ""),
    )
    if is_search and isinstance(parsed(output), list | dict):
        yield replace(piece, rank=1, retrieved=output)
        return
    question, before = asked(row.get("input"))
    yield replace(
        piece,
        rank=0 if is_trace or (parent is None and kind != "GENERATION") else _rank(kind),
        question=question,
        history=before,
        answer=said(output),
    )


def _rank(kind: str) -> int:
    return 2 if kind in {"GENERATION", "LLM", "EMBEDDING", "TOOL"} else 1


# --- spans of OpenTelemetry -------------------------------------------------------------------


def nested(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes with dots in their names as objects and lists, by OpenInference's rule."""
    found: dict[str, Any] = {}
    for name, value in attributes.items():
        place = found
        *above, last = str(name).split(".")
        for key in above:
            inner = place.get(key)
            place[key] = place = inner if isinstance(inner, dict) else {}
        inner = nested(value) if isinstance(value, dict) else value
        if isinstance(value, list):
            inner = [nested(one) if isinstance(one, dict) else one for one in value]
        if isinstance(place.get(last), dict) and isinstance(inner, dict):
            place[last] |= inner
        elif not (isinstance(place.get(last), dict) and value is None):
            place[last] = inner
    return {key: _listed(value) for key, value in found.items()}


def _listed(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    inner = {key: _listed(one) for key, one in value.items()}
    if inner and all(key.isdecimal() and len(key) < 7 for key in inner):
        return [inner[key] for key in sorted(inner, key=int)]
    return inner


def _messages(attributes: Mapping[str, Any], *path: str) -> list[Any]:
    return [one.get("message", one) for one in items(attributes, *path) if isinstance(one, dict)]


def _span(span: Mapping[str, Any], attributes: Mapping[str, Any]) -> Iterator[Piece]:
    """Read one span by the names of OpenInference and of the OpenTelemetry conventions."""
    kind = (text(attributes, "openinference", "span", "kind") or text(span, "kind")).upper()
    operation = text(attributes, "gen_ai", "operation", "name")
    gen_ai = part(attributes, "gen_ai")
    piece = Piece(trace=span["trace"], span=span["span"], at=span["at"])
    documents = part(attributes, "retrieval").get("documents")
    if documents is None:
        documents = part(gen_ai, "retrieval").get("documents")
    if documents is None and (kind == "RETRIEVER" or operation == "retrieval"):
        documents = part(attributes, "output").get("value")
        documents = [] if documents is None else documents
    if documents is not None:
        yield replace(piece, rank=1, retrieved=documents)
    for name, label in (*_annotations(span), *_evaluations(span)):
        if _is_opinion(name):
            yield replace(piece, feedback=opinion(label))
    if kind == "RETRIEVER" or operation == "retrieval":
        return
    inputs = (
        part(attributes, "input").get("value"),
        _messages(attributes, "llm", "input_messages"),
        part(gen_ai, "input").get("messages"),
        part(gen_ai).get("prompt"),
    )
    outputs = (
        part(attributes, "output").get("value"),
        _messages(attributes, "llm", "output_messages"),
        part(gen_ai, "output").get("messages"),
        part(gen_ai).get("completion"),
    )
    question, before = next(filter(_has_text, map(asked, inputs)), ("", ()))
    answer = next(filter(None, map(said, outputs)), "")
    if question or answer:
        is_model = kind in {"LLM", "EMBEDDING", "RERANKER", "TOOL"} or operation in {
            "chat", "text_completion", "generate_content", "embeddings", "execute_tool",
        }  # fmt: skip
        rank = 2 if is_model else 1 if span.get("parent") else 0
        yield replace(piece, rank=rank, question=question, history=before, answer=answer)


def _has_text(found: Asked) -> bool:
    return bool(found[0])


def _annotations(span: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for one in span["annotations"]:
        result = part(one, "result") or one
        label = result.get("label")
        yield text(one, "name"), label if label not in (None, "") else result.get("score")


def _evaluations(span: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for event in span["events"]:
        said_of = nested(event)
        evaluation = part(said_of, "gen_ai", "evaluation")
        score = part(evaluation, "score")
        label = score.get("label")
        yield text(evaluation, "name"), label if label is not None else score.get("value")


def _phoenix(row: Row, columns: Columns) -> Iterator[Piece]:
    """Read a span of a data frame or of the REST API, or an annotation of one."""
    for span in items(row, "spans"):  # of a trace
        yield from _phoenix(span, columns)
    flat = nested({key: parsed(value) for key, value in row.items()})
    trace = text(flat, "context", "trace_id") or text(flat, "trace_id") or text(flat, "traceId")
    span_id = text(flat, "context", "span_id") or text(flat, "span_id")
    if not trace or "annotator_kind" in row:
        for name, label in _annotations({"annotations": [row]}):
            if _is_opinion(name or text(row, "annotation_name"), text(row, "annotator_kind")):
                yield Piece(trace=trace, span=span_id, feedback=opinion(label))
        return
    span = {
        "trace": trace,
        "span": span_id,
        "parent": _key(row, "parent_id"),
        "kind": text(row, "span_kind") or text(row, "spanKind"),
        "at": str(_key(row, "start_time") or ""),
        "annotations": [
            *items(flat, "annotations"),
            *({"name": name, **part(one)} for name, one in part(flat, "annotation").items()),
        ],
        "events": (),
    }
    yield from _span(span, part(flat, "attributes"))


def _otel(row: Row, columns: Columns) -> Iterator[Piece]:
    """Read spans of OTLP JSON: a request to a receiver, a part of one, or one span."""
    for name in ("resourceSpans", "scopeSpans", "spans"):
        for inner in items(row, name):
            if isinstance(inner, dict):
                yield from _otel(inner, columns)
    if not row.get("traceId"):
        return
    span = {
        "trace": text(row, "traceId"),
        "span": text(row, "spanId"),
        "parent": row.get("parentSpanId"),
        "kind": "",
        "at": text(row, "startTimeUnixNano").rjust(20, "0"),
        "annotations": (),
        "events": [_attributes(event) for event in items(row, "events")],
    }
    yield from _span(span, nested(_attributes(row)))


def _attributes(holder: Row) -> dict[str, Any]:
    pairs = [one for one in items(holder, "attributes") if isinstance(one, dict)]
    return {text(one, "key"): _any_value(one.get("value")) for one in pairs}


def _any_value(value: Any) -> Any:
    """Return a value of OTLP JSON; 64-bit integers are texts there."""
    given = value if isinstance(value, dict) else {}
    if "arrayValue" in given:
        return [_any_value(one) for one in items(given, "arrayValue", "values")]
    if "kvlistValue" in given:
        pairs = [one for one in items(given, "kvlistValue", "values") if isinstance(one, dict)]
        return {text(one, "key"): _any_value(one.get("value")) for one in pairs}
    return next(iter(given.values()), None)


# --- plain rows ----------------------------------------------------------------------------------

_PLAIN: Final[Mapping[str, tuple[str, ...]]] = {
    "trace": ("trace", "trace_id", "request_id", "id"),
    "question": ("question", "query", "user_input", "input", "prompt", "messages"),
    "answer": ("answer", "response", "output", "completion"),
    "contexts": ("contexts", "context", "chunks", "retrieved_chunks", "documents", "passages"),
    "references": ("references", "citations", "sources"),
    "feedback": ("feedback", "rating", "thumbs", "thumb", "vote", "score"),
    "at": ("at", "timestamp", "time", "created_at", "date"),
}
PLAIN_FIELDS: Final = tuple(_PLAIN)
"""Fields of ours that a column may be named for."""


def _plain(row: Row, columns: Columns) -> Iterator[Piece]:
    given: dict[str, Any] = {}
    for field, names in _PLAIN.items():
        wanted = (columns[field],) if field in columns else names
        found = (_at(row, name) for name in wanted)
        given[field] = next((one for one in found if one not in (None, "")), None)
    question, before = asked(given["question"])
    yield Piece(
        trace=str(given["trace"] or ""),
        at=str(given["at"] or ""),
        question=question,
        history=before,
        answer=said(given["answer"]),
        retrieved=_listed_text(given["contexts"]),
        references=_listed_text(given["references"]),
        feedback=opinion(given["feedback"]),
    )


def _listed_text(value: Any) -> Any:
    """Return a text that is no JSON as the one passage of a list."""
    return [value] if isinstance(parsed(value), str) else value


def _at(row: Row, path: str) -> Any:
    """Return the value of a column, or of a path into objects such as ``inputs.question``."""
    if path in row:
        return row[path]
    head, dot, rest = path.partition(".")
    inner = parsed(row.get(head)) if dot else None
    return _at(inner, rest) if isinstance(inner, dict) else None


READERS: Final[Mapping[str, LogFormat]] = {
    "langfuse": LogFormat(read=_langfuse, lists=("data",)),
    "phoenix": LogFormat(read=_phoenix, lists=("data",)),
    "otel": LogFormat(read=_otel, lists=("resourceSpans", "scopeSpans", "spans")),
    "jsonl": LogFormat(read=_plain, lists=("data",)),
}
