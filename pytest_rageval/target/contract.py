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
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, Final, Required, TypeGuard

from pydantic import (
    ConfigDict,
    Field,
    PlainValidator,
    StrictBool,
    StrictFloat,
    StrictInt,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    with_config,
)
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from pytest_rageval.metrics.matching import order_chunks
from pytest_rageval.support.http.reason import document_reason
from pytest_rageval.support.text import clean, whole_text
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
    from pydantic_core import ErrorDetails

_LONGEST_MS = 1e12
"""Some thirty years: longer durations are errors, and their sums would overflow."""
_MOST_USED = 1e12
"""More tokens or dollars for one answer are errors, and their sums would overflow."""
_MAX_INTEGER_BITS = 1024
"""Longer integers are errors, and fit neither floats nor Python's decimal printing."""
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_$@][\w$@-]{0,39}(\.[A-Za-z_$@][\w$@-]{0,39})?", re.ASCII)
_WRAPPERS: Final = frozenset({"data", "debug", "output", "response", "result", "results"})
_NAMES_KEPT: Final = 20
_ERROR_CHARS: Final = 400
_UNNAMED: Final = "the reply reports an error without a message"
_PAGE_RANGE: Final = re.compile(r"(\d{1,7})(?:\s*[-\u2013]\s*(\d{1,7}))?")
_PAGES: Final = re.compile(rf"\s*{_PAGE_RANGE.pattern}(?:\s*,\s*{_PAGE_RANGE.pattern})*\s*")
_MOST_PAGES: Final = 10_000
_MOST_LEVELS: Final = 100
_DECIMAL = re.compile(r"\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*", re.ASCII)


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


# --- values that pydantic does not read alone ----------------------------------------------


def _string_or_none(value: object) -> str | None:
    return whole_text(value) if isinstance(value, str) else None


def _number_or_none(value: object) -> float | None:
    """Read a number, or a decimal number in a string; None unless it is finite."""
    if isinstance(value, str) and len(value) < 64 and _DECIMAL.fullmatch(value):
        return _finite_float(value)
    if _is_integer(value):
        return _finite_float(value)
    return value if isinstance(value, float) and isfinite(value) else None


def _integer_or_none(value: object) -> int | None:
    if _is_integer(value):
        return value
    number = _number_or_none(value)
    return int(number) if number is not None and number.is_integer() else None


def _vector_or_none(value: object) -> tuple[float, ...] | None:
    """Read a vector; None unless all of its items are finite numbers."""
    if not isinstance(value, list | tuple) or not value:
        return None
    numbers = tuple(_number_or_none(entry) for entry in value)
    return None if None in numbers else tuple(float(n) for n in numbers if n is not None)


def _rank(value: object) -> int | None:
    if isinstance(value, float) and not isfinite(value):
        return None
    rank = _integer_or_none(value)
    if rank is None:
        raise ValueError("expected an integer")
    return rank


def _identifier(value: object) -> str:
    # Vector stores number their chunks; duplicates are found by id, so 7 and "7" are the same.
    if not _is_integer(value):
        raise ValueError("expected a string")
    return str(value)


def _page_numbers(value: object, first: int = 1) -> tuple[int, ...] | None:
    """Read pages: a number, numbers in a text such as ``12-14, 20``, or a list of both.

    Args:
        value: as it came; a text of another form, such as ``iv``, counts as absent, and so do
            more pages than a chunk can have.
        first: number of the first page of a document.

    Returns:
        Distinct page numbers from 1, ascending; None: there are none.
    """
    values: Sequence[object] = value if isinstance(value, list | tuple) else [value]
    found: set[int] = set()
    for one in values:
        if isinstance(one, str):
            ranges = _PAGE_RANGE.finditer(one) if _PAGES.fullmatch(one) else iter(())
            for match in ranges:
                low, high = int(match[1]), int(match[2] or match[1])
                found.update(range(low, min(high, low + _MOST_PAGES) + 1))
                if len(found) > _MOST_PAGES:
                    return None
        elif (number := _integer_or_none(one)) is not None:
            found.add(number)
        elif one is not None:
            raise PydanticCustomError("page", "a page number")
    if any(number < first for number in found):
        hint = "" if first == 0 else "; one that counts from 0 belongs into page_index"
        raise PydanticCustomError("page", f"page numbers from {first}{hint}")
    return tuple([number + 1 - first for number in sorted(found)]) or None


def _latency(value: object) -> dict[str, float]:
    if not isinstance(value, Mapping):
        return {}
    times = {whole_text(str(phase)): _number_or_none(ms) for phase, ms in value.items()}
    return {phase: ms for phase, ms in times.items() if ms is not None and 0 <= ms <= _LONGEST_MS}


def _coverage(value: object) -> dict[str, Any] | None:
    return _plain(value) if isinstance(value, Mapping) else None


def _models(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        return {}
    # A version is often written as a number: `prompt_version: 3`.
    return {
        whole_text(str(role)): whole_text(str(name))
        for role, name in value.items()
        if isinstance(name, str) or _is_integer(name) or _number_or_none(name) is not None
    }


def _usage(value: object) -> dict[str, float]:
    if not isinstance(value, Mapping):
        return {}
    numbers = {name: _number_or_none(value.get(name)) for name in USAGE}
    return {
        n: number
        for n, number in numbers.items()
        if number is not None and 0 <= number <= _MOST_USED
    }


def _session(value: object) -> str | None:
    return str(value) if _is_integer(value) else _string_or_none(value)


def _searches(value: object) -> list[Search] | None:
    if not isinstance(value, list | tuple):
        return None
    return [
        Search(
            query=_string_or_none(one.get("query")),
            tool=_string_or_none(one.get("tool")),
            chunks=_found(one.get("chunks")),
        )
        for one in value
        if isinstance(one, Mapping)
    ]


def _found(chunks: object) -> tuple[str, ...] | None:
    """Read the chunks of a search: ids, or chunks with an id or a path."""
    if not isinstance(chunks, list | tuple):
        return None
    names = []
    for chunk in chunks:
        known = isinstance(chunk, Mapping)
        ids = [chunk.get("chunk_id"), chunk.get("rel_path")] if known else [chunk]
        names += [name for one in ids if (name := _session(one)) is not None][:1]
    return tuple(names)


def _plain(value: object) -> Any:
    """Copy any JSON value with its faults repaired: no NaN, no lone surrogate, string keys."""
    if isinstance(value, Mapping):
        return {whole_text(str(key)): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, bool) or _is_integer(value):
        return value
    return _number_or_none(value)


def _is_integer(value: object) -> TypeGuard[int]:
    """Whether a value is an integer within the limit and not a boolean."""
    return (
        isinstance(value, int)
        and not isinstance(value, bool)
        and value.bit_length() <= _MAX_INTEGER_BITS
    )


def _finite_float(literal: str | int) -> float | None:
    try:
        number = float(literal)
    except OverflowError:
        return None
    return number if isfinite(number) else None


# --- a reply in the shape of the contract --------------------------------------------------

# Pydantic reads usual values alone; our functions read only those that it refuses. A length limit
# makes pydantic read the characters, so that it finds lone surrogates.
_Text = Annotated[str, StringConstraints(strict=True, min_length=0)]
_SANE: Final = 10**15
_IN_ORDER: Final = Field(union_mode="left_to_right")
_Number = Annotated[
    Annotated[StrictFloat, Field(ge=-_SANE, le=_SANE)]
    | Annotated[Any, PlainValidator(_number_or_none)]
    | None,
    _IN_ORDER,
]
_SaneInteger = Annotated[StrictInt, Field(ge=-_SANE, le=_SANE)]
_Integer = Annotated[
    _SaneInteger | Annotated[Any, PlainValidator(_integer_or_none)] | None, _IN_ORDER
]
_Rank = Annotated[_SaneInteger | Annotated[Any, PlainValidator(_rank)] | None, _IN_ORDER]
_Identifier = Annotated[_Text | Annotated[Any, PlainValidator(_identifier)] | None, _IN_ORDER]
_Words = Annotated[_Text | Annotated[Any, PlainValidator(_string_or_none)] | None, _IN_ORDER]
_Vector = Annotated[
    Annotated[tuple[Annotated[StrictFloat, Field(ge=-_SANE, le=_SANE)], ...], Field(min_length=1)]
    | Annotated[Any, PlainValidator(_vector_or_none)]
    | None,
    _IN_ORDER,
]
_KNOWN_NAMES: Final = ConfigDict(extra="ignore", cache_strings="keys")


@with_config(_KNOWN_NAMES)
class ReplyReference(TypedDict, total=False):
    """A reference of a reply."""

    rel_path: Required[_Text]
    heading_path: _Text | None
    vault: _Text | None
    chunk_index: _Integer


@with_config(_KNOWN_NAMES)
class ReplyChunk(TypedDict, total=False):
    """A retrieved chunk of a reply."""

    rel_path: Required[_Text]
    heading_path: _Text | None
    chunk_id: _Identifier
    vault: _Text | None
    start_line: _Integer
    end_line: _Integer
    page: Annotated[tuple[int, ...] | None, PlainValidator(_page_numbers)]
    pages: Annotated[tuple[int, ...] | None, PlainValidator(_page_numbers)]
    page_index: Annotated[
        tuple[int, ...] | None, PlainValidator(lambda value: _page_numbers(value, 0))
    ]
    score_vector: _Number
    score_lexical: _Number
    score_final: _Number
    text: _Text | None
    text_truncated: Annotated[bool, PlainValidator(lambda value: value is True)]
    rank: _Rank
    rank_before_rerank: _Rank
    token_count: _Integer
    embedding: _Vector


@with_config(_KNOWN_NAMES)
class ReplyFolders(TypedDict, total=False):
    """The folder selection of a reply."""

    selected_folders: tuple[_Text, ...] | None
    available_folders: tuple[_Text, ...] | None
    fallback_used: StrictBool | None
    reasoning: _Words


@with_config(_KNOWN_NAMES)
class ReplyDebug(TypedDict, total=False):
    """The ``debug`` of a reply."""

    folder_selection: ReplyFolders | None
    retrieved_chunks: list[ReplyChunk] | None
    query_embedding: _Vector
    latency: Annotated[dict[str, float], PlainValidator(_latency)]
    indexing_coverage: Annotated[dict[str, Any] | None, PlainValidator(_coverage)]
    models: Annotated[dict[str, str], PlainValidator(_models)]
    usage: Annotated[dict[str, float], PlainValidator(_usage)]
    session: Annotated[str | None, PlainValidator(_session)]
    searches: Annotated[list[Search] | None, PlainValidator(_searches)]


@with_config(_KNOWN_NAMES)
class ReplyBody(TypedDict, total=False):
    """A reply in the shape of the contract."""

    answer: Required[_Text]
    references: list[ReplyReference] | None
    abstained: StrictBool | None
    abstain_reason: _Words
    debug: ReplyDebug | None


_PAGE_FIELDS: Final = frozenset({"page", "pages", "page_index"})
_REPLY: Final = TypeAdapter(ReplyBody)
_FIELDS: Final = frozenset().union(
    *(
        of.__annotations__
        for of in (ReplyBody, ReplyReference, ReplyDebug, ReplyChunk, ReplyFolders)
    )
)


# --- the target's reply --------------------------------------------------------------------


def parse_reply_bytes(body: bytes) -> object:
    """Read a reply as JSON in UTF-8 (a byte order mark is ignored).

    The tokens NaN and Infinity, which Python servers write though JSON has none, become null.

    Raises:
        EndpointError: kind ``protocol``; the body is empty, not UTF-8 or not JSON.
    """
    try:
        text = body.decode("utf-8-sig")
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
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise _protocol(f"the reply is {kind}{where}; it begins: {clean(text, 80)}") from error


_DECODER: Final = json.JSONDecoder(parse_constant=lambda _: None, parse_float=_finite_float)


def parse_json_text(text: str) -> object:
    """Read JSON; NaN, infinities and floats beyond the range of floats become null.

    Raises:
        ValueError: it is not JSON, or has an integer of more than 4300 digits.
        RecursionError: it is nested too deeply, for what reads it then calls itself per level.
    """
    fault = f"nested deeper than {_MOST_LEVELS} levels"
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise RecursionError(fault) from None
    level = [value]
    for _ in range(_MOST_LEVELS + 1):
        containers = [one for one in level if isinstance(one, dict | list)]
        if not containers:
            return value
        level = [v for one in containers for v in (one.values() if type(one) is dict else one)]
    raise RecursionError(fault)


def parse_ask_response(payload: object) -> AskResponse:
    """Read a decoded reply in the shape of the contract; only ``answer`` is required.

    Chunks come back in rank order (docs/metrics.md#cutoff-k-and-rank-order): sorted by ``rank``,
    stably, if every chunk has an integer rank, else as listed.

    Raises:
        EndpointError: kind ``target``: the reply reports an error in its field ``error``, which
            decides before anything else. Kind ``protocol``: the message names the field, what
            came and what was expected, such as ``debug.retrieved_chunks[2].rel_path: expected a
            string, got 7``.
    """
    try:
        return _read(payload)
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


def shown_keys(reply: object) -> str:
    """Show the names of ``reply_keys`` with those one level below, in a list of their own.

    >>> shown_keys({"id": 7, "choices": [{"index": 0, "message": {}}], "usage": {}})
    'choices, id, usage; choices[]: index, message'
    """
    if not isinstance(reply, Mapping):
        return ""
    parts = [_names(reply)]
    for name, value in sorted(reply.items()):
        inner, mark = (value[0], "[]") if isinstance(value, list) and value else (value, "")
        if isinstance(inner, Mapping) and inner:
            parts.append(f"{name}{mark}: {_names(inner)}")
    return clean("; ".join(parts), 600)


def _names(document: Mapping[str, object]) -> str:
    more = len(document) - _NAMES_KEPT
    return ", ".join(sorted(document)[:_NAMES_KEPT]) + (f" and {more} more" if more > 0 else "")


def ask_response(reply: ReplyBody) -> AskResponse:
    """Return the response for a reply in the shape of the contract."""
    debug = reply.get("debug") or ReplyDebug()
    references = reply.get("references")
    chunks = debug.get("retrieved_chunks")
    searches = debug.get("searches")
    folders = debug.get("folder_selection")
    return AskResponse(
        answer=reply["answer"],
        references=None if references is None else tuple([Citation(**one) for one in references]),
        abstained=reply.get("abstained"),
        abstain_reason=reply.get("abstain_reason"),
        retrieved_chunks=None
        if chunks is None
        else order_chunks([_chunk(chunk) for chunk in chunks]),
        query_embedding=debug.get("query_embedding"),
        folder_selection=None if folders is None else FolderSelection(**folders),
        latency=debug.get("latency", {}),
        indexing_coverage=debug.get("indexing_coverage"),
        models=debug.get("models", {}),
        usage=debug.get("usage", {}),
        session=debug.get("session"),
        searches=None if searches is None else tuple(searches),
    )


def _chunk(chunk: ReplyChunk) -> RetrievedChunk:
    if not ("page" in chunk or "pages" in chunk or "page_index" in chunk):  # nearly always
        return RetrievedChunk.of(chunk)
    fields = {name: value for name, value in chunk.items() if name not in _PAGE_FIELDS}
    known = (chunk.get("page"), chunk.get("pages"), chunk.get("page_index"))
    pages = sorted({number for numbers in known for number in numbers or ()})
    return RetrievedChunk.of({**fields, "pages": tuple(pages) or None})


def _read(payload: object) -> AskResponse:
    if isinstance(payload, Mapping) and (reported := error_message(payload.get("error"))):
        raise EndpointError("target", reported)
    try:
        return ask_response(_REPLY.validate_python(payload))
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False)
    if any(fault["type"] == "string_unicode" for fault in faults):
        return _read(_cleaned(payload))
    raise _protocol(_message(faults[0]))


def error_message(error: object) -> str:
    """Return the message of an error as a reply reports it; empty: it reports none."""
    if isinstance(error, str):
        return clean(error, _ERROR_CHARS)
    if isinstance(error, Mapping | list):
        if not any(map(error_message, error.values() if isinstance(error, Mapping) else error)):
            return ""
        return document_reason(error) or _UNNAMED
    return "" if not error else _UNNAMED if error is True else clean(f"error {error}", 40)


def _cleaned(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _cleaned(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(entry) for entry in value]
    return whole_text(value) if isinstance(value, str) else value


# --- faults of a reply ---------------------------------------------------------------------

_EXPECTED: Final = {
    "dict_type": "an object",
    "list_type": "a list",
    "tuple_type": "a list",
    "bool_type": "true or false",
    "string_type": "a string",
    "missing": "a string",  # Only strings are required.
    **dict.fromkeys(("int_type", "less_than_equal", "greater_than_equal"), "an integer"),
}


def _message(fault: ErrorDetails) -> str:
    """Name the invalid place in a reply, with the value received and the one expected."""
    if fault["loc"] == ("answer",) and fault["type"] == "missing":
        names = clean(", ".join(sorted(map(str, fault["input"]))[:10]), 80) or "none"
        return f"answer: expected a string, got nothing (fields: {names})"
    where = ""
    for part in fault["loc"]:
        if isinstance(part, int):
            where += f"[{part}]"
        elif part in _FIELDS:  # Other parts name a member of a union.
            where += f".{part}" if where else part
    came = None if fault["type"] == "missing" else fault["input"]
    expected = _EXPECTED.get(fault["type"], fault["msg"])
    return f"{where or 'the reply'}: expected {expected}, got {_shown(came)}"


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return repr(clean(value, 40))
    if isinstance(value, float) or _is_integer(value):
        return clean(repr(value), 40)
    return f"a value of type {type(value).__name__}"


def _protocol(message: str) -> EndpointError:
    return EndpointError("protocol", message)
