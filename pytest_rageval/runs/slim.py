"""Records without their texts, of which tens of thousands fit into memory."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import Any, Final, TypeVar

from pytest_rageval.values.record import (
    CaseRecord,
    CaseVerdicts,
    CheckedClaim,
    CitationCheck,
    Evidence,
)
from pytest_rageval.values.reply import RetrievedChunk
from pytest_rageval.values.verdict import Judgement

_T = TypeVar("_T")
_CHUNK: Final = ("rel_path", "heading_path", "vault", "pages", "text_truncated", "matched_golds",
                 "matched_by", "irrelevant")  # fmt: skip
"""Fields of a chunk that figures, rules and the reasons of a comparison depend on; of its text
only whether there is one."""
_kept: Final = attrgetter(*_CHUNK)
_CITES: Final = Evidence(claims=(CheckedClaim(text="", citations=(CitationCheck(),)),))
"""Of an answer that cites in its text; nothing else of evidence is a figure."""


class Slimmer:
    """Takes the texts of replies and verdicts out of records, and leaves the case and all numbers.

    Parts that many records have in common become one object.
    """

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def __call__(self, record: CaseRecord) -> CaseRecord:
        """Return the record without its texts."""
        response, scores, verdicts = record.response, record.scores, record.verdicts
        if response is not None:
            chunks = response.retrieved_chunks
            response = replace(
                response,
                answer="",
                references=None,
                searches=None,
                retrieved_chunks=None if chunks is None else tuple(map(self._chunk, chunks)),
            )
        return replace(
            record,
            file=self._one(record.file),
            cluster=self._one(record.cluster),
            response=response,
            scores=replace(scores, not_applicable=self._same(scores.not_applicable)),
            verdicts=self._verdicts(verdicts),
        )

    def _chunk(self, chunk: RetrievedChunk) -> RetrievedChunk:
        kept, text = _kept(chunk), None if chunk.text is None else ""
        found: RetrievedChunk | None = self._known.get((kept, text))
        if found is None:
            found = RetrievedChunk(**dict(zip(_CHUNK, kept, strict=True)), text=text)
            self._known[kept, text] = found
        return found

    def _verdicts(self, given: CaseVerdicts) -> CaseVerdicts:
        claims = (given.evidence.claims if given.evidence else None) or ()
        judged = {key: self._judgement(one) for key, one in given.judgements.items()}
        second = {key: one and self._judgement(one) for key, one in given.spot_check.items()}
        return CaseVerdicts(
            judgements=judged,
            spot_check=second,
            evidence=_CITES if any(one.citations for one in claims) else None,
        )

    def _judgement(self, given: Judgement) -> Judgement:
        """Return a judgement without texts and places."""
        verdict = given.verdict and replace(
            given.verdict, not_applicable={}, reasoning="", claims=(), key_facts_found=None
        )
        return replace(
            given,
            verdict=verdict,
            prompt_hash="",
            truncated_chunk_ids=(),
            usage=self._one(given.usage),
            parameters=self._same(given.parameters),
            rubric_version=self._one(given.rubric_version),
            judge=self._one(given.judge),
        )

    def _one(self, value: _T) -> _T:
        found: _T = self._known.setdefault(value, value)
        return found

    def _same(self, given: _T) -> _T:
        """Return an equal mapping that came before; its values are texts, booleans or such."""
        found: _T = self._known.setdefault((repr(given),), given)
        return found
