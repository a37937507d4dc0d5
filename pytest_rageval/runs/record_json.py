"""Conversion of records to JSON values and back, with truncation of texts. Pure.

A line is flat: ``schema_version``, then the facts of a record and of its parts side by side, then
the whole case. Lines from other tools may lack the case; it is then made from their other fields.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from itertools import chain
from math import isfinite
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import msgspec

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.matching import text_hash
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.lenient import MOST_AMOUNT
from pytest_rageval.values.limits import MAX_INTEGER
from pytest_rageval.values.record import (
    MOST_SCORE,
    SCHEMA_VERSION,
    CaseRecord,
    CaseScores,
    CaseVerdicts,
)
from pytest_rageval.values.reply import AskResponse, RetrievedChunk

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_PLAIN: Final = frozenset({str, float, int, bool, type(None)})

_TOLERANCE: Final = 1e-9

STORED_CHUNK_CHARS: Final = 200
STORED_ANSWER_CHARS: Final = 100_000


PARTS: Final[Mapping[str, Mapping[str, str]]] = {
    "case": {
        "case_id": "id",
        **{
            name: name
            for name in (
                "category", "difficulty", "tags", "vaults", "answerable", "required", "question",
            )
        },
    },
    "response": {
        item.name: item.name
        for item in fields(AskResponse)
        if item.name not in {"query_embedding", "latency"}
    },
    "scores": {item.name: item.name for item in fields(CaseScores)},
    "verdicts": {item.name: item.name for item in fields(CaseVerdicts)},
}  # fmt: skip
"""By part of a record: field of a line, and name of the field in the part."""

PART_TYPES: Final = {
    "case": Case, "response": AskResponse, "scores": CaseScores, "verdicts": CaseVerdicts,
}  # fmt: skip
LINE_FIELDS: Final = (
    "case_id", "file", "lineno", "case_hash", "repeat", "status", "error", "outcome",
    "failure_stage", "unchecked", "category", "difficulty", "tags", "vaults", "answerable",
    "required", "cluster", "k", "question", "answer", "answer_chars", "references", "citations",
    "abstained", "abstain_reason", "retrieved_chunks", "folder_selection", "metrics",
    "not_applicable", "metrics_before_rerank", "groundedness", "correctness", "abstention",
    "judgements", "spot_check", "judge_input", "evidence", "latency", "cost",
    "indexing_coverage", "models",
)  # fmt: skip
"""Fields of a line in their order, up to the case."""

_WHERE_REPORTED: Final = ("usage", "session", "searches", "reply_keys")
"""Fields of a response that a line holds only if the target reports them."""
_WHERE_ASKED: Final = ("trace_id", "span_id", "asked_at")
"""Facts of asking that a line holds only if they are known."""
OPTIONAL_FIELDS: Final = ("metric_details", *_WHERE_REPORTED, *_WHERE_ASKED)
"""Fields that only some lines have."""
_BARE: Final = AskResponse(answer="")
_SPARSE: Final = frozenset({"pages", "matched_by", "chunk_rank"})
"""Fields of anchors, chunks and citations that a line holds only where they are set."""

_WITH_SPARSE: Final = ("references", "citations")
_ANCHORS: Final = ("gold_supports", "irrelevant_supports")
"""Fields of a line, and of its case, whose parts leave some fields out."""
_CHUNK: Final = sorted([one.name for one in fields(RetrievedChunk)], key=_SPARSE.__contains__)
"""Fields of a chunk in the order of a line."""
_NAMES: Final = ("schema_version", *LINE_FIELDS, "case", "parameters")
_OF_PART: Final = {
    line: f"{part}.{name}" for part, names in PARTS.items() for line, name in names.items()
}
_VALUES: Final = attrgetter(
    *(_OF_PART.get(name, name).replace("response.", "reply.") for name in LINE_FIELDS),
    "stored_case",
    "parameters",
)

_OWN: Final = frozenset({item.name for item in fields(CaseRecord)} - {"case_stored", *PARTS})


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
    verdicts = _with_short_answer(record.verdicts)
    return replace(record, response=response, answer_chars=chars, verdicts=verdicts)


def _with_short_answer(verdicts: CaseVerdicts) -> CaseVerdicts:
    given = verdicts.judge_input or {}
    answer = given.get("answer")
    if not isinstance(answer, str) or len(answer) <= STORED_ANSWER_CHARS:
        return verdicts
    return replace(verdicts, judge_input={**given, "answer": answer[:STORED_ANSWER_CHARS]})


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
    line = _line(record)
    for name in _WITH_SPARSE:
        line[name] = line[name] and [_fields_of(one) for one in line[name]]
    if (case := record.stored_case) is not None:
        line["case"] = plain = _fields_of(case)
        for name in _ANCHORS:
            plain[name] = [_fields_of(anchor) for anchor in plain[name]]
    if (chunks := record.reply.retrieved_chunks) is not None:
        line["retrieved_chunks"] = [_chunk_fields(chunk) for chunk in chunks]
    numbers = (record.scores.metrics, record.latency, record.verdicts.cost, record.reply.usage)
    try:
        if all(map(isfinite, filter(None, chain(*[one.values() for one in numbers])))):
            # With the blanks that json writes, so that a text search finds what it found before.
            return msgspec.json.format(msgspec.json.encode(line), indent=0)
    except (TypeError, ValueError):  # a subclass of str, or half of a surrogate pair
        pass
    text = json.dumps(record_to_json(record), ensure_ascii=False, allow_nan=False)
    return encode_text(text)


def encode_text(text: str) -> bytes:
    """Return the UTF-8 form of a JSON text."""
    # Half a surrogate pair has none; its Python escape is its JSON escape as well.
    return text.encode("utf-8", "backslashreplace")


def _chunk_fields(chunk: RetrievedChunk) -> dict[str, Any]:
    plain = {name: getattr(chunk, name) for name in _CHUNK}
    return {name: one for name, one in plain.items() if one is not None or name not in _SPARSE}


def record_to_json(record: CaseRecord) -> dict[str, Any]:
    """Return a record as JSON values, ``schema_version`` first."""
    plain: dict[str, Any] = to_plain(_line(record))
    return plain


def _line(record: CaseRecord) -> dict[str, Any]:
    line = dict(zip(_NAMES, (SCHEMA_VERSION, *_VALUES(record)), strict=True))
    line["answer"] = record.answer
    for name in _WHERE_REPORTED if record.response is not None else ():
        if (reported := getattr(record.response, name)) != getattr(_BARE, name):
            line[name] = reported
    if record.scores.metric_details:
        line["metric_details"] = {
            key: {name: text for name, text in to_plain(one).items() if text}
            for key, one in record.scores.metric_details.items()
        }
    for name in _WHERE_ASKED:
        if (asked := getattr(record, name)) is not None:
            line[name] = asked
    return line


def to_plain(value: Any) -> Any:
    """Turn dataclasses and mappings into dicts, and tuples into lists, recursively."""
    kind: Any = type(value)
    if kind in _PLAIN:  # nearly all values, so it is tested first
        return value
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    return to_plain(_fields_of(value)) if is_dataclass(kind) else value


def _fields_of(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass, the sparse ones last."""
    kind: Any = type(value)
    names, sparse, read = _reader_of(kind)
    plain = dict(zip(names, read(value), strict=True))
    for name in sparse:
        if plain[name] in (None, ()):
            del plain[name]
    return plain


@cache
def _reader_of(kind: Any) -> tuple[list[str], list[str], Callable[[Any], Iterable[Any]]]:
    names = sorted([item.name for item in fields(kind)], key=_SPARSE.__contains__)
    read = attrgetter(*names)
    sparse = [name for name in names if name in _SPARSE]
    return names, sparse, read if len(names) > 1 else lambda value: [read(value)]


def record_from_json(document: Mapping[str, Any]) -> CaseRecord:
    """Build a record from JSON values; unknown fields are left out.

    Raises:
        StorageError: another schema version, a missing field or a wrong type.
    """
    version = document.get("schema_version")
    if version != SCHEMA_VERSION:
        raise StorageError(
            f"schema_version: got {version!r}, expected {SCHEMA_VERSION} "
            "(was it written by another version of pytest-rageval?)"
        )
    nested = nested_fields(document)
    try:
        return checked_record(nested)
    except ValueError:  # pydantic reads more, and says what it does not
        return _checked(_read_with_care(nested, document))


# Prepared here, since msgspec crashes where several threads convert to a new type at once.
msgspec.json.Decoder(CaseRecord)


def checked_record(nested: Mapping[str, Any]) -> CaseRecord:
    """Build a record of the fields of its parts, or of parts that were built before.

    Raises:
        StorageError: a value is outside its limits.
        ValueError: a field is missing, of a wrong type, or has half of a surrogate pair for a name.
    """
    return _checked(msgspec.convert(nested, CaseRecord))


def _checked(record: CaseRecord) -> CaseRecord:
    """Return a record whose values are within the limits that cases and replies are held to."""
    for name in ("metrics", "metrics_before_rerank"):
        for key, value in (getattr(record.scores, name) or {}).items():
            low, top = _scale(key)
            if value is not None and not low - _TOLERANCE <= value <= top + _TOLERANCE:
                raise _fault(f"{name}.{key}", value, f"{low:g} to {top:g}")
    amounts = {
        "latency": record.latency, "usage": record.reply.usage, "cost": record.verdicts.cost,
    }  # fmt: skip
    for name, given in amounts.items():
        for key, value in given.items():
            if value is not None and not -MOST_AMOUNT <= value <= MOST_AMOUNT:
                raise _fault(f"{name}.{key}", value, f"{MOST_AMOUNT:g} at most")
    _check_count("k", record.k)
    _check_case(record.case)
    for index, chunk in enumerate(record.reply.retrieved_chunks or ()):
        if chunk.matched_golds and min(chunk.matched_golds) < 0:
            where = f"retrieved_chunks.{index}.matched_golds"
            raise _fault(where, chunk.matched_golds, "indices of at least 0")
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


def _read_with_care(nested: Mapping[str, Any], document: Mapping[str, Any]) -> CaseRecord:
    """Build a record of moved fields, or name the field of the line that is wrong."""
    from pydantic import ValidationError

    try:
        return _adapter().validate_python(nested)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(str(part) for part in _place(first["loc"], document))
        raise StorageError(f"{place}: {first['msg']}") from None


def nested_fields(line: Mapping[str, Any]) -> dict[str, Any]:
    """Move the fields of a line to their places in a record."""
    nested: dict[str, Any] = {name: line[name] for name in _OWN if name in line}
    stored = line.get("case")
    for part, names in PARTS.items():
        if part != "case" or stored is None:
            nested[part] = {field: line[name] for name, field in names.items() if name in line}
    if stored is None:
        nested["case_stored"] = False
    else:
        nested["case"] = stored
    response = nested["response"]
    if response.get("answer") is None:
        answered = any(value is not None for name, value in response.items() if name != "models")
        nested["response"] = {**response, "answer": ""} if answered else None
    return nested


def _place(path: tuple[int | str, ...], line: Mapping[str, Any]) -> tuple[int | str, ...]:
    """Return the path in a line for a path in a record."""
    part, *inner = path
    if part not in PARTS or not inner or (part == "case" and line.get("case") is not None):
        return path
    names = {field: name for name, field in PARTS[str(part)].items()}
    return names[str(inner[0])], *inner[1:]


@cache
def _scale(key: str) -> tuple[float, float]:
    """Return the least and the largest value of a metric; others would distort every mean."""
    info = BUILT_IN.cases.get(key)
    low, high = info.scale if info else (-MOST_SCORE, None)
    return low, MOST_SCORE if high is None else high


@cache
def _adapter() -> TypeAdapter[CaseRecord]:
    # Built once: it takes longer than reading hundreds of records.
    from pydantic import TypeAdapter

    return TypeAdapter(CaseRecord)
