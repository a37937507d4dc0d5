"""Records as lines of ``results.jsonl``, with truncation of texts. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from functools import lru_cache
from itertools import chain
from math import isfinite
from operator import attrgetter
from typing import Any, Final, TypeVar

import msgspec

from pytest_rageval.metrics.matching import text_hash
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.record import CaseRecord, CaseVerdicts, Evidence
from pytest_rageval.values.reply import RetrievedChunk
from pytest_rageval.values.verdict import Judgement

_T = TypeVar("_T")
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


def without_texts(record: CaseRecord) -> CaseRecord:
    """Return a record without the texts of its reply and verdicts: its case and all numbers."""
    response, scores, given = record.response, record.scores, record.verdicts
    if response is not None:
        chunks = response.retrieved_chunks
        if chunks is not None:
            chunks = tuple([_bare_chunk(*_kept(one), one.text and "") for one in chunks])
        response = replace(
            response, answer="", references=None, searches=None, retrieved_chunks=chunks
        )
    claims = given.evidence and given.evidence.claims
    verdicts = CaseVerdicts(
        judgements={key: _unspoken(one) for key, one in given.judgements.items()},
        spot_check={key: one and _unspoken(one) for key, one in given.spot_check.items()},
        evidence=Evidence(claims=tuple(replace(one, text="") for one in claims))
        if claims
        else None,
    )
    scores = replace(scores, not_applicable=_reasons(tuple(scores.not_applicable.items())))
    return replace(record, response=response, scores=scores, verdicts=verdicts)


_CHUNK: Final = ("rel_path", "heading_path", "vault", "pages", "text_truncated", "matched_golds",
                 "matched_by", "irrelevant")  # fmt: skip
"""Fields of a chunk that figures and the reasons of a comparison depend on; of its text only
whether there is one."""
_kept: Final = attrgetter(*_CHUNK)


# Two runs of 10,000 cases take 420 MB where each record holds chunks and reasons of its own.
@lru_cache(1 << 15)
def _bare_chunk(*values: Any) -> RetrievedChunk:
    return RetrievedChunk(**dict(zip((*_CHUNK, "text"), values, strict=True)))


_reasons: Final = lru_cache(1 << 12)(dict[str, str])


def _unspoken(given: Judgement) -> Judgement:
    verdict = given.verdict and replace(
        given.verdict, not_applicable={}, reasoning="", claims=(), key_facts_found=None
    )
    return replace(given, verdict=verdict, truncated_chunk_ids=())


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
        StorageError: the line is damaged.
    """
    return decoded(line, _DECODER)


def decoded(text: bytes | str, decoder: msgspec.json.Decoder[_T]) -> _T:
    """Read a JSON text of ours.

    Raises:
        StorageError: it is damaged, or a value is of another type.
    """
    try:
        try:
            return decoder.decode(text)
        except msgspec.DecodeError:
            if not _HALF.search(text if isinstance(text, bytes) else text.encode()):
                raise
            return msgspec.convert(json.loads(text), decoder.type, str_keys=True)
    except (ValueError, RecursionError, OverflowError) as error:
        raise StorageError.of("", "invalid", reason=error) from None
