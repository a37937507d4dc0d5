"""Records without their texts, of which tens of thousands fit into memory."""

from __future__ import annotations

from collections.abc import Mapping
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

_T = TypeVar("_T")
_CHUNK: Final = ("rel_path", "heading_path", "vault", "pages", "text_truncated", "matched_golds",
                 "matched_by", "irrelevant")  # fmt: skip
"""Fields of a chunk that figures, rules and the reasons of a comparison depend on; of its text
only whether there is one."""
_kept: Final = attrgetter(*_CHUNK)
_CITES: Final = Evidence(claims=(CheckedClaim(text="", citations=(CitationCheck(),)),))
"""Of an answer that cites in its text; nothing else of evidence is a figure."""
_UNSURE: Final[Mapping[str, Any]] = {"unsure": True}
_JUDGED: Final = ("error", "scores")
_JUDGED_BY: Final = (*_JUDGED, "judge", "model", "system_fingerprint", "level", "rubric_version",
                     "parameters", "dropped_parameters")  # fmt: skip


class Slimmer:
    """Takes the texts of replies and verdicts out of records, and leaves the case and all numbers.

    Parts that many records have in common become one object.

    Args:
        judges: keep the facts of judges as well, of which ``config.json`` is made.
    """

    def __init__(self, *, judges: bool = False) -> None:
        self._known: dict[Any, Any] = {}
        self._judged = _JUDGED_BY if judges else _JUDGED

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
        judgements = {key: _part(one, self._judged) for key, one in given.judgements.items()}
        if given.spot_check is None:  # a second judge is compared with the scores of the first
            for one in judgements.values():
                one["scores"] = dict.fromkeys(one.get("scores") or ())
            judgements = self._same(judgements)
        return CaseVerdicts(
            abstention=given.abstention
            and self._same(_part(given.abstention, ("abstained", "source"))),
            correctness=_UNSURE if (given.correctness or {}).get("unsure") else None,
            judgements=judgements,
            spot_check=given.spot_check,
            evidence=_CITES if any(one.citations for one in claims) else None,
            cost=given.cost,
        )

    def _one(self, value: _T) -> _T:
        found: _T = self._known.setdefault(value, value)
        return found

    def _same(self, given: _T) -> _T:
        """Return an equal mapping that came before; its values are texts, booleans or such."""
        found: _T = self._known.setdefault((repr(given),), given)
        return found


def _part(given: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: given[name] for name in names if name in given}
