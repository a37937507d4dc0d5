"""Fields of a reply as pydantic reads them, which names the first fault."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Required

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    StrictBool,
    StrictFloat,
    StrictInt,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    with_config,
)
from typing_extensions import TypedDict

from pytest_rageval.support.jsonl import field_text
from pytest_rageval.support.text import clean, whole_text
from pytest_rageval.target.reply_values import (
    SANE,
    PageReader,
    integer_or_none,
    is_integer,
    number_or_none,
    read_coverage,
    read_identifier,
    read_latency,
    read_models,
    read_rank,
    read_searches,
    read_session,
    read_usage,
    string_or_none,
    vector_or_none,
)
from pytest_rageval.values.errors import EndpointError
from pytest_rageval.values.numbers import plain
from pytest_rageval.values.reply import Search

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

# Pydantic reads usual values alone; our functions read only those that it refuses. A length limit
# makes pydantic read the characters, so that it finds lone surrogates.
_Text = Annotated[str, StringConstraints(strict=True, min_length=0)]
_IN_ORDER: Final = Field(union_mode="left_to_right")
_SaneNumber = Annotated[StrictFloat, Field(ge=-SANE, le=SANE)]
_Number = Annotated[_SaneNumber | Annotated[Any, PlainValidator(number_or_none)] | None, _IN_ORDER]
_SaneInteger = Annotated[StrictInt, Field(ge=-SANE, le=SANE)]
_Integer = Annotated[
    _SaneInteger | Annotated[Any, PlainValidator(integer_or_none)] | None, _IN_ORDER
]
_Rank = Annotated[_SaneInteger | Annotated[Any, PlainValidator(read_rank)] | None, _IN_ORDER]
_Identifier = Annotated[_Text | Annotated[Any, PlainValidator(read_identifier)] | None, _IN_ORDER]
_Words = Annotated[_Text | Annotated[Any, PlainValidator(string_or_none)] | None, _IN_ORDER]
_Vector = Annotated[
    Annotated[tuple[_SaneNumber, ...], Field(min_length=1)]
    | Annotated[Any, PlainValidator(vector_or_none)]
    | None,
    _IN_ORDER,
]


def _pages(
    value: object, info: ValidationInfo[PageReader], first: int = 1
) -> tuple[int, ...] | None:
    return info.context.read(value, first)


_Pages = Annotated[tuple[int, ...] | None, PlainValidator(_pages)]
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
    page: _Pages
    pages: _Pages
    page_index: Annotated[tuple[int, ...] | None, PlainValidator(partial(_pages, first=0))]
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
    latency: Annotated[dict[str, float], PlainValidator(read_latency)]
    indexing_coverage: Annotated[dict[str, Any] | None, PlainValidator(read_coverage)]
    models: Annotated[dict[str, str], PlainValidator(read_models)]
    usage: Annotated[dict[str, float], PlainValidator(read_usage)]
    session: Annotated[str | None, PlainValidator(read_session)]
    searches: Annotated[list[Search] | None, PlainValidator(read_searches)]


@with_config(_KNOWN_NAMES)
class ReplyBody(TypedDict, total=False):
    """A reply in the shape of the contract."""

    answer: Required[_Text]
    references: list[ReplyReference] | None
    abstained: Annotated[StrictBool | None, BeforeValidator(plain)]
    abstain_reason: _Words
    debug: ReplyDebug | None


_REPLY: Final = TypeAdapter(ReplyBody)
_FIELDS: Final = frozenset().union(
    *(
        of.__annotations__
        for of in (ReplyBody, ReplyReference, ReplyDebug, ReplyChunk, ReplyFolders)
    )
)


def read_fields(payload: object) -> ReplyBody:
    """Check a decoded reply, field by field.

    Raises:
        EndpointError: kind ``protocol``, with the first fault.
    """
    try:
        return _REPLY.validate_python(payload, context=PageReader())
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False)
    if any(fault["type"] == "string_unicode" for fault in faults):
        return read_fields(_cleaned(payload))
    raise EndpointError("protocol", _message(faults[0]))


def _cleaned(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _cleaned(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(entry) for entry in value]
    return whole_text(value) if isinstance(value, str) else value


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
    came = _shown(fault["input"])
    if fault["type"] == "missing":
        names = clean(", ".join(sorted(map(str, fault["input"]))[:10]), 80) or "none"
        came = f"nothing (fields: {names})"
    # Other parts name a member of a union.
    where = field_text(tuple(p for p in fault["loc"] if isinstance(p, int) or p in _FIELDS))
    expected = _EXPECTED.get(fault["type"], fault["msg"])
    return f"{where or 'the reply'}: expected {expected}, got {came}"


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return repr(clean(value, 40))
    if isinstance(value, float) or is_integer(value):
        return clean(repr(value), 40)
    return f"a value of type {type(value).__name__}"
