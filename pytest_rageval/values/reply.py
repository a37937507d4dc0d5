"""A question as it is sent with its W3C Trace Context, and the reply of the target."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Annotated, Any, Final, Literal, get_args
from urllib.parse import quote

from pytest_rageval.values.case import Message
from pytest_rageval.values.diagnoses.table import Facts, TargetErrorKind
from pytest_rageval.values.errors import EndpointError
from pytest_rageval.values.lenient import (
    integer_or_none,
    number_or_none,
    read_coverage,
    read_identifier,
    read_latency,
    read_models,
    read_name,
    read_rank,
    read_text,
    read_usage,
    string_or_none,
    vector_or_none,
)
from pytest_rageval.values.limits import MAX_INTEGER, Else, Flag, Limits, Read, Text
from pytest_rageval.values.settings import FolderMode

HEADER: Final = "traceparent"
ID_FIELD: Final = "{trace_id}"
"""Place of the id in the address of a trace."""
_TRACEPARENT: Final = re.compile(r"(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
_ADDRESS: Final = re.compile(r"https?://[!-~]+", re.IGNORECASE)


def trace_id(run_id: str, nodeid: str, repeat: int) -> str:
    """Return the 32 hex digits of a trace, never all zero.

    >>> trace_id("nightly", "evals/eval_set.jsonl::refunds_001", 0)
    'a2f04230788775544abf3378861853e5'
    """
    return _digits(f"{run_id}\n{nodeid}\n{repeat}", 32)


def span_id(trace: str, attempt: int = 1) -> str:
    """Return the 16 hex digits of the span of an attempt, counted from 1, never all zero."""
    return _digits(f"{trace}\n{attempt}", 16)


def traceparent(trace: str, attempt: int = 1) -> str:
    """Return the value of the header for an attempt, of version 00 and marked as sampled."""
    return f"00-{trace}-{span_id(trace, attempt)}-01"


def ids_of(header: str) -> tuple[str, str] | None:
    """Return trace id and span id of a header; None: it is not valid."""
    match = _TRACEPARENT.fullmatch(header.strip())
    if match is None or not (match[1].strip("0") and match[2].strip("0")):
        return None
    return match[1], match[2]


def trace_link(template: object, trace: str | None) -> str:
    """Return the address of a trace; empty: it is not known, or the template is not one.

    A stored run may hold any template, so only addresses of http and https are links.

    >>> trace_link("https://traces.example.com/t/{trace_id}", "a3fa")
    'https://traces.example.com/t/a3fa'
    >>> trace_link("javascript:alert({trace_id})", "a3fa")
    ''
    """
    known = isinstance(template, str) and _ADDRESS.fullmatch(template) and ID_FIELD in template
    return str(template).replace(ID_FIELD, quote(trace, safe="")) if known and trace else ""


@lru_cache(maxsize=64)  # the span of an attempt is asked for twice
def _digits(text: str, count: int) -> str:
    digits = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:count]
    return digits if digits.strip("0") else digits[:-1] + "1"


MatchRule = Literal["heading", "snippet", "pages", "document"]
"""Rule that compares a chunk with an anchor (docs/matching.md#matching)."""
MATCH_RULES: Final[tuple[MatchRule, ...]] = get_args(MatchRule)
"""Every rule, the one that is tried first in front."""

_Finite = Annotated[float, Limits(strict=True, allow_inf_nan=False)]
_Whole = Annotated[int, Limits(strict=True, ge=-MAX_INTEGER, le=MAX_INTEGER)]
_Number = Annotated[_Finite | None, Else(number_or_none)]
_Integer = Annotated[_Whole | None, Else(integer_or_none)]
_Rank = Annotated[_Whole | None, Else(read_rank, "an integer")]
_Words = Annotated[Text | None, Else(string_or_none)]
_Vector = Annotated[tuple[float, ...] | None, Read(vector_or_none)]
_Folders = tuple[Text, ...] | None
_LISTED: Final = Limits(max_length=2_000)
"""Of chunks, and of references; a search returns a thousand at most."""
_OURS: Final = {"ours": True}
"""Mark of a field that is not read from a reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRequest:
    """One question to a target. Fields that are None or empty are not sent."""

    question: str
    vaults: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    k: int | None = None
    folder_mode: FolderMode | None = None
    vector_weight: float | None = None
    lexical_weight: float | None = None
    history: tuple[Message, ...] = ()
    """Messages of the conversation so far, the first question first; empty: of a first turn, or the
    target keeps them itself."""
    session: str = ""
    """Conversation that the target continues: an id of ours, or the one that it replied; empty: no
    conversation, or the history is sent."""
    turn: int | None = None
    """Position in the conversation, from 1; None: not of a conversation."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """Passed through to the API as further top-level fields."""
    case: Mapping[str, Any] = field(default_factory=dict)
    """Facts of the case that asks: ``id``, ``category``, ``difficulty``, ``tags``, ``language`` and
    ``metadata``; sent only where the settings name them. Empty: no case asks."""
    run_id: str = ""
    """Run that it belongs to; empty: none."""
    uuid: str = field(default="", compare=False)
    """New for each request, also for each repeat of a case; attempts after a failure keep it."""
    trace_id: str = ""
    """Trace that it belongs to, 32 hex digits; empty: it is not traced."""

    @property
    def traceparent(self) -> str:
        """Value of the header ``traceparent`` that hands the trace on; empty: it is not traced."""
        return traceparent(self.trace_id) if self.trace_id else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievedChunk:
    """One retrieved passage as the target reported it, best first in its list."""

    rel_path: Text
    """Document that it is from."""
    heading_path: Text | None = None
    """None: the target reports no heading for this chunk."""
    chunk_id: Annotated[Text | None, Else(read_identifier, "a string")] = None
    """Name that the target has for it."""
    vault: Text | None = None
    """Collection of the document; None: not reported."""
    start_line: _Integer = None
    """First line in the document, from 1."""
    end_line: _Integer = None
    """Last line."""
    pages: tuple[int, ...] | None = None
    """Pages of the document that the passage is on, from 1; None: not reported."""
    score_vector: _Number = None
    """Score of the vector search."""
    score_lexical: _Number = None
    """Score of the lexical search."""
    score_final: _Number = None
    """Score that the order follows."""
    text: Text | None = None
    """Text of the passage."""
    text_truncated: Annotated[bool, Read(lambda value: value is True)] = False
    """True when ``text`` is only the beginning of the passage."""
    text_hash: str | None = field(default=None, metadata=_OURS)
    """Hash of the normalised whole text where ``text`` was cut for storage, which keeps copies
    recognisable."""
    rank: _Rank = None
    """Place in the delivered order, from 1."""
    rank_before_rerank: _Rank = None
    """Place before reranking, from 1."""
    token_count: _Integer = None
    """Tokens of the text."""
    embedding: _Vector = None
    """Vector of the passage, where the target reports it; never stored."""
    matched_golds: tuple[int, ...] | None = field(default=None, metadata=_OURS)
    """Indices of the golds this chunk matches, decided with its full text available; None
    before scoring, and where it cannot be decided."""
    matched_by: tuple[MatchRule, ...] | None = field(default=None, metadata=_OURS)
    """Rules by which it was compared with the anchors of its document; None: none is there, as for
    ``matched_golds``, and in records of older versions."""
    irrelevant: bool | None = field(default=None, metadata=_OURS)
    """Whether an ``irrelevant_supports`` anchor wins this chunk; None before scoring."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A source that an answer names."""

    rel_path: Annotated[str | None, Read(read_text, "a string")]
    """None: it resolves to no source, such as ``[9]`` where only five chunks were retrieved."""
    heading_path: Text | None = None
    """None: the whole document."""
    vault: Text | None = None
    """Collection of the document; None: not reported."""
    chunk_index: _Integer = None
    """_Number of the chunk in its document, from 0."""
    chunk_rank: int | None = field(default=None, metadata=_OURS)
    """Rank, from 1, of the retrieved chunk that it names by number, where headings do not decide
    about that chunk; None: it names a document or a section."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSelection:
    """Choice of the target's folder selector."""

    selected_folders: _Folders = None
    """None: no selection took place. Empty: nothing was searched."""
    available_folders: _Folders = None
    """Folders that it could choose from."""
    fallback_used: Flag | None = None
    """Whether all folders were searched, since too little was found in those chosen."""
    reasoning: _Words = None
    """Reason of the choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One search that the target made for a question."""

    query: str | None = None
    tool: str | None = None
    chunks: tuple[str, ...] | None = None
    """Ids of the chunks found, or their paths where they have none, best first; None: not
    reported."""


def _searches(value: object) -> tuple[Search, ...] | None:
    """Read the searches of an answer; None: they are not reported."""
    if not isinstance(value, list | tuple):
        return None
    return tuple(
        Search(
            query=string_or_none(one.get("query")),
            tool=string_or_none(one.get("tool")),
            chunks=_found(one.get("chunks")),
        )
        for one in value
        if isinstance(one, Mapping)
    )


def _found(chunks: object) -> tuple[str, ...] | None:
    """Read the chunks of a search: ids, or chunks with an id or a path."""
    if not isinstance(chunks, list | tuple):
        return None
    names = []
    for chunk in chunks:
        known = isinstance(chunk, Mapping)
        ids = [chunk.get("chunk_id"), chunk.get("rel_path")] if known else [chunk]
        names += [name for one in ids if (name := read_name(one)) is not None][:1]
    return tuple(names)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskResponse:
    """A target's answer. None means not reported, which differs from empty."""

    answer: Text
    """Text of the answer."""
    references: Annotated[tuple[Citation, ...], _LISTED] | None = None
    """Sources that the target lists beside the text."""
    abstained: Flag | None = None
    """Whether the target declined to answer."""
    abstain_reason: _Words = None
    """Reason for which it declined."""
    retrieved_chunks: Annotated[tuple[RetrievedChunk, ...], _LISTED] | None = None
    """In the order the generator saw them (rank order)."""
    query_embedding: _Vector = None
    """Vector of the question, where the target reports it; never stored."""
    folder_selection: FolderSelection | None = None
    """Folders that it chose to search."""
    latency: Annotated[Mapping[str, float], Read(read_latency)] = field(default_factory=dict)
    """``<phase>_ms`` as the target reports them."""
    indexing_coverage: Annotated[Mapping[str, Any] | None, Read(read_coverage)] = None
    """Statement of the target about its index, such as chunks without an embedding."""
    models: Annotated[Mapping[str, str], Read(read_models)] = field(default_factory=dict)
    """Names of models by role, such as ``llm_model``."""
    usage: Annotated[Mapping[str, float], Read(read_usage)] = field(default_factory=dict)
    """``input_tokens``, ``output_tokens`` and ``cost_usd``, as far as the target reports them."""
    session: Annotated[str | None, Read(read_name)] = None
    """Id of the conversation that the target answered in."""
    searches: Annotated[tuple[Search, ...] | None, Read(_searches)] = None
    """Searches that the target made, in order."""
    reply_keys: tuple[str, ...] = field(default=(), metadata=_OURS)
    """Names of the fields of the reply as it came, if it brought no retrieved chunks; empty: not
    known."""


CUT_SHORT: Final[frozenset[TargetErrorKind]] = frozenset({"connection", "fixture", "not_attempted"})
"""Kinds of errors that are not facts about the target: they only show that a run was cut short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorInfo:
    """Reason for which a case has no answer."""

    kind: TargetErrorKind
    """Kind of the failure, such as ``timeout``."""
    message: str
    """One line, without secrets."""
    attempts: int = 0
    """Requests that were sent."""
    traceback: str = ""
    """Place in the user's client that raised, or returned a reply that was refused: lines such as
    ``conftest.py:12: in answer``, each with its source below it; empty: not known."""
    code: str = ""
    """Row of ``values.diagnoses.target``; empty: of other code, or of an older run."""
    facts: Facts = field(default_factory=dict, hash=False)
    """Values that the message names, without secrets, such as ``status`` and ``reason``."""


def error_info(
    error: EndpointError,
    hide: Callable[[str], str] = str,
    *,
    attempts: int | None = None,
    traceback: str = "",
) -> ErrorInfo:
    """Return an error as it is stored.

    Args:
        error: as it was raised.
        hide: removes secrets from its sentence and from each fact.
        attempts: number of requests; None: that of the error.
        traceback: place in the project's code.
    """
    return ErrorInfo(
        kind=error.kind,
        message=hide(error.message),
        attempts=error.attempts if attempts is None else attempts,
        traceback=traceback,
        code=error.code,
        facts={n: hide(fact) if isinstance(fact, str) else fact for n, fact in error.facts.items()},
    )


def endpoint_error(info: ErrorInfo) -> EndpointError:
    """Return a stored error to be raised."""
    return EndpointError(
        info.kind, info.message, attempts=info.attempts, code=info.code, facts=info.facts
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AskResult:
    """Result of asking.

    Exactly one of ``response`` and ``error`` is set, except for an empty answer, where both
    are: its retrieval is still scored.
    """

    response: AskResponse | None
    error: ErrorInfo | None
    total_ms: float | None
    """Time of the final attempt at the client, monotonic clock; None when nothing was timed."""
    attempts: int = 1
    trace_id: str = ""
    """Trace that the final attempt was sent in; empty: it was not traced, or nothing was sent."""
    span_id: str = ""
    """Our span in it, the parent of the target's; empty: it is not ours, or not known."""
    asked_at: float | None = None
    """Time at which the final attempt was sent, in seconds since 1970; None: nothing was sent."""
    raised: BaseException | None = field(default=None, compare=False, repr=False)
    """Exception of the user's client, for a debugger; never stored."""


def read_fields(kind: Any) -> tuple[str, ...]:
    """Return the fields of a class here that are read from a reply."""
    return tuple(one.name for one in fields(kind) if "ours" not in one.metadata)


TOP_FIELDS: Final = ("answer", "references", "abstained", "abstain_reason")
"""Fields of a response at the top level of a reply."""
DEBUG_FIELDS: Final = tuple(name for name in read_fields(AskResponse) if name not in TOP_FIELDS)
"""Fields of a response in the ``debug`` of a reply: the others."""


def is_empty_answer(response: AskResponse) -> bool:
    """Say whether an answer holds nothing but whitespace without being an abstention."""
    empty = not response.answer or response.answer.isspace()
    return empty and response.abstained is not True
