"""Rows of logs as pieces of requests: Langfuse, Phoenix, OTLP JSON and plain rows. Pure.

Read in the documentation of Langfuse's exports (UI, blob storage, API), of OpenInference and
Phoenix (data frames, REST), of OTLP JSON and the OpenTelemetry conventions for generative AI (1.36
and later, with their events). All of them end in `_exchange`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from pytest_rageval.authoring.inbox.messages import Piece, asked, parsed, passages, said
from pytest_rageval.authoring.interchange.cells import snake
from pytest_rageval.authoring.interchange.chats import HISTORY, read_messages
from pytest_rageval.values.lenient import items, part, text

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


# --- what every format says ----------------------------------------------------------------------

_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "trace": ("trace", "trace_id", "request_id", "id"),
    "question": ("question", "query", "user_input", "input", "prompt", "messages"),
    "answer": ("answer", "response", "output", "completion"),
    "contexts": (
        "contexts", "context", "chunks", "retrieved_chunks", "retrieved_contexts", "documents",
        "source_documents", "source_nodes", "passages",
    ),
    "references": ("references", "citations", "sources"),
    "feedback": ("feedback", "rating", "thumbs", "thumb", "vote", "score"),
    "abstained": ("abstained", "abstain", "abstention", "no_answer"),
    "history": HISTORY,
    "at": ("at", "timestamp", "time", "created_at", "date"),
}  # fmt: skip
PLAIN_FIELDS: Final = tuple(_NAMES)
"""Fields of ours that a column may be named for."""
_WITHIN: Final = ("output", "outputs", "response", "result", "data", "debug")
"""Keys of an object below which an output has the names above."""
_OPINION: Final = frozenset(
    "feedback thumb thumbs rating ratings vote votes like likes liked user".split()
)
"""Words of the names of scores that users give."""
_UP: Final = frozenset("up thumbs_up thumbsup positive good like liked yes true helpful 👍".split())
_DOWN: Final = frozenset(
    "down thumbs_down thumbsdown negative bad dislike disliked no false unhelpful 👎".split()
)
_SINCE_1970: Final = re.compile(r"(1\d{9})((?:\d{3}){0,3})(?:\.\d*)?")
"""Seconds from 2001 to 2033, or with more digits milliseconds, microseconds or nanoseconds; later
ones could be numbers of cards."""


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
    return not by_machine and not _OPINION.isdisjoint(snake(name).replace(".", "_").split("_"))


def iso(value: object) -> str:
    """Return a time as text, a number since 1970 in ISO 8601.

    >>> iso("1793527200500000000")
    '2026-11-01T10:00:00.500000+00:00'
    """
    text = "" if value is None else str(value)
    if not (found := _SINCE_1970.fullmatch(text)):
        return text
    fraction = int(found[2][:6].ljust(6, "0"))
    return datetime.fromtimestamp(int(found[1]), UTC).replace(microsecond=fraction).isoformat()


def _exchange(piece: Piece, inputs: Iterable[Any], outputs: Sequence[Any]) -> Piece:
    """Return a piece with the question, the answer and what stands beside them.

    Args:
        piece: what is known of it.
        inputs: forms of the input; the first that has a question counts.
        outputs: forms of the output; so for the answer.
    """
    inputs = [*inputs]
    question, before = next((one for one in map(asked, inputs) if one[0]), ("", ()))
    beside = [*map(parsed, (*outputs, *inputs))]
    told = next(filter(None, map(read_messages, _named(beside, "history"))), [])
    return replace(
        piece,
        question=question,
        history=before or tuple(one for one in told if one["role"] in {"user", "assistant"}),
        answer=next(filter(None, map(said, outputs)), ""),
        retrieved=next(filter(_lists_passages, _named(beside, "contexts")), None),
        references=next(_named(beside, "references"), None),
        abstained=next(map(_flag, _named(beside, "abstained")), None),
    )


def _named(documents: Iterable[Any], field: str) -> Iterator[Any]:
    """Yield what objects have under the names of a field, themselves or within an output."""
    for document in documents:
        if isinstance(document, dict):
            found = (document[name] for name in _NAMES[field] if name in document)
            yield from (_listed_text(one) for one in found if one not in (None, ""))
            yield from _named((parsed(document.get(name)) for name in _WITHIN), field)


def _lists_passages(value: Any) -> bool:
    return passages(value) is not None


def _listed_text(value: Any) -> Any:
    """Return a text that is not JSON as the one passage of a list, an empty one as None."""
    if value == "":
        return None
    return [value] if isinstance(parsed(value), str) else value


def _flag(value: Any) -> bool | None:
    given = opinion(value[0] if isinstance(value, list) and value else value)
    return None if given is None else given > 0


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
    """Read a trace, an observation or a score, and what a trace or a session has inside it."""
    for name in ("traces", "trace", "observations", "scores"):
        inner = row.get(name)
        for one in inner if isinstance(inner, list) else [inner]:
            if isinstance(one, dict):
                is_part = row.get("id") and name in {"observations", "scores"}
                within = {"trace_id": text(row, "id")} if is_part else {}
                yield from _langfuse({**within, **one}, columns)
    trace, kind = (str(_key(row, name) or "") for name in ("trace_id", "type"))
    is_trace = not trace and not kind
    piece = Piece(
        trace=text(row, "id") if is_trace else trace,
        span="" if is_trace else text(row, "id"),
        at=iso(_key(row, "timestamp", "start_time")),
    )
    if "input" in row or "output" in row:
        yield from _observation(row, piece, "TRACE" if is_trace else kind.upper())
    elif _key(row, "value", "string_value") is not None:
        name, source = text(row, "name"), str(_key(row, "source") or "")
        values = (opinion(_key(row, one)) for one in ("string_value", "value"))
        if _is_opinion(name, source):
            liked = next((one for one in values if one is not None), None)
            span = str(_key(row, "observation_id") or "")
            yield replace(piece, trace=trace, span=span, rank=4, feedback=liked, scale=name)


def _observation(row: Row, piece: Piece, kind: str) -> Iterator[Piece]:
    for name, value in row.items():  # scores in the export of a table
        if _is_opinion(name) and isinstance(scores := parsed(value), list):
            for one in scores:
                yield replace(piece, rank=4, feedback=opinion(one), scale=name)
    output = parsed(row.get("output"))
    is_list = kind in {"", "SPAN"} and isinstance(output, list)
    if kind == "RETRIEVER" or (is_list and "retriev" in text(row, "name").casefold()):
        yield replace(piece, rank=2, retrieved=_listed_text(output))
    elif kind not in _SILENT:
        parent = _key(row, "parent_observation_id")
        rank = {"TRACE": 0, "GENERATION": 3}.get(kind, 1 if parent is None else 2)
        yield _exchange(replace(piece, rank=rank), [row.get("input")], [output])


_SILENT: Final = frozenset(
    "EMBEDDING RERANKER TOOL GUARDRAIL EVALUATOR EMBEDDINGS EXECUTE_TOOL CREATE_AGENT".split()
)
"""Kinds of steps whose input is not a question and whose output is not an answer."""
_MODEL: Final = frozenset("LLM PROMPT CHAT TEXT_COMPLETION GENERATE_CONTENT".split())


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


def _span(span: Mapping[str, Any], attributes: Mapping[str, Any]) -> Iterator[Piece]:
    """Read one span by the names of OpenInference and of the OpenTelemetry conventions."""
    kinds = {
        text(attributes, "openinference", "span", "kind").upper() or text(span, "kind").upper(),
        text(attributes, "gen_ai", "operation", "name").upper(),
    }
    piece = Piece(trace=span["trace"], span=span["span"], at=span["at"])
    is_search = not kinds.isdisjoint({"RETRIEVER", "RETRIEVAL"})
    documents = part(attributes, "retrieval").get("documents")
    if documents is None:
        documents = part(attributes, "gen_ai", "retrieval").get("documents")
    if documents is None and is_search:
        documents = part(attributes, "output").get("value", [])
    if documents is not None:
        yield replace(piece, rank=2, retrieved=documents)
    for name, kind, label in (*_annotations(span), *_evaluations(span)):
        if _is_opinion(name, kind):
            yield replace(piece, rank=4, feedback=opinion(label), scale=name)
    if is_search or not kinds.isdisjoint(_SILENT):
        return
    spoken = [_spoken(attributes), *map(_spoken, span["events"]), _message_events(span["events"])]
    inputs, outputs = ([one for pair in spoken for one in pair[side]] for side in (0, 1))
    rank = 3 if not kinds.isdisjoint(_MODEL) else 2 if span["parent"] else 1
    found = _exchange(replace(piece, rank=rank), inputs, outputs)
    if not found.question and not found.answer:  # a message that an event has alone
        messages = next(filter(None, map(read_messages, inputs)), [])
        found = replace(found, history=tuple(one for one in messages if one["role"] != "system"))
    if found.question or found.answer or found.history:
        yield found


_Spoken = tuple[list[Any], list[Any]]


def _spoken(attributes: Mapping[str, Any]) -> _Spoken:
    """Return the forms of the input and of the output in attributes."""
    gen_ai, llm = part(attributes, "gen_ai"), part(attributes, "llm")
    return (
        [
            part(attributes, "input").get("value"),
            llm.get("input_messages"),
            part(gen_ai, "input").get("messages"),
            gen_ai.get("prompt"),
        ],
        [
            part(attributes, "output").get("value"),
            llm.get("output_messages"),
            part(gen_ai, "output").get("messages"),
            gen_ai.get("completion"),
        ],
    )


def _message_events(events: Iterable[Mapping[str, Any]]) -> _Spoken:
    """Return the messages that events have, one each, as the conventions had it up to 1.36."""
    taken: list[Any] = []
    given: list[Any] = []
    for event in events:
        name = text(event, "event", "name")
        role = name.removeprefix("gen_ai.").removesuffix(".message")
        if name == "gen_ai.choice":
            given.append({"role": "assistant", **event})
        elif name == f"gen_ai.{role}.message":
            taken.append({"role": role, **event})
    return [taken], [given]


def _annotations(span: Mapping[str, Any]) -> Iterator[tuple[str, str, object]]:
    for one in span["annotations"]:
        result = part(one, "result") or one
        label = result.get("label")
        value = label if label not in (None, "") else result.get("score")
        yield text(one, "name"), text(one, "annotator_kind"), value


def _evaluations(span: Mapping[str, Any]) -> Iterator[tuple[str, str, object]]:
    for event in span["events"]:
        evaluation = part(event, "gen_ai", "evaluation")
        score = part(evaluation, "score")
        label = score.get("label")
        yield text(evaluation, "name"), "", label if label is not None else score.get("value")


def _phoenix(row: Row, columns: Columns) -> Iterator[Piece]:
    """Read a span of a data frame or of the REST API, or an annotation of one."""
    if isinstance(row.get("attributes"), list):  # spans as OTLP
        yield from _otel(row, columns)
        return
    for span in items(row, "spans"):  # of a trace
        yield from _phoenix(span, columns)
    flat = nested({key: parsed(value) for key, value in row.items()})
    trace = text(flat, "context", "trace_id") or text(flat, "trace_id") or text(flat, "traceId")
    span_id = text(flat, "context", "span_id") or text(flat, "span_id")
    at = iso(_key(row, "start_time", "created_at"))
    span = {
        "trace": trace,
        "span": span_id,
        "parent": _key(row, "parent_id"),
        "kind": text(row, "span_kind") or text(row, "spanKind"),
        "at": at,
        "annotations": [
            *items(flat, "annotations"),
            *({"name": name, **part(one)} for name, one in part(flat, "annotation").items()),
        ],
        "events": [nested(part(one, "attributes")) for one in items(flat, "events")],
    }
    if "annotator_kind" in row or not trace:
        span["annotations"] = [{**flat, "name": _key(row, "annotation_name", "name")}]
    yield from _span(span, part(flat, "attributes"))


_OTLP: Final = (
    "resource_spans", "scope_spans", "spans", "resource_logs", "scope_logs", "log_records",
)  # fmt: skip


def _otel(row: Row, columns: Columns) -> Iterator[Piece]:
    """Read spans and events of OTLP JSON: a request to a receiver, or any part of one."""
    for name in _OTLP:
        for inner in items(_key(row, name)):
            if isinstance(inner, dict):
                yield from _otel(inner, columns)
    if not (trace := _key(row, "trace_id")):
        return
    is_event = _key(row, "start_time_unix_nano") is None  # a record of a log
    span = {
        "trace": str(trace),
        "span": str(_key(row, "span_id") or ""),
        "parent": _key(row, "parent_span_id"),
        "kind": "LLM" if is_event else "",
        "at": iso(_key(row, "start_time_unix_nano", "time_unix_nano", "observed_time_unix_nano")),
        "annotations": (),
        "events": [*map(_event, [row] if is_event else items(row, "events"))],
    }
    yield from _span(span, {} if is_event else nested(_attributes(row)))


def _event(event: Row) -> dict[str, Any]:
    """Return the attributes of an event, with its body and under ``event.name`` its name."""
    event = part(event)
    body = parsed(_any_value(event.get("body")))
    found = {**_attributes(event), **(body if isinstance(body, dict) else {})}
    name = _key(event, "event_name", "name") or found.get("event.name")
    return nested({**found, "event.name": name})


def _attributes(holder: Row) -> dict[str, Any]:
    pairs = [one for one in items(holder, "attributes") if isinstance(one, dict)]
    return {text(one, "key"): _any_value(one.get("value")) for one in pairs}


def _any_value(value: Any) -> Any:
    """Return a value of OTLP JSON; 64-bit integers are texts there."""
    given = value if isinstance(value, dict) else {}
    if "arrayValue" in given or "array_value" in given:
        return [_any_value(one) for one in items(_key(given, "array_value"), "values")]
    if "kvlistValue" in given or "kvlist_value" in given:
        return _attributes({"attributes": items(_key(given, "kvlist_value"), "values")})
    return next(iter(given.values()), None)


# --- plain rows ----------------------------------------------------------------------------------


def _plain(row: Row, columns: Columns) -> Iterator[Piece]:
    given: dict[str, Any] = {}
    for field, names in _NAMES.items():
        wanted = (columns[field],) if field in columns else names
        found = (_at(row, name) for name in wanted)
        given[field] = next((one for one in found if one not in (None, "")), None)
    piece = Piece(trace=str(given["trace"] or ""), rank=1, at=iso(given["at"]))
    beside = {name: given[name] for name in ("contexts", "references", "abstained", "history")}
    feedback = opinion(given["feedback"])
    outputs = [beside, given["answer"]]
    yield replace(_exchange(piece, [given["question"]], outputs), feedback=feedback)


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
