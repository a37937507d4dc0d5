"""Verdict on a case: outcome, failed stage, next steps, and verdicts of the judge on its answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.matching import in_scope, norm_path, order_chunks
from pytest_rageval.metrics.scoring import (
    ANSWER_KEYS,
    EXPECTED,
    below_pass_line,
    evidence_key,
    pass_line,
)
from pytest_rageval.report.explain.golds import context_ranks, unused_sentence
from pytest_rageval.report.explain.values import (
    AnchorReason,
    ClaimReason,
    Expectation,
    FactReason,
    GroupReason,
    JudgementReason,
    MetricReason,
    indices,
    join,
    ranks,
)
from pytest_rageval.support.project_code import last_place
from pytest_rageval.support.text import part
from pytest_rageval.values.case import Case
from pytest_rageval.values.diagnoses.target import target_advice
from pytest_rageval.values.record import CaseRecord, FailureStage
from pytest_rageval.values.reply import MatchRule, RetrievedChunk
from pytest_rageval.values.settings import Aspect
from pytest_rageval.values.verdict import Claim, Judgement, Verdict

_ENDING: Final = re.compile(r"\.[a-z0-9]{1,5}$", re.IGNORECASE)


class Stage(NamedTuple):
    """A failure stage in words."""

    name: str
    """In a few words."""
    meaning: str
    """One sentence."""
    step: str = ""
    """Advice that is the same for each case."""


STAGES: Final[Mapping[FailureStage, Stage]] = {
    "not_indexed": Stage(
        "index empty",
        "The index is empty, so nothing could be found.",
        "Check that the indexing job ran, over the right folder.",
    ),
    "out_of_scope": Stage(
        "evidence outside the searched folders",
        "No gold lies in the folders that were searched.",
        "Look at how the target selects folders; --rag-folder-mode on_with_fallback lets it search "
        "everything when a selection finds nothing.",
    ),
    "lost_context": Stage(
        "context of the conversation lost",
        "The question in full finds the evidence; in its conversation the turn does not.",
        "Look at how the target turns a follow-up into a search: let it rewrite the question with "
        "the conversation before it.",
    ),
    "not_retrieved": Stage(
        "evidence not retrieved",
        "None of the first k chunks contains the evidence.",
    ),
    "lost_in_rerank": Stage(
        "evidence lost in reranking",
        "The evidence was among the first k chunks before reranking, and is not after it.",
    ),
    "irrelevant_retrieved": Stage(
        "unwanted evidence retrieved",
        "Evidence that must not come up (irrelevant_supports) came back.",
    ),
    "wrongly_abstained": Stage(
        "abstained, though the evidence was there",
        "The evidence was retrieved, but the target declined to answer.",
        "Look at the threshold or prompt by which the target declines: the evidence was in its "
        "context.",
    ),
    "not_cited": Stage(
        "evidence retrieved, not cited",
        "The evidence was retrieved, but the answer does not cite it.",
    ),
    "ungrounded": Stage(
        "claims without support",
        "The judge finds claims that the retrieved text does not support.",
        "Read the unsupported claims beside the retrieved text.",
    ),
    "not_used": Stage(
        "evidence retrieved, not used",
        "The retrieved text has the expected facts; the answer leaves some out.",
    ),
    "incorrect": Stage(
        "evidence retrieved, answer wrong",
        "The evidence was retrieved, but the answer is not right.",
    ),
    "hallucinated": Stage(
        "answered what nothing can answer",
        "Nothing can answer this question, and the target answered.",
        "Look at the threshold or prompt by which the target declines, and at what the retrieved "
        "chunks seemed to offer.",
    ),
}
_UNSEEN: Final[Mapping[str, Stage]] = {
    "wrongly_abstained": Stage(
        "abstained, though there is an answer",
        "The question has an answer, and the target declined.",
        "Look at the threshold or prompt by which the target declines, and report the retrieved "
        "chunks, which show whether it had the evidence.",
    ),
    "not_cited": Stage("golds not cited", "The answer does not cite the golds that it needs."),
    "incorrect": Stage("answer wrong", "The answer is not right."),
}
"""Stages where no chunks are reported, so that nothing is known of evidence."""
_RULES: Final[tuple[MatchRule, ...]] = ("heading", "snippet", "pages")
_MISSES: Final[Mapping[str, str]] = {
    "deeper": "Gold {golds} is ranked too low: k = {k} would reach it, or a better ranking.",
    "outside": "Gold {golds} lies outside the selected folders.",
    "heading": "The document of gold {golds} came back, its section did not: is the section a "
    "chunk of its own, is it ranked lower, or does the anchor name an old heading?",
    "snippet": "The document of gold {golds} came back, the quoted snippets did not: is their "
    "passage ranked lower or cut into small pieces, or does the anchor quote an old text?",
    "pages": "The document of gold {golds} came back, its pages did not: are they ranked lower, or "
    "do the target and the anchor count pages differently (page_index counts from 0)?",
    "renamed": "The path of gold {golds} and that at this rank differ only in the folders in front "
    "or the ending: if they are one document, write the path in the case as the target reports it, "
    "or take the folders off with strip_root in [tool.rageval.target].",
    "excluded": "Gold {golds} is not below the folders of the case ({folders}), which the target "
    "kept to: correct one of the two.",
    "nowhere": "No chunk of the document of gold {golds} came back: is it indexed, and does it "
    "share words or meaning with the question? Try a larger --rag-k or other weights.",
}
"""Advice for golds that were not found, by the reason."""


def explain_expectations(
    record: CaseRecord,
    metrics: Sequence[MetricReason],
    judged_on: Sequence[Aspect],
) -> tuple[Expectation, ...]:
    """List what a case must meet to pass, and whether it did.

    Defined in docs/metrics.md#outcome-of-a-case.
    """
    first = evidence_key(record.case, record.scores.metrics)
    by_key = {metric.key: metric for metric in metrics}
    found = []
    answer = {key: pass_line(key) for key in ANSWER_KEYS} if "answer" in judged_on else {}
    for key, wanted in {first: 1.0, **EXPECTED, **answer}.items():
        metric = by_key.get(key)
        value, reason = (metric.value, metric.reason) if metric else (None, "not in the record")
        judged = BUILT_IN.cases[key].judged
        met = not below_pass_line(key, record.scores.metrics) if judged else value == wanted
        found.append(
            Expectation(
                key=key,
                expected=wanted,
                at_least=judged,
                value=value,
                met=None if value is None or record.scores.unchecked else met,
                reason=reason if key != "doc_hit_at_k" else f"{reason} (matched by document)",
            )
        )
    return tuple(found)


def expected_answer(case: Case) -> str:
    """Return the answer that a case expects in words; empty: it says nothing of it."""
    if not case.answerable:
        return "that it abstains"
    return case.expected_answer or "; ".join(case.key_facts)


def stage_in_words(record: CaseRecord) -> Stage | None:
    """Return the failure stage of a case in words; None: it has none."""
    stage = record.scores.failure_stage
    if stage is None:
        return None
    unseen = _UNSEEN if record.reply.retrieved_chunks is None else {}
    return unseen.get(stage) or STAGES.get(stage) or Stage(stage, "")


def stage_of(record: CaseRecord) -> str:
    """Return the failure stage of a case, or the kind of error if it has no answer; empty: none."""
    return record.error.kind if record.error is not None else record.scores.failure_stage or ""


def next_steps(
    record: CaseRecord,
    golds: Sequence[AnchorReason],
    groups: Sequence[GroupReason],
    irrelevant: Sequence[AnchorReason],
) -> tuple[str, ...]:
    """Suggest next steps, based on where the evidence was lost. Empty for a case without fault."""
    if record.error is not None:
        if place := last_place(record.error.traceback):
            return (f"Look at {place}, the last line of your code that ran.",)
        error = record.error
        return (target_advice(error.code, error.kind, error.facts, "run"),)
    stage, steps = record.scores.failure_stage, [*_leaked(record)] or [*_unwanted(irrelevant)]
    if stage in {"not_retrieved", "lost_in_rerank"}:
        return (*_find_evidence(record, _needed(golds, groups)), *steps)
    if stage == "not_cited":
        unseen = record.reply.retrieved_chunks is None
        return (*([_unseen_uncited(record)] if unseen else _uncited(golds)), *steps)
    if stage == "incorrect":
        return (*_wrong_answer(record), *steps)
    if stage == "not_used" and (unused := unused_sentence(record)):
        steps.insert(
            0,
            f"In the context and not in the answer: {unused}. Retrieval did its part: look at the "
            "prompt, and at how much of the context the model reads.",
        )
    words = stage_in_words(record)
    return (*steps, *([words.step] if words and words.step else ()))


def _leaked(record: CaseRecord) -> Iterator[str]:
    if record.scores.metrics.get("leak_rate") == 1:
        leaked = [c for c in record.reply.retrieved_chunks or () if c.irrelevant]
        documents = join(list(dict.fromkeys(chunk.rel_path for chunk in leaked)))
        yield (
            f"A user was shown {documents}, which they must not see: filter by permission in the "
            "search itself, before anything is ranked or given to a model."
        )


def _unwanted(irrelevant: Sequence[AnchorReason]) -> Iterator[str]:
    if found := [anchor for anchor in irrelevant if anchor.found]:
        places = ranks(sorted({rank for anchor in found for rank in anchor.ranks}))
        yield (
            f"Evidence that must not come up did, at {places}: is it old or foreign text that a "
            "filter or another weighting could keep out?"
        )


def _uncited(golds: Sequence[AnchorReason]) -> Iterator[str]:
    if found := [gold for gold in golds if gold.found and not gold.cited_by]:
        which = join([f"[{gold.index}] ({ranks(gold.ranks)})" for gold in found])
        yield (
            f"The context had gold {which}, and no citation points there: look at how the target "
            "chooses what it answers from, and how it attaches citations."
        )
    if absent := indices(gold.index for gold in golds if not gold.found and not gold.cited_by):
        yield f"The context lacked gold {absent}, so no citation could point there."


def _unseen_uncited(record: CaseRecord) -> str:
    """Say what to try for an answer without the citations it needs, where no chunks are reported.

    An answer that cites a gold has this stage only for a conflict of which it cites too little.
    """
    if not record.scores.citations:
        return "Cite the documents used: the answer has no citations."
    if record.scores.metrics.get("attribution_hit_rate"):
        newer = record.case.recency_conflict_rule == "cite_newer"
        return f"Cite {'the newer source' if newer else 'all sources'} of the conflict."
    return "Compare the paths of its citations with those of the golds, which must be equal."


def _wrong_answer(record: CaseRecord) -> Iterator[str]:
    """Say what to try for an answer that breaks a rule, hides a conflict or is not correct."""
    metrics, case = record.scores.metrics, record.case
    if metrics.get("answer_rules_pass_rate") == 0:
        yield "The answer breaks a rule of answer_rules; below, its metric names which."
    if metrics.get("recency_conflict_accuracy") == 0:
        yield "The answer cites all sources of the conflict and does not say that they differ."
    if below_pass_line("correctness", metrics):
        evidence = "" if record.reply.retrieved_chunks is None else " and the evidence"
        if case.expected_key_facts:
            yield f"Compare the answer with expected_key_facts{evidence}."
        elif case.expected_answer:
            yield f"Compare the answer with expected_answer{evidence}."
        else:
            yield "Give the case expected_key_facts or an expected_answer: it has no reference."


def _needed(golds: Sequence[AnchorReason], groups: Sequence[GroupReason]) -> list[AnchorReason]:
    """Return the missing golds that made the case a miss."""
    missing = [gold for gold in golds if not gold.found]
    if not groups:
        return missing
    # The group with the fewest missing golds is closest to a pass.
    nearest = min((group.lacks or () for group in groups), key=len)
    return [gold for gold in missing if gold.index in nearest]


def _find_evidence(record: CaseRecord, missing: Sequence[AnchorReason]) -> Iterator[str]:
    if record.scores.failure_stage == "lost_in_rerank":
        yield "Look at the reranker's scores for this question, or hand it fewer candidates."
    misses = [(gold.index, *_miss(gold, record)) for gold in missing]
    for miss, sentence in _MISSES.items():
        if found := [(index, places) for index, one, places in misses if one == miss]:
            golds = join([f"[{i}]" + part(" ({})", p and ranks(p)) for i, p in found])
            k = max(max(places, default=0) for _, places in found)
            yield sentence.format(golds=golds, k=k, folders=join(record.case.folders))


def _miss(gold: AnchorReason, record: CaseRecord) -> tuple[str, Sequence[int]]:
    """Return why a gold was not found, and the ranks that show it."""
    chunks, folders = order_chunks(record.reply.retrieved_chunks or ()), record.case.folders
    if gold.ranks:
        return "deeper", gold.ranks[:1]
    if gold.document_ranks:  # by the rule that most chunks of its document did not meet
        rules = [rule for rank in gold.document_ranks for rule in chunks[rank - 1].matched_by or ()]
        return max(_RULES, key=rules.count), gold.document_ranks
    if gold.in_scope is False:
        return "outside", ()
    # Folders in front and the ending of the name, as of a converted file, may differ.
    paths = (gold.anchor.rel_path, *(chunk.rel_path for chunk in chunks))
    wanted, *found = (f"/{_ENDING.sub('', norm_path(path))}" for path in paths)
    for rank, path in enumerate(found, 1):
        if path.endswith(wanted) or wanted.endswith(path):
            return "renamed", (rank,)
    kept_to = folders and all(in_scope(chunk.rel_path, folders) for chunk in chunks)
    excluded = kept_to and not in_scope(gold.anchor.rel_path, folders)
    return "excluded" if excluded else "nowhere", ()


# --- verdicts of the judge -------------------------------------------------------------------

_CLAIM_RUBRICS: Final = ("groundedness", "claims")
"""Rubrics whose claims a record keeps, in order of preference."""


def explain_judgements(record: CaseRecord) -> tuple[JudgementReason, ...]:
    """Explain every requested verdict in order, second opinions last."""
    verdicts = record.verdicts.judgements
    claimed = next((name for name in _CLAIM_RUBRICS if name in verdicts), None)
    first = (
        replace(
            _reason(rubric, found),
            claims=_claims(record) if rubric == claimed else (),
            facts=_facts(record) if rubric == "correctness" else (),
        )
        for rubric, found in verdicts.items()
    )
    again = record.verdicts.spot_check.items()
    second = (_reason(f"{rubric}, second judge", found) for rubric, found in again if found)
    return (*first, *second)


def _reason(rubric: str, found: Judgement) -> JudgementReason:
    verdict = found.verdict or Verdict()
    return JudgementReason(
        rubric=rubric,
        judge=found.judge,
        scores=verdict.scores,
        reasoning=verdict.reasoning,
        error=None if found.failure is None else str(found.failure),
    )


def unsupported_claims(record: CaseRecord) -> tuple[str, ...]:
    """Return the unsupported claims, in the order of the answer."""
    return tuple(claim.text for claim in _claims(record) if not claim.supported)


def missing_facts(record: CaseRecord) -> tuple[str, ...]:
    """Return the expected key facts that the judge did not find in the answer."""
    return tuple(fact.text for fact in _facts(record) if not fact.found)


# --- claims --------------------------------------------------------------------------------


def _claims(record: CaseRecord) -> tuple[ClaimReason, ...]:
    verdict, passages = record.verdicts.claimed, _passages(record)
    return tuple(_claim(claim, passages) for claim in (verdict.claims if verdict else ()))


def _claim(claim: Claim, passages: Sequence[tuple[int, RetrievedChunk]]) -> ClaimReason:
    number, rank, chunk = claim.passage, None, None
    if number is not None and 1 <= number <= len(passages):
        rank, chunk = passages[number - 1]
    return ClaimReason(
        text=claim.text, supported=claim.supported, rank=rank, chunk=chunk, reason=claim.reason
    )


def _passages(record: CaseRecord) -> list[tuple[int, RetrievedChunk]]:
    """Return the chunks that the judge read, each with its rank; empty: unknown."""
    cut = order_chunks(record.reply.retrieved_chunks or ())[: record.k]
    read = [(rank, chunk) for rank, chunk in enumerate(cut, 1) if chunk.text is not None]
    same = record.verdicts.context_chunk_ids == tuple(chunk.chunk_id for _, chunk in read)
    return read if same else []


# --- key facts -----------------------------------------------------------------------------


def _facts(record: CaseRecord) -> tuple[FactReason, ...]:
    expected, verdict = record.case.key_facts, record.verdicts.of("correctness")
    found = (verdict and verdict.key_facts_found) or ()
    held = dict(context_ranks(record))
    if len(expected) != len(found):
        return ()
    return tuple(
        FactReason(text=text, found=there, in_context=held.get(text))
        for text, there in zip(expected, found, strict=True)
    )
