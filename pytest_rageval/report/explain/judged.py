"""The judge's verdicts on one answer: claims, key facts, reasoning, and failed verdicts.

Verdicts are stored unchanged, and a run may come from another tool: malformed values are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pytest_rageval.judges.spot_check import COMPARED
from pytest_rageval.metrics.matching import order_chunks
from pytest_rageval.report.explain.values import ClaimReason, FactReason, JudgementReason
from pytest_rageval.values.case import Case
from pytest_rageval.values.documents import items, part
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import RetrievedChunk

_CLAIM_RUBRICS: Final = ("groundedness", "claims")
"""Rubrics whose claims a record keeps, in order of preference."""


def explain_judgements(record: CaseRecord, case: Case | None) -> tuple[JudgementReason, ...]:
    """Explain every requested verdict in order, second opinions last."""
    verdicts = _verdicts(record)
    claimed = next((name for name in _CLAIM_RUBRICS if name in verdicts), None)
    first = (
        JudgementReason(
            rubric=rubric,
            judge=_text(verdict.get("judge")),
            scores=_scores(verdict.get("scores")),
            reasoning=_text(verdict.get("reasoning")),
            error=judge_error(verdict),
            claims=_claims(record) if rubric == claimed else (),
            facts=_facts(record, case) if rubric == "correctness" else (),
        )
        for rubric, verdict in verdicts.items()
    )
    return (*first, *_second_opinions(record))


def _second_opinions(record: CaseRecord) -> Iterator[JudgementReason]:
    """Yield the verdicts of the spot check; nothing if the case was judged once."""
    found = record.spot_check or {}
    scores, said, errors = (part(found, k) for k in ("scores", "reasoning", "errors"))
    for rubric in map(_text, items(found, "rubrics")):
        if rubric in said or rubric in errors:
            keys = COMPARED.get(rubric, ())
            yield JudgementReason(
                rubric=f"{rubric}, second judge",
                judge=_text(found.get("judge")),
                scores=_scores({key: scores[key] for key in keys if key in scores}),
                reasoning=_text(said.get(rubric)),
                error=judge_error({"error": errors.get(rubric)}),
            )


def _verdicts(record: CaseRecord) -> dict[str, Mapping[str, Any]]:
    """Return the verdicts by rubric; for records from another tool, those with separate fields."""
    found = {
        rubric: verdict
        for rubric, verdict in record.judgements.items()
        if isinstance(verdict, Mapping)
    }
    if found:
        return found
    own = {"groundedness": record.groundedness, "correctness": record.correctness}
    return {
        rubric: {**verdict, "scores": {rubric: verdict.get("score")}}
        for rubric, verdict in own.items()
        if verdict is not None
    }


def unsupported_claims(record: CaseRecord) -> tuple[str, ...]:
    """Return the unsupported claims, in the order of the answer."""
    return tuple(claim.text for claim in _claims(record) if not claim.supported)


def missing_facts(record: CaseRecord) -> tuple[str, ...]:
    """Return the expected key facts that the judge did not find in the answer."""
    return tuple(fact.text for fact in _facts(record, record.stored_case) if not fact.found)


def judge_error(verdict: Mapping[str, Any]) -> str | None:
    """Return kind and message of a verdict that failed; None: it did not."""
    error = verdict.get("error")
    if not error:
        return None
    if not isinstance(error, Mapping):
        return _text(error) or "unknown"
    return ": ".join(filter(None, (_text(error.get("kind")), _text(error.get("message")))))


# --- claims --------------------------------------------------------------------------------


def _claims(record: CaseRecord) -> tuple[ClaimReason, ...]:
    verdict = record.groundedness or {}
    passages = _passages(record)
    listed = [claim for claim in items(verdict, "claims") if isinstance(claim, Mapping)]
    if listed:
        return tuple(_claim(claim, passages) for claim in listed)
    # Records from other tools may contain only the claims.
    return tuple(_plain_claims(verdict))


def _plain_claims(verdict: Mapping[str, Any]) -> Iterator[ClaimReason]:
    for name, supported in (("unsupported_claims", False), ("supported_claims", True)):
        for text in items(verdict, name):
            if isinstance(text, str):
                yield ClaimReason(text=text, supported=supported)


def _claim(claim: Mapping[str, Any], passages: Sequence[tuple[int, RetrievedChunk]]) -> ClaimReason:
    number = claim.get("passage")
    place = None
    if type(number) is int and 1 <= number <= len(passages):
        place = passages[number - 1]
    return ClaimReason(
        text=_text(claim.get("text")),
        supported=claim.get("supported") is True,
        rank=None if place is None else place[0],
        rel_path=None if place is None else place[1].rel_path,
        heading_path=None if place is None else place[1].heading_path,
        reason=_text(claim.get("reason")),
    )


def _passages(record: CaseRecord) -> list[tuple[int, RetrievedChunk]]:
    """Return the chunks that the judge read, each with its rank; empty: unknown."""
    cut = order_chunks(record.retrieved_chunks or ())[: record.k]
    read = [(rank, chunk) for rank, chunk in enumerate(cut, 1) if chunk.text is not None]
    ids = list(items(record.judge_input, "context_chunk_ids"))
    return read if ids == [chunk.chunk_id for _, chunk in read] else []


# --- key facts -----------------------------------------------------------------------------


def _facts(record: CaseRecord, case: Case | None) -> tuple[FactReason, ...]:
    expected = () if case is None else case.expected_key_facts
    found = items(record.correctness, "key_facts_found")
    if len(expected) != len(found):
        return ()
    return tuple(
        FactReason(text=text, found=there is True)
        for text, there in zip(expected, found, strict=True)
    )


# --- untrusted values ----------------------------------------------------------------------


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _scores(value: object) -> dict[str, float]:
    if not isinstance(value, Mapping):
        return {}
    return {
        str(key): float(score)
        for key, score in value.items()
        if isinstance(score, int | float) and not isinstance(score, bool)
    }
