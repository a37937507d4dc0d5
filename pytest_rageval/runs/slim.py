"""Records without their texts, of which tens of thousands fit into memory, or with names alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from pytest_rageval.metrics.scoring import cites_in_text
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import (
    SCHEMA_VERSION,
    CaseRecord,
    CaseScores,
    CaseVerdicts,
    CheckedClaim,
    CitationCheck,
    Evidence,
)
from pytest_rageval.values.reply import AskResponse, RetrievedChunk

_T = TypeVar("_T")
_CHUNK: Final = ("rel_path", "heading_path", "vault", "pages", "text_truncated", "matched_golds",
                 "matched_by", "irrelevant")  # fmt: skip
"""Fields of a chunk that figures, rules and the reasons of a comparison depend on; of its text
only whether there is one."""
_REPORTED: Final = ("heading_path", "pages", "text_truncated")
_ABSTENTION: Final = ("abstained", "source")
_CITES: Final = Evidence(claims=(CheckedClaim(text="", citations=(CitationCheck(),)),))
"""Of an answer that cites in its text; nothing else of evidence is a figure."""


class Slimmer:
    """Returns records with their case and all numbers, without texts of replies and verdicts.

    Parts that many records have in common become one object.
    """

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def __call__(self, record: CaseRecord) -> CaseRecord:
        """Return the slim record."""
        scores, verdicts = record.scores, record.verdicts
        slim = CaseVerdicts(
            abstention=verdicts.abstention and self._same(_part(verdicts.abstention, _ABSTENTION)),
            judgements=self._judgements(verdicts),
            spot_check=verdicts.spot_check,
            evidence=_CITES if cites_in_text(record) else None,
            cost=self._keyed(verdicts.cost),
        )
        metrics, reasons = self._keyed(scores.metrics), self._same(scores.not_applicable)
        return replace(
            record,
            file=self._one(record.file),
            cluster=self._one(record.cluster),
            response=record.response and self._response(record.response),
            latency=self._keyed(record.latency),
            scores=replace(scores, metrics=metrics, not_applicable=reasons),
            verdicts=slim,
        )

    def _response(self, response: AskResponse) -> AskResponse:
        chunks = response.retrieved_chunks
        return replace(
            response,
            answer="",
            references=None,
            searches=None,
            retrieved_chunks=None if chunks is None else tuple(map(self._chunk, chunks)),
            models=self._same(response.models),
        )

    def _chunk(self, chunk: RetrievedChunk) -> RetrievedChunk:
        kept = {name: getattr(chunk, name) for name in _CHUNK}
        key = (chunk.text is None, *kept.values())
        found: RetrievedChunk | None = self._known.get(key)
        if found is None:
            text = None if chunk.text is None else ""
            found = self._known[key] = RetrievedChunk.of({**kept, "text": text})
        return found

    def _judgements(self, verdicts: CaseVerdicts) -> Mapping[str, Any]:
        if verdicts.spot_check is not None:  # it is compared with their scores
            return verdicts.judgements
        return self._same(
            {
                rubric: self._same(_part(one, ("error",))) if isinstance(one, Mapping) else one
                for rubric, one in verdicts.judgements.items()
            }
        )

    def _one(self, value: _T) -> _T:
        found: _T = self._known.setdefault(value, value)
        return found

    def _keyed(self, given: Mapping[str, _T]) -> Mapping[str, _T]:
        return dict(zip(self._one(tuple(given)), given.values(), strict=True))

    def _same(self, given: Mapping[str, _T]) -> Mapping[str, _T]:
        """Return an equal mapping that came before; its values are texts, booleans or such."""
        key = repr(given)
        found: Mapping[str, _T] = self._known.setdefault(key, given)
        return found


def named_record(fields: Mapping[str, Any]) -> CaseRecord:
    """Return the name of a record and what its reply shows of the target; nothing else is right.

    Args:
        fields: of its line.

    Raises:
        AttributeError, LookupError, TypeError, ValueError: it is not a record.
    """
    if fields["schema_version"] != SCHEMA_VERSION:
        raise ValueError(f"schema_version: got {fields['schema_version']!r}")
    chunks = fields["retrieved_chunks"]
    claims = (fields["evidence"] or {}).get("claims") or ()
    return CaseRecord(
        case=Case(id=fields["case_id"], question=""),
        case_stored=False,
        file=fields["file"],
        lineno=fields["lineno"],
        case_hash=fields["case_hash"],
        k=fields["k"],
        repeat=fields["repeat"],
        parameters=fields["parameters"],
        status=fields["status"],
        response=None
        if chunks is None
        else AskResponse(answer="", retrieved_chunks=tuple(map(_shown, chunks))),
        latency={},
        scores=CaseScores(
            metrics={},
            not_applicable={},
            outcome=fields["outcome"],
            citations=None if fields["citations"] is None else (),
        ),
        verdicts=CaseVerdicts(
            evidence=_CITES if any(claim.get("citations") for claim in claims) else None
        ),
    )


def _shown(chunk: Mapping[str, Any]) -> RetrievedChunk:
    text = None if chunk.get("text") is None else ""
    return RetrievedChunk.of({**_part(chunk, _REPORTED), "text": text})


def _part(given: Mapping[str, Any], names: tuple[str, ...]) -> Mapping[str, Any]:
    return {name: given[name] for name in names if name in given}
