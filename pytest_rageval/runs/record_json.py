"""Records as lines of ``results.jsonl``, with truncation of texts. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from functools import cache
from itertools import chain
from math import isfinite
from typing import Any, Final

import msgspec

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.matching import text_hash
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.lenient import MOST_AMOUNT
from pytest_rageval.values.limits import MAX_INTEGER
from pytest_rageval.values.record import MOST_SCORE, CaseRecord
from pytest_rageval.values.reply import RetrievedChunk
from pytest_rageval.values.verdict import JudgeUsage

_TOLERANCE: Final = 1e-9

STORED_CHUNK_CHARS: Final = 200
STORED_ANSWER_CHARS: Final = 100_000


def redact(record: CaseRecord, *, full_text: bool) -> CaseRecord:
    """Return the record as it is stored, with long texts cut and marked as cut.

    Args:
        record: a scored record; judging and matching have seen the whole texts.
        full_text: keep all chunk texts whole. Else those of the first ``k`` chunks stay whole,
            since a later judge reads them, and ``STORED_CHUNK_CHARS`` of each other are kept. The
            answer, also as the input of a judge, is cut at ``STORED_ANSWER_CHARS`` either way;
            ``answer_chars`` keeps its length.
    """
    response = record.response
    if response is None:
        return record
    chunks, answer = response.retrieved_chunks, response.answer[:STORED_ANSWER_CHARS]
    if chunks is not None:
        chunks = tuple([c if c.embedding is None else replace(c, embedding=None) for c in chunks])
        if not full_text:
            chunks = (*chunks[: record.k], *map(_cut, chunks[record.k :]))
    chars = len(response.answer) if record.answer_chars is None else record.answer_chars
    whole = response.retrieved_chunks, response.answer, record.answer_chars
    if (chunks, answer, chars) == whole:  # nearly always
        return record
    response = replace(response, retrieved_chunks=chunks, answer=answer)
    return replace(record, response=response, answer_chars=chars)


def _cut(chunk: RetrievedChunk) -> RetrievedChunk:
    if chunk.text is None or len(chunk.text) <= STORED_CHUNK_CHARS:
        return chunk
    # A text that was cut earlier keeps the hash of its whole.
    whole = chunk.text_hash or (None if chunk.text_truncated else text_hash(chunk.text))
    cut = chunk.text[:STORED_CHUNK_CHARS]
    return replace(chunk, text=cut, text_truncated=True, text_hash=whole)


def record_line(record: CaseRecord) -> bytes:
    """Return a record as its line of ``results.jsonl``, without the line break.

    Raises:
        ValueError: a number is NaN or infinite.
    """
    numbers = (record.scores.metrics, record.latency, record.reply.usage)
    if not all(map(isfinite, filter(None, chain(*[one.values() for one in numbers])))):
        raise ValueError(f"case {record.case.id!r}: a number is not JSON compliant: {numbers}")
    return encode_line(record)


def encode_line(value: object) -> bytes:
    """Return the JSON form of a dataclass."""
    try:
        return msgspec.json.encode(value)
    except (TypeError, UnicodeEncodeError):  # a subclass of str, or half of a surrogate pair
        return encode_text(json.dumps(value, ensure_ascii=False, allow_nan=False, default=_fields))


def _fields(value: Any) -> dict[str, Any]:
    return {one.name: getattr(value, one.name) for one in fields(value)}


def encode_text(text: str) -> bytes:
    """Return the UTF-8 form of a JSON text."""
    # Half a surrogate pair has none; its Python escape is its JSON escape as well.
    return text.encode("utf-8", "backslashreplace")


# Prepared here, since msgspec crashes where several threads convert to a new type at once.
_DECODER: Final = msgspec.json.Decoder(CaseRecord)
_HALF: Final = re.compile(rb"\\ud[89a-f]", re.IGNORECASE)
"""Escape of half of a surrogate pair, which msgspec does not read."""


def record_of_line(line: bytes | str) -> CaseRecord:
    """Read a record from its line; unknown fields are left out.

    Raises:
        StorageError: the line is damaged, or a value is outside the limits that cases and replies
            are held to.
    """
    try:
        try:
            record = _DECODER.decode(line)
        except msgspec.DecodeError:
            if not _HALF.search(line if isinstance(line, bytes) else line.encode()):
                raise
            record = msgspec.convert(json.loads(line), CaseRecord)
    except (ValueError, RecursionError) as error:
        raise StorageError(str(error)) from None
    for key, value in chain(
        record.scores.metrics.items(), (record.scores.metrics_before_rerank or {}).items()
    ):
        low, top = _scale(key)
        if value is not None and not low - _TOLERANCE <= value <= top + _TOLERANCE:
            raise _fault(f"scores.metrics.{key}", value, f"{low:g} to {top:g}")
    judged = record.verdicts.usage or JudgeUsage()
    spent = {"cost_usd": judged.cost_usd_uncached, "tokens": judged.tokens}
    amounts = (record.latency, record.reply.usage, spent)
    for key, value in chain(*[one.items() for one in amounts]):
        if value is not None and not -MOST_AMOUNT <= value <= MOST_AMOUNT:
            raise _fault(key, value, f"{MOST_AMOUNT:g} at most")
    _check_count("k", record.k)
    _check_case(record.case)
    for chunk in record.reply.retrieved_chunks or ():
        if chunk.matched_golds and min(chunk.matched_golds) < 0:
            raise _fault("matched_golds", chunk.matched_golds, "indices of at least 0")
    return record


def _check_case(case: Case) -> None:
    """Refuse grades and groups that no case file can have, and that retrieval divides by."""
    golds = case.gold_supports
    for index, gold in enumerate(golds):
        _check_count(f"case.gold_supports.{index}.grade", gold.grade)
    groups = case.required_support_groups
    places = range(len(golds))
    if groups is not None and not (groups and all(one and {*one} <= {*places} for one in groups)):
        where = "case.required_support_groups"
        raise _fault(where, groups, "groups of at least one index into gold_supports")


def _check_count(field: str, count: int) -> None:
    if not 1 <= count <= MAX_INTEGER:
        most = "" if count < 1 else f" and at most {MAX_INTEGER}"
        raise _fault(field, count, f"an integer of at least 1{most}")


def _fault(field: str, got: object, expected: str) -> StorageError:
    return StorageError(f"{field}: got {got!r:.80}, expected {expected}")


@cache
def _scale(key: str) -> tuple[float, float]:
    """Return the least and the largest value of a metric; others would distort every mean."""
    info = BUILT_IN.cases.get(key)
    low, high = info.scale if info else (-MOST_SCORE, None)
    return low, MOST_SCORE if high is None else high
