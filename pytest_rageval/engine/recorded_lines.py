"""The usual shape of a line of recorded responses, read from its text in one go.

Ten chunks a response are most of what there is to read, and nearly all of them hold what the
contract says. Such a line becomes values here at a third of the cost of decoding it first and
looking at every field after. What is unusual in any way is left to ``contract``, which knows what
may be mended and names what may not. Imported only where recorded responses are read.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any, Final, NamedTuple, Required

from pydantic import (
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    TypeAdapter,
    ValidationError,
    with_config,
)

from pytest_rageval.values.reply import RetrievedChunk

if sys.version_info >= (3, 12):
    from typing import TypedDict
else:  # pydantic, which brings it, needs this one for the introspection that 3.11 lacks
    from typing_extensions import TypedDict

_SANE: Final = 10**15
_Number = Annotated[StrictFloat, Field(ge=-_SANE, le=_SANE)]
_Integer = Annotated[StrictInt, Field(ge=-_SANE, le=_SANE)]
_TOLERANT: Final = ConfigDict(extra="allow", cache_strings="keys")


@with_config(ConfigDict(extra="ignore", cache_strings="keys"))
class _ChunkLine(TypedDict, total=False):
    """What ``contract`` reads of a chunk, in the types that need no mending."""

    rel_path: Required[StrictStr]
    heading_path: StrictStr | None
    chunk_id: StrictStr | None
    vault: StrictStr | None
    start_line: _Integer | None
    end_line: _Integer | None
    score_vector: _Number | None
    score_lexical: _Number | None
    score_final: _Number | None
    text: StrictStr | None
    text_truncated: StrictBool
    rank: _Integer | None
    rank_before_rerank: _Integer | None
    token_count: _Integer | None
    embedding: Annotated[tuple[_Number, ...], Field(min_length=1)] | None


@with_config(_TOLERANT)
class _DebugLine(TypedDict):
    retrieved_chunks: list[_ChunkLine]


@with_config(_TOLERANT)
class _ResponseLine(TypedDict):
    debug: _DebugLine


@with_config(ConfigDict(extra="ignore", cache_strings="keys"))
class _RecordedLine(TypedDict, total=False):
    id: Required[StrictStr]
    repeat: Annotated[StrictInt, Field(ge=0)]
    error: None
    response: Required[_ResponseLine]


class _NamedLine(TypedDict):
    id: StrictStr


_LINE: Final = TypeAdapter(_RecordedLine)
_NAMED: Final = TypeAdapter(_NamedLine)


class UsualResponse(NamedTuple):
    """A recorded response whose chunks were read already."""

    payload: dict[str, Any]
    """The reply as it was decoded; its chunks are to be taken from ``chunks``."""
    chunks: tuple[RetrievedChunk, ...]
    """As listed."""


def read_usual_line(text: str) -> tuple[str, int, UsualResponse] | None:
    """Return case id, repeat and response of a usual line.

    Returns:
        None where the line must be read with care: it may be wrong, or only unusual. What is
        returned is what reading with care would have found.
    """
    try:
        line: Any = _LINE.validate_json(text)
    except ValidationError:  # the text may be no JSON at all
        return None
    payload = line["response"]
    chunks = tuple([RetrievedChunk.of(chunk) for chunk in payload["debug"]["retrieved_chunks"]])
    return line["id"], line.get("repeat", 0), UsualResponse(payload, chunks)


def read_usual_id(text: str) -> str | None:
    """Return the ``id`` of a line that is a JSON object; None: look at it with care."""
    try:
        return _NAMED.validate_json(text)["id"]
    except ValidationError:
        return None
