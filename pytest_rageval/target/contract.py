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
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from pytest_rageval.metrics.matching import order_chunks
from pytest_rageval.support.http.bodies import READ_CHARS, document_reason
from pytest_rageval.support.json_text import read_json
from pytest_rageval.support.reading import field_text
from pytest_rageval.support.text import clean, first_few, whole_text
from pytest_rageval.values.errors import EndpointError, target_error
from pytest_rageval.values.lenient import USAGE, finite_float, integer_or_none, is_integer
from pytest_rageval.values.limits import expected
from pytest_rageval.values.numbers import plain
from pytest_rageval.values.reply import (
    DEBUG_FIELDS,
    TOP_FIELDS,
    AskRequest,
    AskResponse,
    Citation,
    FolderSelection,
    RetrievedChunk,
    Search,
    read_fields,
)

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_$@][\w$@-]{0,39}(\.[A-Za-z_$@][\w$@-]{0,39})?", re.ASCII)
_WRAPPERS: Final = frozenset({"data", "debug", "output", "response", "result", "results"})
_NAMES_KEPT: Final = 20
_ERROR_CHARS: Final = 400
_UNNAMED: Final = "the reply reports an error without a message"
MOST_LEVELS: Final = 100
OTHER_TYPE: Final = "a value of type "
"""Beginning of the fact ``got`` of a value without a form in JSON."""
_PAGE_FIELDS: Final = {"page": 1, "pages": 1, "page_index": 0}
"""Number of the first page by field of a chunk."""
_PAGE_RANGE: Final = re.compile(r"(\d{1,7})(?:\s*[-\u2013]\s*(\d{1,7}))?")
_ONE: Final = r"\d{1,7}(?:\s*[-\u2013]\s*\d{1,7})?"
# Possessive: what could be read anew is kept for each number, 150 bytes for one of a text.
_PAGES: Final = re.compile(rf"\s*{_ONE}(?:\s*,\s*{_ONE})*+\s*")
_MOST_PAGES: Final = 10_000
_MOST_PAGES_OF_A_REPLY: Final = 100_000
_OURS: Final = {
    kind: frozenset(one.name for one in fields(kind)) - {*read_fields(kind)}
    for kind in (Citation, RetrievedChunk)
}
"""Fields that are not read from a reply."""
INNER_FIELDS: Final[Mapping[str, Collection[str]]] = {
    "references": read_fields(Citation),
    "retrieved_chunks": (*read_fields(RetrievedChunk), "page", "page_index"),
    "folder_selection": read_fields(FolderSelection),
    "usage": USAGE,
    "searches": read_fields(Search),
}
"""Names that are read within a field of a reply, or within each item of its list."""


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
    if request.history:
        body["history"] = [{"role": one.role, "content": one.content} for one in request.history]
    if request.session:
        body["session"] = request.session
    if request.k is not None:
        body["k"] = request.k
    if request.folder_mode is not None:
        body["folder_mode"] = request.folder_mode
    weights = {"vector": request.vector_weight, "lexical": request.lexical_weight}
    if set_weights := {name: value for name, value in weights.items() if value is not None}:
        body["rerank_weights"] = set_weights
    return body


# --- the target's reply --------------------------------------------------------------------


def parse_reply_bytes(body: bytes, hide: Callable[[str], str] = str) -> object:
    """Read a reply as JSON in UTF-8 (a byte order mark is ignored).

    The tokens NaN and Infinity, which Python servers write though JSON has none, become null.

    Args:
        body: of the reply.
        hide: removes secrets from a text before it is cut for a message.

    Raises:
        EndpointError: kind ``protocol``; the body is empty, not UTF-8 or not JSON.
    """
    try:
        text = body.removeprefix(BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        byte = body[error.start : error.start + 1].hex()
        raise target_error("reply_not_utf8", byte=byte, offset=error.start) from error
    if not text.strip():
        raise target_error("reply_empty", size="empty")
    try:
        return parse_json_text(text)
    except RecursionError as error:
        raise target_error("reply_deep", levels=MOST_LEVELS) from error
    except ValueError as error:
        code = "reply_html" if text.lstrip()[:1] == "<" else "reply_not_json"
        begins = clean(hide(text[:READ_CHARS]), 80)
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise target_error(code, line=line, begins=begins) from error


_DECODER: Final = json.JSONDecoder(parse_constant=lambda _: None, parse_float=finite_float)


def parse_json_text(text: str) -> object:
    """Read JSON; NaN, infinities and floats beyond the range of floats become null.

    Raises:
        ValueError: it is not JSON, or has an integer of more than 4300 digits.
        RecursionError: it is nested too deeply, for what reads it then calls itself per level.
    """
    fault = f"nested deeper than {MOST_LEVELS} levels"
    try:
        value = read_json(text, _DECODER)
    except RecursionError:
        raise RecursionError(fault) from None
    if text.count("{") + text.count("[") <= MOST_LEVELS:  # nearly always
        return value
    level = [value]
    for _ in range(MOST_LEVELS + 1):
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
    from pydantic import ValidationError

    try:
        if isinstance(payload, Mapping) and (reported := error_message(payload.get("error"))):
            raise target_error("target_reported", reason=reported)
        reply = _object(_sound(payload), "the reply")
        return _response(reply)
    except ValidationError as error:
        raise _field_error(error.errors(include_url=False)[0], reply) from error
    except RecursionError as error:
        raise target_error("reply_deep", use="read") from error


def _sound(payload: object) -> object:
    """Return a payload with Python's own values and without lone surrogates."""
    with suppress(TypeError, ValueError, OverflowError, msgspec.MsgspecError):
        msgspec.json.encode(payload)
        return payload  # nearly always
    return _repaired(payload)


def _repaired(value: object) -> object:
    if isinstance(value, Mapping):
        return {_repaired(key): _repaired(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_repaired(entry) for entry in value]
    return whole_text(value) if isinstance(value, str) else plain(value)


def _response(reply: Mapping[str, Any]) -> AskResponse:
    debug = {} if reply.get("debug") is None else _object(reply["debug"], "debug")
    given = {name: reply[name] for name in TOP_FIELDS if name in reply}
    given |= {name: debug[name] for name in DEBUG_FIELDS if name in debug}
    if isinstance(listed := given.get("references"), list | tuple):
        given["references"] = [_without(_OURS[Citation], one) for one in listed]
    if isinstance(listed := given.get("retrieved_chunks"), list | tuple):
        given["retrieved_chunks"] = _with_pages(listed)
    response = _adapter().validate_python(given)
    chunks = response.retrieved_chunks
    return response if chunks is None else replace(response, retrieved_chunks=order_chunks(chunks))


@cache
def _adapter() -> TypeAdapter[AskResponse]:
    from pydantic import TypeAdapter  # slow to import

    return TypeAdapter(AskResponse)


def _object(value: object, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise target_error("reply_field", field=place, expected="an object", got=_shown(value))
    return value


def _without(names: Set[str], part: Any) -> Any:
    if not isinstance(part, Mapping) or names.isdisjoint(part):
        return part
    return {name: value for name, value in part.items() if name not in names}


def _field_error(fault: ErrorDetails, reply: Mapping[str, Any]) -> EndpointError:
    """Name the invalid place in a reply, with the value received and the one expected."""
    loc, came = fault["loc"], _shown(fault["input"])
    wanted = expected(fault)
    if fault["type"] == "too_long":
        came = str(len(fault["input"]))
    if fault["type"] == "missing":
        parent = fault["input"] if loc[1:] else reply
        names = clean(", ".join(sorted(map(str, parent))[:10]), 80) or "none"
        came, wanted = f"nothing (fields: {names})", "a string"  # only strings are required
    place = field_text(("debug", *loc) if loc[0] in DEBUG_FIELDS else loc)
    return target_error("reply_field", field=place, expected=wanted, got=came)


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
    return f"{OTHER_TYPE}{type(value).__name__}"


def reply_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a reply that needs no mapping."""
    schema = _adapter().json_schema()
    types, fields = schema.pop("$defs"), schema.pop("properties")
    for kind, ours in _OURS.items():
        for name in ours:
            del types[kind.__name__]["properties"][name]
    debug = {name: fields[name] for name in DEBUG_FIELDS}
    types["Debug"] = {"title": "AskResponse", "type": "object", "properties": debug}
    properties = {name: fields[name] for name in TOP_FIELDS}
    properties["debug"] = {"anyOf": [{"$ref": "#/$defs/Debug"}, {"type": "null"}]}
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, **schema, "properties": properties, "$defs": types}


# --- pages of chunks ------------------------------------------------------------------------


def _with_pages(chunks: Sequence[Any]) -> list[Any]:
    """Return chunks with their pages in one field, whichever fields they have them in."""
    read, pages = [], PageReader()
    for index, chunk in enumerate(chunks):
        if isinstance(chunk, Mapping) and not _PAGE_FIELDS.keys().isdisjoint(chunk):
            found: set[int] = set()
            for name in _PAGE_FIELDS.keys() & chunk:
                try:
                    found |= pages.read(chunk[name], _PAGE_FIELDS[name])
                except ValueError as error:
                    place = f"debug.retrieved_chunks[{index}].{name}"
                    came = _shown(chunk[name])
                    raise target_error(
                        "reply_field", field=place, expected=str(error), got=came
                    ) from None
            chunk = {**chunk, "pages": tuple(sorted(found)) or None}
        read.append(_without(_OURS[RetrievedChunk], chunk))
    return read


class PageReader:
    """Reader of the pages of one reply, whose chunks have a bounded number of them together."""

    def __init__(self) -> None:
        self._left = _MOST_PAGES_OF_A_REPLY

    def read(self, value: object, first: int = 1) -> set[int]:
        """Read pages: a number, numbers in a text such as ``12-14, 20``, or a list of both.

        Args:
            value: as it came; a text of another form, such as ``iv``, counts as absent, and so do
                more pages than a chunk can have, repeated ones included.
            first: number of the first page of a document.

        Returns:
            Page numbers from 1.

        Raises:
            ValueError: it is something else, or more than all chunks of a reply can have.
        """
        if self._left >= 0:
            found = _page_numbers(value)
            self._left -= len(found)
        if self._left < 0:
            raise ValueError(f"at most {_MOST_PAGES_OF_A_REPLY} pages in all chunks")
        if any(number < first for number in found):
            hint = "" if first == 0 else "; one that counts from 0 belongs into page_index"
            raise ValueError(f"page numbers from {first}{hint}")
        return {number + 1 - first for number in found}


def _page_numbers(value: object) -> set[int]:
    values: Sequence[object] = value if isinstance(value, list | tuple) else [value]
    found: set[int] = set()
    listed: list[range] = []
    left = _MOST_PAGES  # counts repeated pages, too, or a short text would take minutes
    for one in values:
        if isinstance(one, str):
            ranges = _PAGE_RANGE.finditer(one) if _PAGES.fullmatch(one) else iter(())
            for match in ranges:
                pages = range(int(match[1]), int(match[2] or match[1]) + 1)
                left -= len(pages) or 1
                if left < 0:
                    return set()
                listed.append(pages)
        elif (number := integer_or_none(one)) is not None:
            found.add(number)
        elif one is not None:
            raise ValueError("a page number")
    return found.union(*listed)


# --- names and errors of a reply -------------------------------------------------------------


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


def error_message(error: object) -> str:
    """Return the message of an error as a reply reports it; empty: it reports none."""
    if isinstance(error, str):
        return clean(error, _ERROR_CHARS)
    if isinstance(error, Mapping | list):
        if not any(map(error_message, error.values() if isinstance(error, Mapping) else error)):
            return ""
        return document_reason(error) or _UNNAMED
    return "" if not error else _UNNAMED if error is True else clean(f"error {error}", 40)


MOST_CHARS: Final = 30_000_000
"""Characters that a mapping may make of one reply, and that the texts of a record may have."""
_PER_VALUE: Final = 8
"""Characters that a value counts beside its text."""


def size_of(value: Any) -> int:
    """Return the characters of a value, of each part as often as it stands there.

    Counting ends above ``MOST_CHARS``.

    >>> part = {"text": "x" * 100}
    >>> size_of([part, part]) == 8 + 2 * size_of(part)
    True
    """
    size, values = 0, [value]
    while values and size <= MOST_CHARS:
        one = values.pop()
        size += _PER_VALUE
        if isinstance(one, str):
            size += len(one)
        elif isinstance(one, Mapping):
            size += sum(len(name) for name in one if isinstance(name, str))
            values += one.values()
        elif isinstance(one, list | tuple):
            values += one
    return size
