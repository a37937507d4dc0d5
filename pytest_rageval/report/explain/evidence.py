"""Metrics of key facts and citations in words, from what was looked up in the passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_rageval.report.explain.values import join, ranks
from pytest_rageval.support.text import counted, cut
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseRecord, CheckedClaim, CitationCheck, Evidence

_SHOWN = 3
"""Facts or citations that one sentence lists."""
_CHARS = 80
"""Longest quotation of a fact or a claim."""


def evidence_sentences(case: Case, record: CaseRecord) -> dict[str, str]:
    """Explain the metrics about key facts in the context and about supporting citations."""
    evidence = record.evidence
    if evidence is None:
        return {}
    return {**_facts(case.stated_facts, evidence), **_citations(evidence.claims or ())}


def context_ranks(case: Case | None, record: CaseRecord) -> dict[str, tuple[int, ...]]:
    """Return for each key fact the ranks that state it; empty: not looked up."""
    found = None if record.evidence is None else record.evidence.facts
    facts = () if case is None else case.stated_facts
    return dict(zip(facts, found, strict=True)) if found and len(found) == len(facts) else {}


def unused_sentence(case: Case | None, record: CaseRecord) -> str:
    """Name the key facts that were in the context and are not in the answer; empty: none."""
    stated = None if record.evidence is None else record.evidence.facts_stated
    held = context_ranks(case, record)
    if stated is None or len(stated) != len(held):
        return ""
    unused = [
        f"{_quoted(fact)} ({ranks(places)})"
        for (fact, places), said in zip(held.items(), stated, strict=True)
        if places and not said
    ]
    return _listed(unused)


def _facts(facts: Sequence[str], evidence: Evidence) -> dict[str, str]:
    held = evidence.facts
    if held is None or len(held) != len(facts):
        return {}
    places = dict(zip(facts, held, strict=True))
    lost = [_quoted(fact) for fact in facts if not places[fact]]
    found = [f"{_quoted(fact)} at {ranks(places[fact])}" for fact in facts if places[fact]]
    n = len(facts) - len(lost)
    text = f"{n} of {counted(len(facts), 'key fact')} stated in the cut"
    text += f"; not {_listed(lost)}" if lost else f": {_listed(found)}"
    sentences = {"fact_recall_in_context": text}
    stated = evidence.facts_stated
    if stated is not None and len(stated) == len(facts):
        said = dict(zip(facts, stated, strict=True))
        unused = [f for f in facts if places[f] and not said[f]]
        text = f"{n - len(unused)} of {counted(n, 'key fact')} in the context are in the answer"
        if unused:
            named = [f"{_quoted(f)} ({ranks(places[f])})" for f in unused]
            text += f"; not {_listed(named)}"
        sentences["context_utilization"] = text
    return sentences


def _citations(claims: Sequence[CheckedClaim]) -> dict[str, str]:
    pairs = [(claim, check) for claim in claims for check in claim.citations]
    bad = [_unsupported(claim, check) for claim, check in pairs if not check.supports]
    precision = f"{len(pairs) - len(bad)} of {counted(len(pairs), 'citation')} support their claim"
    precision += f"; {_listed(bad)}" if bad else ""
    backed = [c for c in claims if any(check.supports for check in c.citations)]
    bare = [claim for claim in claims if not claim.citations]
    recall = f"{len(backed)} of {counted(len(claims), 'claim')} with a citation that supports it"
    recall += f"; without a citation: {_listed([_quoted(c.text) for c in bare])}" if bare else ""
    return {"citation_support_precision": precision, "citation_support_recall": recall}


def _unsupported(claim: CheckedClaim, check: CitationCheck) -> str:
    cited = ranks(check.ranks) if check.ranks else "a source that was not retrieved"
    text = f"{_quoted(claim.text)} cites {cited}, which does not support it"
    return f"{text} (rank {claim.stated_at} does)" if claim.stated_at is not None else text


def _quoted(text: str) -> str:
    return f'"{cut(text, _CHARS)}"'


def _listed(parts: Sequence[str]) -> str:
    return join(list(_few(parts)))


def _few(parts: Sequence[str]) -> Iterator[str]:
    yield from parts[:_SHOWN]
    if len(parts) > _SHOWN:
        yield f"{len(parts) - _SHOWN} more"
