"""The RAG contract as pure functions: our request as JSON, a target's reply as values.

Reading is strict where a score depends on a field and lenient where none does:

- strict (``protocol`` error that names the field): ``answer``, ``abstained``, every reference, of
  a chunk its path, heading, vault, id, text, pages and ranks, and the folders that were searched;
- lenient (an invalid value counts as absent): scores, line numbers, token counts,
  latency, reasons, models, usage, session, searches and indexing coverage.

Everywhere null means absent, an unknown field is ignored, NaN and infinities become null, and
lone surrogates, which no file can hold, become U+FFFD.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, Final, Required, TypedDict

import msgspec
from msgspec import Meta

from pytest_rageval.metrics.matching import order_chunks
from pytest_rageval.support.http.reason import READ_CHARS, document_reason
from pytest_rageval.support.json_ascii import read_json
from pytest_rageval.support.json_cost import MOST_BYTES, json_cost
from pytest_rageval.support.text import clean, first_few
from pytest_rageval.target.reply_values import (
    SANE,
    PageReader,
    finite_float,
    read_coverage,
    read_latency,
    read_models,
    read_searches,
    read_session,
    read_usage,
)
from pytest_rageval.values.errors import EndpointError
from pytest_rageval.values.reply import (
    USAGE,
    AskRequest,
    AskResponse,
    Citation,
    FolderSelection,
    RetrievedChunk,
    Search,
)

if TYPE_CHECKING:
    from pytest_rageval.target.reply_fields import ReplyBody

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_$@][\w$@-]{0,39}(\.[A-Za-z_$@][\w$@-]{0,39})?", re.ASCII)
_WRAPPERS: Final = frozenset({"data", "debug", "output", "response", "result", "results"})
_NAMES_KEPT: Final = 20
_ERROR_CHARS: Final = 400
TOO_MUCH: Final = "the reply holds more values or text than fit into memory safely"
_MOST_LISTED: Final = 2_000
"""Chunks, and references; a search returns a thousand at most."""
_UNNAMED: Final = "the reply reports an error without a message"
_MOST_LEVELS: Final = 100


# --- our request ---------------------------------------------------------------------------


def request_body(request: AskRequest) -> dict[str, Any]:
    """Build the JSON body of a request; fields that are None or empty are left out.

    ``params`` become further top-level fields. A field that is set overrides a parameter of its
    name, so a run records the settings that were sent.
    """
    body: dict[str, Any] = dict(request.params)
    body["question"] = request.question
    if request.vaults:
        body["vaults"] = list(request.vaults)
    if request.folders:
        body["folders"] = list(request.folders)
    if request.k is not None:
        body["k"] = request.k
    if request.folder_mode is not None:
        body["folder_mode"] = request.folder_mode
    weights = {"vector": request.vector_weight, "lexical": request.lexical_weight}
    if set_weights := {name: value for name, value in weights.items() if value is not None}:
        body["rerank_weights"] = set_weights
    return body


# --- a reply as nearly all are -------------------------------------------------------------

# Each type accepts less than that of the field in ``reply_fields``, which reads all others.
_Number = Annotated[float, Meta(ge=-SANE, le=SANE)]
_Integer = Annotated[int, Meta(ge=-SANE, le=SANE)]
_Vector = Annotated[tuple[_Number, ...], Meta(min_length=1)]


class _Reference(TypedDict, total=False):
    rel_path: Required[str]
    heading_path: str | None
    vault: str | None
    chunk_index: _Integer | None


class _Chunk(TypedDict, total=False):
    rel_path: Required[str]
    heading_path: str | None
    chunk_id: str | None
    vault: str | None
    start_line: _Integer | None
    end_line: _Integer | None
    page: Any
    pages: Any
    page_index: Any
    score_vector: _Number | None
    score_lexical: _Number | None
    score_final: _Number | None
    text: str | None
    text_truncated: Any
    rank: _Integer | None
    rank_before_rerank: _Integer | None
    token_count: _Integer | None
    embedding: _Vector | None


class _Folders(TypedDict, total=False):
    selected_folders: tuple[str, ...] | None
    available_folders: tuple[str, ...] | None
    fallback_used: bool | None
    reasoning: str | None


class _Debug(TypedDict, total=False):
    folder_selection: _Folders | None
    retrieved_chunks: list[_Chunk] | None
    query_embedding: _Vector | None
    latency: Any
    indexing_coverage: Any
    models: Any
    usage: Any
    session: Any
    searches: Any


class UsualReply(TypedDict, total=False):
    """A reply without a fault; ``usual_fields`` reads the values of any type."""

    answer: Required[str]
    references: list[_Reference] | None
    abstained: bool | None
    abstain_reason: str | None
    debug: _Debug | None


INNER_FIELDS: Final[Mapping[str, Collection[str]]] = {
    "references": tuple(_Reference.__annotations__),
    "retrieved_chunks": tuple(_Chunk.__annotations__),
    "folder_selection": tuple(_Folders.__annotations__),
    "usage": USAGE,
    "searches": tuple(one.name for one in fields(Search)),
}
"""Names that are read within a field of a reply, or within each item of its list."""

# Prepared here, since msgspec crashes where several threads convert to a new type at once.
msgspec.json.Decoder(UsualReply)


def reply_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a reply that needs no mapping.

    Strict where ``read_reply`` is; what it reads leniently may be anything here.
    """
    _, types = msgspec.json.schema_components([UsualReply], ref_template="#/$defs/{name}")
    definitions = json.loads(json.dumps(types).replace('"_', '"').replace("/_", "/"))
    root = definitions.pop("UsualReply")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **root, "$defs": definitions}


_PAGE_FIELDS: Final = {"page": 1, "pages": 1, "page_index": 0}
"""Number of the first page by field."""
_LENIENT: Final[Mapping[str, Callable[[object], Any]]] = {
    "latency": read_latency,
    "indexing_coverage": read_coverage,
    "models": read_models,
    "usage": read_usage,
    "session": read_session,
    "searches": read_searches,
}


def usual_fields(reply: Any) -> ReplyBody:
    """Read the fields of a ``UsualReply`` that may hold any value, in place."""
    debug = reply.get("debug") or {}
    for name, read in _LENIENT.items():
        if name in debug:
            debug[name] = read(debug[name])
    pages = PageReader()
    for chunk in debug.get("retrieved_chunks") or ():
        if "text_truncated" in chunk:
            chunk["text_truncated"] = chunk["text_truncated"] is True
        if "page" in chunk or "pages" in chunk or "page_index" in chunk:  # nearly never
            read_pages = {k: pages.read(chunk[k], n) for k, n in _PAGE_FIELDS.items() if k in chunk}
            chunk.update(read_pages)
            _join_pages(chunk)
    found: ReplyBody = reply
    return found


# --- the target's reply --------------------------------------------------------------------


def parse_reply_bytes(body: bytes, hide: Callable[[str], str] = str) -> object:
    """Read a reply as JSON in UTF-8 (a byte order mark is ignored).

    The tokens NaN and Infinity, which Python servers write though JSON has none, become null.

    Args:
        body: of the reply.
        hide: removes secrets from a text before it is cut for a message.

    Raises:
        EndpointError: kind ``protocol``; the body is empty, not UTF-8 or not JSON, or holds too
            many values.
    """
    if json_cost(body) > MOST_BYTES:
        raise _protocol(TOO_MUCH)
    try:
        text = body.removeprefix(BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        byte = body[error.start : error.start + 1].hex()
        raise _protocol(
            f"the reply is not UTF-8: byte 0x{byte} at offset {error.start}; expected JSON in UTF-8"
        ) from error
    if not text.strip():
        raise _protocol("the reply is empty; expected a JSON object")
    try:
        return parse_json_text(text)
    except RecursionError as error:
        raise _protocol(f"the reply is {error}") from error
    except ValueError as error:
        kind = "HTML" if text.lstrip()[:1] == "<" else "not JSON"
        begins = clean(hide(text[:READ_CHARS]), 80)
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise _protocol(f"the reply is {kind}{where}; it begins: {begins}") from error


_DECODER: Final = json.JSONDecoder(parse_constant=lambda _: None, parse_float=finite_float)


def parse_json_text(text: str) -> object:
    """Read JSON; NaN, infinities and floats beyond the range of floats become null.

    Raises:
        ValueError: it is not JSON, or has an integer of more than 4300 digits.
        RecursionError: it is nested too deeply, for what reads it then calls itself per level.
    """
    fault = f"nested deeper than {_MOST_LEVELS} levels"
    try:
        value = read_json(text, _DECODER)
    except RecursionError:
        raise RecursionError(fault) from None
    if text.count("{") + text.count("[") <= _MOST_LEVELS:  # nearly always
        return value
    level = [value]
    for _ in range(_MOST_LEVELS + 1):
        containers = [one for one in level if isinstance(one, dict | list)]
        if not containers:
            return value
        level = [v for one in containers for v in (one.values() if type(one) is dict else one)]
    raise RecursionError(fault)


def parse_ask_response(payload: object, *, plain: bool = True) -> AskResponse:
    """Read a decoded reply in the shape of the contract; only ``answer`` is required.

    Chunks come back in rank order (docs/metrics.md#cutoff-k-and-rank-order): sorted by ``rank``,
    stably, if every chunk has an integer rank, else as listed.

    Args:
        payload: the reply.
        plain: whether it was read from JSON, which makes values of Python's own types alone.

    Raises:
        EndpointError: kind ``target``: the reply reports an error in its field ``error``, which
            decides before anything else. Kind ``protocol``: the message names the field, what
            came and what was expected, such as ``debug.retrieved_chunks[2].rel_path: expected a
            string, got 7``.
    """
    try:
        if isinstance(payload, Mapping) and (reported := error_message(payload.get("error"))):
            raise EndpointError("target", reported)
        if plain:
            with suppress(msgspec.ValidationError, TypeError, ValueError, OverflowError):
                usual = msgspec.convert(payload, UsualReply)
                msgspec.json.encode(usual)  # what encodes has no lone surrogates
                return ask_response(usual_fields(usual))
        from pytest_rageval.target.reply_fields import read_fields  # its library is slow to import

        reply = read_fields(payload)
        debug: Any = reply.get("debug") or {}
        for chunk in debug.get("retrieved_chunks") or ():
            _join_pages(chunk)
        return ask_response(reply)
    except RecursionError as error:
        raise _protocol("the reply is nested too deeply to be read") from error


def last_data(reply: object) -> object:
    """Return the data of the last event of a decoded stream; another reply as it is."""
    if isinstance(reply, Mapping) and reply.keys() == {"events", "last"}:
        return reply["last"] and reply["last"]["data"]
    return reply


def reply_keys(reply: object) -> tuple[str, ...]:
    """Name the fields of a decoded reply, and those within an object that only wraps others.

    At most 20 names. One that is not short and plain, such as the path of a document, is left out.

    >>> reply_keys({"answer": "Yes.", "data": {"hits": []}, "see a.md": 1})
    ('answer', 'data.hits')
    """
    if not isinstance(reply, Mapping):
        return ()
    names: list[str] = []
    for name, value in reply.items():
        wraps = isinstance(value, Mapping) and value and name in _WRAPPERS
        names += [f"{name}.{inner}" for inner in value] if wraps else [str(name)]
    return tuple([name for name in names if _PLAIN_NAME.fullmatch(name)][:_NAMES_KEPT])


def shown_keys(reply: object, place: str = "") -> str:
    """Show the names of a decoded reply and those of three levels below it, place by place.

    Where it is part of a reply, ``place`` is its expression.

    >>> shown_keys({"id": 7, "choices": [{"index": 0, "message": {"content": "Yes."}}]})
    'choices, id; choices[]: index, message; choices[].message: content'
    """
    parts: list[str] = []
    level: list[tuple[str, Any]] = [(place, reply)]
    for _ in range(4):
        level = [(f"{p}[]", v[0]) if isinstance(v, list) and v else (p, v) for p, v in level]
        level = [(p, v) for p, v in level if isinstance(v, Mapping) and v]
        parts += [(f"{p}: " if p else "") + first_few(sorted(v), _NAMES_KEPT) for p, v in level]
        level = [(f"{p}.{name}" if p else name, v[name]) for p, v in level for name in sorted(v)]
    return clean("; ".join(parts), 600)


def ask_response(reply: ReplyBody) -> AskResponse:
    """Return the response for a reply in the shape of the contract, whose chunks it keeps."""
    debug: Any = reply.get("debug") or {}
    references = reply.get("references")
    chunks = debug.get("retrieved_chunks")
    for name, listed in (("references", references), ("debug.retrieved_chunks", chunks)):
        if listed is not None and len(listed) > _MOST_LISTED:
            raise _protocol(f"{name}: got {len(listed)}, expected {_MOST_LISTED} at most")
    searches = debug.get("searches")
    folders = debug.get("folder_selection")
    return AskResponse(
        answer=reply["answer"],
        references=None if references is None else tuple([Citation(**one) for one in references]),
        abstained=reply.get("abstained"),
        abstain_reason=reply.get("abstain_reason"),
        retrieved_chunks=None
        if chunks is None
        else order_chunks([RetrievedChunk(**chunk) for chunk in chunks]),
        query_embedding=debug.get("query_embedding"),
        folder_selection=None if folders is None else FolderSelection(**folders),
        latency=debug.get("latency", {}),
        indexing_coverage=debug.get("indexing_coverage"),
        models=debug.get("models", {}),
        usage=debug.get("usage", {}),
        session=debug.get("session"),
        searches=None if searches is None else tuple(searches),
    )


def _join_pages(chunk: Any) -> None:
    """Put the pages of a chunk into one field, whichever fields it has them in."""
    known = [chunk.pop(name, None) for name in _PAGE_FIELDS]
    chunk["pages"] = tuple(sorted({one for numbers in known for one in numbers or ()})) or None


def error_message(error: object) -> str:
    """Return the message of an error as a reply reports it; empty: it reports none."""
    if isinstance(error, str):
        return clean(error, _ERROR_CHARS)
    if isinstance(error, Mapping | list):
        if not any(map(error_message, error.values() if isinstance(error, Mapping) else error)):
            return ""
        return document_reason(error) or _UNNAMED
    return "" if not error else _UNNAMED if error is True else clean(f"error {error}", 40)


def _protocol(message: str) -> EndpointError:
    return EndpointError("protocol", message)
