"""Records without their texts, of which tens of thousands fit into memory."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, Final, TypedDict, TypeVar, get_type_hints

import msgspec

from pytest_rageval.runs.record_json import PART_TYPES, PARTS, checked_record, nested_fields
from pytest_rageval.runs.store import record_of_line
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.record import (
    SCHEMA_VERSION,
    CaseRecord,
    CaseScores,
    CaseVerdicts,
    CheckedClaim,
    CitationCheck,
    Evidence,
)
from pytest_rageval.values.reply import RetrievedChunk

_T = TypeVar("_T")
_CHUNK: Final = ("rel_path", "heading_path", "vault", "pages", "text_truncated", "matched_golds",
                 "matched_by", "irrelevant")  # fmt: skip
"""Fields of a chunk that figures, rules and the reasons of a comparison depend on; of its text
only whether there is one."""
_kept: Final = attrgetter(*_CHUNK)
_CITES: Final = Evidence(claims=(CheckedClaim(text="", citations=(CitationCheck(),)),))
"""Of an answer that cites in its text; nothing else of evidence is a figure."""


class _Abstention(TypedDict, total=False):
    abstained: bool | None
    source: str


class _Judgement(TypedDict, total=False):
    error: Any
    scores: Any


class _JudgedBy(_Judgement, total=False):
    judge: Any
    model: Any
    system_fingerprint: Any
    level: Any
    rubric_version: Any
    parameters: Any
    dropped_parameters: Any


class _Claim(TypedDict, total=False):
    citations: list[Any]


class _Evidence(TypedDict, total=False):
    claims: list[_Claim] | None


def _line_decoder(judgement: Any) -> msgspec.json.Decoder[dict[str, Any]]:
    """Return a reader of the fields of a line that are kept, which skips all others."""
    hints: dict[str, Any] = get_type_hints(CaseRecord)
    for name, part in PART_TYPES.items():
        found = get_type_hints(part)
        hints |= {line: found[field] for line, field in PARTS[name].items()}
    for name in ("groundedness", "correctness", "judge_input", "response", "scores", "verdicts"):
        del hints[name]
    of_chunk = get_type_hints(RetrievedChunk)
    bare = RetrievedChunk(rel_path="")
    optional = ((name, of_chunk[name], getattr(bare, name)) for name in _CHUNK[1:])
    fields: list[Any] = [("rel_path", str), *optional, ("text", str | None, None)]
    chunk: Any = msgspec.defstruct("_Chunk", fields)
    line: dict[str, Any] = {
        "schema_version": int,
        **hints,
        "case": Case | None,
        "answer": str | None,
        "retrieved_chunks": tuple[chunk, ...] | None,
        "not_applicable": msgspec.Raw,
        "abstention": _Abstention | None,
        "judgements": dict[str, judgement],
        "evidence": _Evidence | None,
    }
    typed: Any = TypedDict("_Line", line, total=False)  # type: ignore[misc]
    return msgspec.json.Decoder(typed)


class Slimmer:
    """Reads records with their case and all numbers, without texts of replies and verdicts.

    Parts that many records have in common become one object.

    Args:
        judges: keep the facts of judges as well, of which ``config.json`` is made.
        checked: refuse values outside their limits.
    """

    def __init__(self, *, judges: bool = False, checked: bool = True) -> None:
        self._known: dict[Any, Any] = {}
        self._chunks: tuple[dict[Any, RetrievedChunk], ...] = {}, {}
        """Those with a text, and those without."""
        self._checked = checked
        self._decode = _line_decoder(_JudgedBy if judges else _Judgement).decode

    def __call__(self, line: bytes) -> CaseRecord:
        """Return the slim record of a line.

        Raises:
            StorageError: it holds none.
        """
        try:
            return self._read(line)
        except (LookupError, TypeError, ValueError, RecursionError, StorageError):
            return record_of_line(line)  # with its texts, or it says what is wrong

    def _read(self, line: bytes) -> CaseRecord:
        fields = self._decode(line)
        if fields["schema_version"] != SCHEMA_VERSION:
            raise StorageError("schema_version")
        fields |= {name: self._one(fields.get(name)) for name in ("file", "cluster")}
        if (chunks := fields.get("retrieved_chunks")) is not None:
            known = self._chunks
            fields["retrieved_chunks"] = tuple(
                [known[one.text is None].get(_kept(one)) or self._chunk(one) for one in chunks]
            )
        nested = nested_fields(fields)
        if (response := nested["response"]) is not None:
            response.update(answer="", references=None, searches=None)
        scores, verdicts = nested["scores"], nested["verdicts"]
        scores["not_applicable"] = self._reasons(bytes(scores["not_applicable"]))
        nested["scores"] = CaseScores(**scores)
        claims = (verdicts.get("evidence") or {}).get("claims") or ()
        verdicts["evidence"] = _CITES if any(one.get("citations") for one in claims) else None
        if abstention := verdicts.get("abstention"):
            verdicts["abstention"] = self._same(abstention)
        # A second judge is compared with the scores of the first.
        if verdicts.get("spot_check") is None and (given := verdicts.get("judgements")):
            facts = {
                rubric: {**one, "scores": dict.fromkeys(one.get("scores") or ())}
                for rubric, one in given.items()
            }
            verdicts["judgements"] = self._same(facts)
        nested["verdicts"] = CaseVerdicts(**verdicts)
        return checked_record(nested) if self._checked else msgspec.convert(nested, CaseRecord)

    def _chunk(self, chunk: Any) -> RetrievedChunk:
        """Make and remember the chunk of a line."""
        kept, bare = _kept(chunk), chunk.text is None
        fields = {**dict(zip(_CHUNK, kept, strict=True)), "text": None if bare else ""}
        found = self._chunks[bare][kept] = RetrievedChunk(**fields)
        return found

    def _reasons(self, text: bytes) -> Mapping[str, str]:
        found: Mapping[str, str] | None = self._known.get(text)
        if found is None:
            found = self._known[text] = msgspec.json.decode(text, type=dict[str, str])
        return found

    def _one(self, value: _T) -> _T:
        found: _T = self._known.setdefault(value, value)
        return found

    def _same(self, given: Mapping[str, _T]) -> Mapping[str, _T]:
        """Return an equal mapping that came before; its values are texts, booleans or such."""
        key = repr(given)
        found: Mapping[str, _T] = self._known.setdefault(key, given)
        return found
