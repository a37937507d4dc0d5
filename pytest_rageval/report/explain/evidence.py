"""Metrics of the texts of a case in words: facts, citations, tokens, leaks, and rules."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_rageval.metrics.context import cut_tokens, tokens_reported, within_budget
from pytest_rageval.metrics.prepared import PreparedAnswer
from pytest_rageval.metrics.retrieval import anchor_ranking, leaked_chunks
from pytest_rageval.metrics.rules import RuleCheck, check_rule
from pytest_rageval.metrics.view import CaseView
from pytest_rageval.report.explain.values import join, ranks
from pytest_rageval.support.text import counted, cut, part
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseRecord, CheckedClaim, CitationCheck
from pytest_rageval.values.reply import RetrievedChunk

_SHOWN = 3
"""Facts or citations that one sentence lists."""
_CHARS = 80
"""Longest quotation of a fact or a claim."""


def evidence_sentences(case: Case, record: CaseRecord) -> dict[str, str]:
    """Explain the metrics about key facts in the context and about supporting citations."""
    if record.verdicts.evidence is None:
        return {}
    return {**_facts(record), **_citations(record.verdicts.evidence.claims or ())}


def rules_sentence(case: Case, record: CaseRecord) -> str:
    """Name each rule of the case that the answer breaks, and where; else how many it keeps."""
    answer = PreparedAnswer(record.answer or "").visible
    checks = [check_rule(rule, answer) for rule in case.answer_rules]
    broken = [_broken(number, check) for number, check in enumerate(checks, 1) if not check.kept]
    kept = f"{len(checks) - len(broken)} of {counted(len(checks), 'rule')} kept"
    return f"{kept}; {_listed(broken)}" if broken else kept


def _broken(number: int, check: RuleCheck) -> str:
    rule = check.rule
    if check.fault:
        return f"rule {number}: the pattern {cut(rule.text, _CHARS)} {cut(check.fault, _CHARS)}"
    if rule.kind == "not_contains":
        return f'rule {number}: {_quoted(rule.text)} is in "{check.found}"'
    what = f"the pattern {rule.text}" if rule.kind == "matches" else _quoted(rule.text)
    return f"rule {number}: {cut(what, _CHARS)} is not in the answer"


def leak_sentence(view: CaseView) -> str:
    """Name each chunk, with its document, that the user must not see and was shown."""
    leaked = [
        f"rank {rank}: {_place(chunk)}" for rank, chunk in leaked_chunks(view) if chunk.rel_path
    ]
    if not leaked:
        return f"no chunk that {_user(view)} must not see was returned"
    return f"{_user(view)} must not see {_listed(leaked)}"


def token_sentences(view: CaseView) -> dict[str, str]:
    """Explain the length of the context, and which golds a budget of tokens reaches."""
    tokens, budget = cut_tokens(view), view.settings.token_budget
    if not isinstance(tokens, tuple):
        return {}
    how = "as the target counts" if tokens_reported(view.cut) else "a fourth of their bytes"
    text = f"{counted(sum(tokens), 'token')} in {counted(len(tokens), 'chunk')}, {how}"
    if budget is None or not view.case.gold_supports:
        return {"context_tokens": text}
    n = within_budget(tokens, budget)
    found = anchor_ranking(view.case, view.cut[:n], view.k, view.settings).found
    golds = counted(len(view.case.gold_supports), "gold")
    within = f"{len(found)} of {golds} in the first {counted(n, 'chunk')}: {sum(tokens[:n])} tokens"
    return {"context_tokens": text, "recall_at_tokens": f"{within} of a budget of {budget}"}


def _place(chunk: RetrievedChunk) -> str:
    text = f"{chunk.rel_path}, {chunk.heading_path}" if chunk.heading_path else chunk.rel_path
    return f"{text} (chunk {cut(chunk.chunk_id, _CHARS)})" if chunk.chunk_id else text


def _user(view: CaseView) -> str:
    return "the user" if view.case.user is None else f"the user {cut(str(view.case.user), _CHARS)}"


def context_ranks(record: CaseRecord) -> Sequence[tuple[str, tuple[int, ...]]]:
    """Return each key fact with the ranks that state it; empty: not looked up."""
    found = None if record.verdicts.evidence is None else record.verdicts.evidence.facts
    facts = record.case.stated_facts
    return list(zip(facts, found, strict=True)) if found and len(found) == len(facts) else []


def unused_sentence(record: CaseRecord) -> str:
    """Name the key facts that were in the context and are not in the answer; empty: none."""
    return _listed(_unused(record) or ())


def _unused(record: CaseRecord) -> list[str] | None:
    """Return the facts of the context that the answer lacks; None: they were not looked up."""
    stated = None if record.verdicts.evidence is None else record.verdicts.evidence.facts_stated
    held = context_ranks(record)
    if stated is None or len(stated) != len(held):
        return None
    return [
        f"{_quoted(fact)} ({ranks(places)})"
        for (fact, places), said in zip(held, stated, strict=True)
        if places and not said
    ]


def _facts(record: CaseRecord) -> dict[str, str]:
    held = context_ranks(record)
    if not held:
        return {}
    lost = [_quoted(fact) for fact, places in held if not places]
    found = [f"{_quoted(fact)} at {ranks(places)}" for fact, places in held if places]
    n = len(found)
    text = f"{n} of {counted(len(held), 'key fact')} stated in the cut"
    text += f"; not {_listed(lost)}" if lost else f": {_listed(found)}"
    half = "" if all(record.case.vital_facts) else "; one that is not vital counts half"
    sentences = {"fact_recall_in_context": text + half}
    if (unused := _unused(record)) is not None:
        text = f"{n - len(unused)} of {counted(n, 'key fact')} in the context are in the answer"
        text += part("; not {}", _listed(unused))
        sentences["context_utilization"] = text + half
    return sentences


def _citations(claims: Sequence[CheckedClaim]) -> dict[str, str]:
    pairs = [(claim, check) for claim in claims for check in claim.citations]
    bad = [_unsupported(claim, check) for claim, check in pairs if not check.supports]
    precision = f"{len(pairs) - len(bad)} of {counted(len(pairs), 'citation')} support their claim"
    precision += part("; {}", _listed(bad))
    backed = [c for c in claims if any(check.supports for check in c.citations)]
    bare = [claim for claim in claims if not claim.citations]
    recall = f"{len(backed)} of {counted(len(claims), 'claim')} with a citation that supports it"
    recall += part("; without a citation: {}", _listed([_quoted(c.text) for c in bare]))
    return {"citation_support_precision": precision, "citation_support_recall": recall}


def _unsupported(claim: CheckedClaim, check: CitationCheck) -> str:
    cited = ranks(check.ranks) if check.ranks else "a source that was not retrieved"
    text = f"{_quoted(claim.text)} cites {cited}, which does not support it"
    return f"{text} (rank {claim.stated_at} does)" if claim.stated_at is not None else text


def _quoted(text: str) -> str:
    return f'"{cut(text, _CHARS)}"'


def _listed(parts: Sequence[str]) -> str:
    more = len(parts) - _SHOWN
    return join([*parts[:_SHOWN], *([f"{more} more"] if more > 0 else [])])
