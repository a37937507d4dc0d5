"""Expectations of a case, the stage that failed, and next steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from pytest_rageval.metrics.scoring import EXPECTED, retrieval_key
from pytest_rageval.report.explain.values import (
    AnchorReason,
    Expectation,
    GroupReason,
    MetricReason,
    indices,
    join,
    ranks,
)
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseRecord, FailureStage

STAGE_MEANING: Final[Mapping[FailureStage, str]] = MappingProxyType(
    {
        "not_indexed": "The index is empty, so nothing could be found.",
        "out_of_scope": "No gold lies in the folders that were searched.",
        "not_retrieved": "The evidence that the case needs is not in the cut.",
        "lost_in_rerank": "The evidence was in the cut before reranking, and is not after it.",
        "wrongly_abstained": "The evidence was there, and the answer refused all the same.",
        "not_cited": "The evidence was there, and the answer does not cite it.",
        "ungrounded": "The judge finds claims that the retrieved text does not support.",
        "incorrect": "The evidence was there and cited, and the answer is still not right.",
        "hallucinated": "Nothing can answer this question, and the target answered.",
    }
)
_ERRORS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "timeout": "Raise --rag-timeout, or look at which phase of the target is slow.",
        "connection": "Is the target up, and is --rag-url right?",
        "http": "Look at the target's log for this question.",
        "protocol": "Compare the target's reply with docs/target.md.",
        "empty": "The target sent an empty answer without abstained = true.",
        "not_attempted": "Run it again with pytest --lf once the cause is gone.",
    }
)
_STAGES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "not_indexed": ("Check that the indexing job ran, over the right folder.",),
        "out_of_scope": (
            "Look at how the target selects folders; --rag-folder-mode on_with_fallback lets it "
            "search everything when a selection finds nothing.",
        ),
        "wrongly_abstained": (
            "Look at the threshold or prompt by which the target refuses: the evidence was in "
            "its context.",
        ),
        "ungrounded": ("Read the unsupported claims beside the retrieved text.",),
        "incorrect": ("Compare the answer with expected_key_facts and the cited sections.",),
        "hallucinated": (
            "Look at the threshold or prompt by which the target refuses, and at what "
            "the retrieved chunks seemed to offer.",
        ),
    }
)


def explain_expectations(
    case: Case | None, record: CaseRecord, metrics: Sequence[MetricReason]
) -> tuple[Expectation, ...]:
    """List what a case must meet to pass, and whether it did.

    Defined in docs/metrics.md#outcome-of-a-case.
    """
    if case is not None:
        first = retrieval_key(case)
    else:
        first = "hit_at_k" if record.metrics.get("recall_all_at_k") is None else "recall_all_at_k"
    by_key = {metric.key: metric for metric in metrics}
    found = []
    for key, wanted in {first: 1.0, **EXPECTED}.items():
        metric = by_key.get(key)
        value = metric.value if metric is not None else None
        found.append(
            Expectation(
                key=key,
                expected=wanted,
                value=value,
                met=None if value is None else value == wanted,
                reason=metric.reason if metric is not None else "not in the record",
            )
        )
    return tuple(found)


def next_steps(
    record: CaseRecord,
    golds: Sequence[AnchorReason],
    groups: Sequence[GroupReason],
    irrelevant: Sequence[AnchorReason],
) -> tuple[str, ...]:
    """Suggest next steps, based on where the evidence was lost. Empty for a case without fault."""
    if record.error is not None:
        return (_ERRORS.get(record.error.kind, "Look at the target's log for this question."),)
    stage, steps = record.failure_stage, list(_unwanted(irrelevant))
    if stage in {"not_retrieved", "lost_in_rerank"}:
        return (*_find_evidence(record, _needed(golds, groups)), *steps)
    if stage == "not_cited":
        return (*_uncited(golds), *steps)
    return (*_STAGES.get(stage or "", ()), *steps)


def _unwanted(irrelevant: Sequence[AnchorReason]) -> Iterator[str]:
    found = [anchor for anchor in irrelevant if anchor.found]
    if found:
        places = ranks(sorted({rank for anchor in found for rank in anchor.ranks}))
        yield (
            f"Evidence that must not come up did, at {places}: is it old or foreign text that a "
            "filter or another weighting could keep out?"
        )


def _uncited(golds: Sequence[AnchorReason]) -> Iterator[str]:
    found = [gold for gold in golds if gold.found and not gold.cited_by]
    if found:
        which = join([f"[{gold.index}] ({ranks(gold.ranks)})" for gold in found])
        yield (
            f"Gold {which} was in the context and is not cited: look at how the target chooses "
            "what it answers from, and how it attaches citations."
        )
    absent = indices(gold.index for gold in golds if not gold.found and not gold.cited_by)
    if absent:
        yield f"Gold {absent} was not in the context, so it could not be cited."


def _needed(golds: Sequence[AnchorReason], groups: Sequence[GroupReason]) -> list[AnchorReason]:
    """Return the missing golds that made the case a miss."""
    missing = [gold for gold in golds if not gold.found]
    if not groups:
        return missing
    # The group with the fewest missing golds is closest to a pass.
    nearest = min((group.lacks or () for group in groups), key=len)
    return [gold for gold in missing if gold.index in nearest]


def _find_evidence(record: CaseRecord, missing: Sequence[AnchorReason]) -> Iterator[str]:
    if record.failure_stage == "lost_in_rerank":
        yield "Look at the reranker's scores for this question, or hand it fewer candidates."
    for describe in (_deeper, _outside, _other_section, _nowhere):
        step = describe(missing)
        if step:
            yield step


def _deeper(missing: Sequence[AnchorReason]) -> str:
    golds = [gold for gold in missing if gold.ranks]
    if not golds:
        return ""
    first = max(gold.ranks[0] for gold in golds)
    which = indices(gold.index for gold in golds)
    return f"Gold {which} is ranked too low: k = {first} would reach it, or a better ranking."


def _outside(missing: Sequence[AnchorReason]) -> str:
    golds = [gold for gold in missing if not gold.ranks and gold.in_scope is False]
    which = indices(gold.index for gold in golds)
    return f"Gold {which} lies outside the selected folders." if golds else ""


def _other_section(missing: Sequence[AnchorReason]) -> str:
    golds = [gold for gold in missing if not gold.ranks and gold.document_ranks]
    if not golds:
        return ""
    which = join([f"[{gold.index}] ({ranks(gold.document_ranks)})" for gold in golds])
    return (
        f"The document of gold {which} came back, its section did not: is the section a chunk of "
        "its own, is it ranked lower, or does the anchor name an old heading?"
    )


def _nowhere(missing: Sequence[AnchorReason]) -> str:
    golds = [
        gold
        for gold in missing
        if not gold.ranks and not gold.document_ranks and gold.in_scope is not False
    ]
    if not golds:
        return ""
    which = indices(gold.index for gold in golds)
    return (
        f"No chunk of the document of gold {which} came back: is it indexed, and does it share "
        "words or meaning with the question? Try a larger --rag-k or other weights."
    )
