"""The RAG contract as pure functions: our request as JSON, a target's reply as values.

Reading is strict where a score depends on a field and lenient where none does:

- strict (``protocol`` error that names the field): ``answer``, ``abstained``, every reference, of
  a chunk its path, heading, vault, id, text and ranks, and the folders that were searched;
- lenient (a value that makes no sense is an absent one): scores, line numbers, token counts,
  latency, reasons, models and indexing coverage.

Everywhere null means absent, an unknown field is ignored, NaN and infinities become null, and
lone surrogates, which no file can hold, become U+FFFD.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, TypeGuard, TypeVar

from pytest_rageval.metrics.matching import order_chunks
from pytest_rageval.support.text import excerpt
from pytest_rageval.values.errors import EndpointError
from pytest_rageval.values.reply import (
    AskRequest,
    AskResponse,
    Citation,
    FolderSelection,
    RetrievedChunk,
)

_T = TypeVar("_T")
_LONGEST_MS = 1e12
"""Some thirty years: a longer duration is nonsense, and sums of such would overflow."""
_MAX_INTEGER_BITS = 1024
"""Longer integers are nonsense here, and neither floats nor Python's decimal printing take them."""
_DECIMAL = re.compile(r"\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*", re.ASCII)


# --- our request ---------------------------------------------------------------------------


def request_body(request: AskRequest) -> dict[str, Any]:
    """Build the JSON body of a request; fields that are None or empty are left out.

    ``params`` become further top-level fields. A parameter named like a field that is set gives
    way to it, so that what a run records as its settings is what was sent.
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
        return json.loads(text, parse_constant=lambda _: None, parse_float=_finite_float)
    except (ValueError, RecursionError) as error:  # ValueError: also integers of 4301 digits
        kind = "HTML" if text.lstrip()[:1] == "<" else "not JSON"
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise _protocol(f"the reply is {kind}{where}; it begins: {excerpt(text)}") from error


def parse_ask_response(
    payload: object, *, chunks: tuple[RetrievedChunk, ...] | None = None
) -> AskResponse:
    """Read a decoded reply in the shape of the contract; only ``answer`` is required.

    Chunks come back in rank order (docs/metrics.md#cutoff-k-and-rank-order): sorted by ``rank``,
    stably, if every chunk has an integer rank, else as listed.

    Args:
        payload: the reply.
        chunks: those of the reply, as listed, where they were read already; None: read them.

    Raises:
        EndpointError: kind ``protocol``; the message names the field, what came and what was
            expected, such as ``debug.retrieved_chunks[2].rel_path: expected a string, got 7``.
    """
    try:
        return _ask_response(payload, chunks)
    except RecursionError as error:
        raise _protocol("the reply is nested too deeply to be read") from error


# --- the parts of a reply ------------------------------------------------------------------


def _ask_response(payload: object, chunks: tuple[RetrievedChunk, ...] | None) -> AskResponse:
    reply = _object(payload, "the reply")
    if "answer" not in reply:
        names = excerpt(", ".join(sorted(map(str, reply))[:10])) or "none"
        raise _protocol(f"answer: expected a string, got nothing (fields: {names})")
    debug = _optional(reply.get("debug"), "debug", _object) or {}
    folders = _optional(debug.get("folder_selection"), "debug.folder_selection", _folder_selection)
    coverage = debug.get("indexing_coverage")
    return AskResponse(
        answer=_string(reply["answer"], "answer"),
        references=_list_of(reply.get("references"), "references", _citation),
        abstained=_optional(reply.get("abstained"), "abstained", _boolean),
        abstain_reason=_string_or_none(reply.get("abstain_reason")),
        retrieved_chunks=_chunks(debug) if chunks is None else order_chunks(chunks),
        query_embedding=_vector_or_none(debug.get("query_embedding")),
        folder_selection=folders,
        latency=_latency(debug.get("latency")),
        indexing_coverage=_plain(coverage) if isinstance(coverage, Mapping) else None,
        models=_models(debug.get("models")),
    )


def _citation(value: object, where: str) -> Citation:
    entry = _object(value, where)
    return Citation(
        rel_path=_string(entry.get("rel_path"), f"{where}.rel_path"),
        heading_path=_optional(entry.get("heading_path"), f"{where}.heading_path", _string),
        vault=_optional(entry.get("vault"), f"{where}.vault", _string),
        chunk_index=_integer_or_none(entry.get("chunk_index")),
    )


def _chunks(debug: Mapping[str, Any]) -> tuple[RetrievedChunk, ...] | None:
    chunks = _list_of(debug.get("retrieved_chunks"), "debug.retrieved_chunks", _chunk)
    return None if chunks is None else order_chunks(chunks)


def _chunk(value: object, where: str) -> RetrievedChunk:
    entry = _object(value, where)

    def strict(name: str, read: Callable[[object, str], _T]) -> _T | None:
        return _optional(entry.get(name), f"{where}.{name}", read)

    return RetrievedChunk(
        rel_path=_string(entry.get("rel_path"), f"{where}.rel_path"),
        heading_path=strict("heading_path", _string),
        chunk_id=strict("chunk_id", _identifier),
        vault=strict("vault", _string),
        start_line=_integer_or_none(entry.get("start_line")),
        end_line=_integer_or_none(entry.get("end_line")),
        score_vector=_number_or_none(entry.get("score_vector")),
        score_lexical=_number_or_none(entry.get("score_lexical")),
        score_final=_number_or_none(entry.get("score_final")),
        text=strict("text", _string),
        text_truncated=entry.get("text_truncated") is True,
        rank=strict("rank", _rank),
        rank_before_rerank=strict("rank_before_rerank", _rank),
        token_count=_integer_or_none(entry.get("token_count")),
        embedding=_vector_or_none(entry.get("embedding")),
    )


def _folder_selection(value: object, where: str) -> FolderSelection:
    entry = _object(value, where)
    return FolderSelection(
        selected_folders=_list_of(
            entry.get("selected_folders"), f"{where}.selected_folders", _string
        ),
        available_folders=_list_of(
            entry.get("available_folders"), f"{where}.available_folders", _string
        ),
        fallback_used=_optional(entry.get("fallback_used"), f"{where}.fallback_used", _boolean),
        reasoning=_string_or_none(entry.get("reasoning")),
    )


def _latency(value: object) -> dict[str, float]:
    if not isinstance(value, Mapping):
        return {}
    times = {_clean(str(phase)): _number_or_none(ms) for phase, ms in value.items()}
    return {phase: ms for phase, ms in times.items() if ms is not None and 0 <= ms <= _LONGEST_MS}


def _models(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        return {}
    # A version is often written as a number: `prompt_version: 3`.
    return {
        _clean(str(role)): _clean(str(name))
        for role, name in value.items()
        if isinstance(name, str) or _is_integer(name) or _number_or_none(name) is not None
    }


# --- strict readers: the value or a protocol error -----------------------------------------


def _object(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _unexpected(where, "an object", value)
    return value


def _string(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise _unexpected(where, "a string", value)
    return _clean(value)


def _boolean(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise _unexpected(where, "true or false", value)
    return value


def _identifier(value: object, where: str) -> str:
    # Vector stores number their chunks; duplicates are found by id, so 7 and "7" are the same.
    if _is_integer(value):
        return str(value)
    return _string(value, where)


def _rank(value: object, where: str) -> int | None:
    if isinstance(value, float) and not isfinite(value):
        return None
    rank = _integer_or_none(value)
    if rank is None:
        raise _unexpected(where, "an integer", value)
    return rank


def _optional(value: object, where: str, read: Callable[[object, str], _T]) -> _T | None:
    return None if value is None else read(value, where)


def _list_of(value: object, where: str, read: Callable[[object, str], _T]) -> tuple[_T, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list | tuple):
        raise _unexpected(where, "a list", value)
    return tuple(read(entry, f"{where}[{index}]") for index, entry in enumerate(value))


# --- lenient readers: the value or None ----------------------------------------------------


def _string_or_none(value: object) -> str | None:
    return _clean(value) if isinstance(value, str) else None


def _number_or_none(value: object) -> float | None:
    """Read a number or a string that holds a decimal one; None unless it is finite."""
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
    """Read a vector; one with anything but finite numbers in it is no vector."""
    if not isinstance(value, list | tuple) or not value:
        return None
    numbers = tuple(_number_or_none(entry) for entry in value)
    return None if None in numbers else tuple(float(n) for n in numbers if n is not None)


def _plain(value: object) -> Any:
    """Copy any JSON value with its faults mended: no NaN, no lone surrogate, string keys."""
    if isinstance(value, Mapping):
        return {_clean(str(key)): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, bool) or _is_integer(value):
        return value
    return _number_or_none(value)


# --- small tools ---------------------------------------------------------------------------


def _is_integer(value: object) -> TypeGuard[int]:
    """Say whether a value is an integer of sane size (to Python, True is one too)."""
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


def _clean(text: str) -> str:
    r"""Replace lone surrogates, which JSON can spell (``\ud800``) and UTF-8 cannot hold."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _unexpected(where: str, expected: str, value: object) -> EndpointError:
    return _protocol(f"{where}: expected {expected}, got {_shown(value)}")


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return repr(excerpt(value, 40))
    if isinstance(value, float) or _is_integer(value):
        return excerpt(repr(value), 40)
    return f"a value of type {type(value).__name__}"


def _protocol(message: str) -> EndpointError:
    return EndpointError("protocol", message)
