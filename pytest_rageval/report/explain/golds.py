"""Explanations per anchor, group and citation, and of the metrics of texts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from pytest_rageval.metrics.answer import RuleCheck, check_rule
from pytest_rageval.metrics.context import cut_tokens, tokens_reported, within_budget
from pytest_rageval.metrics.deciding import cited_golds
from pytest_rageval.metrics.matching import cited_ranks, document_key, in_scope, same_document
from pytest_rageval.metrics.prepared import PreparedAnswer
from pytest_rageval.metrics.retrieval import anchor_ranking, leaked_chunks
from pytest_rageval.metrics.view import CaseView
from pytest_rageval.report.explain.chunks import relate, same_place
from pytest_rageval.report.explain.values import (
    AnchorReason,
    ChunkReason,
    CitationReason,
    GroupReason,
    indices,
    join,
    ranks,
)
from pytest_rageval.support.text import counted, cut, part
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.record import CaseRecord, CheckedClaim, CitationCheck, ScoreSettings
from pytest_rageval.values.reply import Citation, FolderSelection, RetrievedChunk


def explain_golds(
    case: Case, record: CaseRecord, settings: ScoreSettings
) -> tuple[AnchorReason, ...]:
    """Explain every gold: found, ranked too low, not returned, or outside the searched folders."""
    chunks = record.reply.retrieved_chunks or ()
    citations = [cited_golds(c, case, chunks, settings) for c in record.scores.citations or ()]
    return tuple(
        _gold(index, gold, record, settings, citations)
        for index, gold in enumerate(case.gold_supports)
    )


def explain_irrelevant(
    case: Case, reasons: Sequence[ChunkReason], k: int
) -> tuple[AnchorReason, ...]:
    """Explain every irrelevant support by its ranks."""
    found = []
    for index, anchor in enumerate(case.irrelevant_supports):
        places = tuple(chunk.rank for chunk in reasons if index in chunk.irrelevant)
        text = "not returned, as it should be"
        if places and places[0] <= k:
            text = f"returned at {ranks(places)}, and should not be"
        elif places:
            text = f"only at {ranks(places)}, below the cut"
        found.append(_reason(index, anchor, places, k, reason=text))
    return tuple(found)


def gold_ranks(chunks: Sequence[RetrievedChunk] | None, gold: int) -> tuple[int, ...]:
    """Return the ranks, from 1, of the chunks that match a gold."""
    numbered = enumerate(chunks or (), start=1)
    return tuple(rank for rank, chunk in numbered if gold in (chunk.matched_golds or ()))


def _reason(
    index: int, anchor: Anchor, places: tuple[int, ...], k: int, **fields: Any
) -> AnchorReason:
    found = bool(places) and places[0] <= k
    return AnchorReason(index=index, anchor=anchor, ranks=places, found=found, **fields)


def _gold(
    index: int,
    gold: Anchor,
    record: CaseRecord,
    settings: ScoreSettings,
    citations: Sequence[Collection[int] | None],
) -> AnchorReason:
    chunks, selection = record.reply.retrieved_chunks, record.reply.folder_selection
    places = gold_ranks(chunks, index)
    key = document_key(gold, settings.path_case)
    documents = [document_key(chunk, settings.path_case) for chunk in chunks or ()]
    in_document = tuple(rank for rank, one in enumerate(documents, 1) if same_document(key, one))
    inside, notes = None, ""
    if selection is not None and selection.selected_folders is not None:
        inside = in_scope(gold.rel_path, selection.selected_folders, settings.path_case)
        notes = "" if inside else _out_of_scope(selection)
    cited_by = None
    if record.scores.citations is not None:
        cited_by = tuple(n for n, golds in enumerate(citations, start=1) if index in (golds or ()))
        numbers = join([f"#{number}" for number in cited_by])
        if cited_by or None not in citations:
            notes += part("; cited by {}", cited_by and numbers) or "; not cited"
    if chunks is None:
        text = "no chunks are reported" if record.error is None else "unknown: no answer came"
    elif places and places[0] <= record.k:
        text = f"found at {ranks(places)}"
    elif places:
        text = f"below the cut: first at rank {places[0]}, so k >= {places[0]} would count it"
    else:
        text = _not_found(index, gold, chunks, in_document, settings)
    return _reason(
        index,
        gold,
        places,
        record.k,
        document_ranks=in_document,
        in_scope=inside,
        cited_by=cited_by,
        reason=text + notes,
    )


def _not_found(
    index: int,
    gold: Anchor,
    chunks: Sequence[RetrievedChunk],
    in_document: Sequence[int],
    settings: ScoreSettings,
) -> str:
    irrelevant = [(rank, chunk) for rank, chunk in enumerate(chunks, start=1) if chunk.irrelevant]
    if taken := [rank for rank, chunk in irrelevant if same_place(gold, chunk, settings)]:
        return f"returned at {ranks(taken)}, where an irrelevant anchor wins"
    if any(chunk.matched_golds is None for chunk in chunks):
        if not in_document:
            return "unknown: a chunk without full text could not be decided"
        return f"its document is at {ranks(in_document)}; by more it could not be decided"
    if not chunks:
        return "not returned: the list is empty"
    relations = [relate(gold, f"gold [{index}]", chunk, settings) for chunk in chunks]
    nearest = max(range(len(chunks)), key=lambda i: relations[i].closeness)
    if in_document:
        first = ranks(in_document)
        return f"not returned; its document is at {first} (see rank {nearest + 1})"
    if relations[nearest].rule == "other_document":
        return "not returned, nor any chunk of its document"
    return f"not returned; nearest is rank {nearest + 1}: {relations[nearest].text}"


def _out_of_scope(selection: FolderSelection) -> str:
    if selection.fallback_used:
        return "; outside the selected folders, but the fallback searched everything"
    if not selection.selected_folders:
        return "; no folder was searched"
    return "; outside the searched folders"


def explain_groups(
    case: Case, golds: Sequence[AnchorReason], *, reported: bool
) -> tuple[GroupReason, ...]:
    """Return the golds that each group lacks, known only if the target reports chunks."""
    found = {gold.index for gold in golds if gold.found}
    return tuple(
        GroupReason(
            golds=tuple(group), lacks=tuple(sorted(set(group) - found)) if reported else None
        )
        for group in case.required_support_groups or ()
    )


def scored_citations(record: CaseRecord, settings: ScoreSettings) -> tuple[Citation, ...] | None:
    """Return the citations that a reply was scored by; None: citations are not reported.

    A reply without any cites nothing if others of its run have some.
    """
    if (
        record.scores.citations is None
        and record.response is not None
        and settings.citations_reported
    ):
        return ()
    return record.scores.citations


def explain_citations(
    case: Case, record: CaseRecord, settings: ScoreSettings
) -> tuple[CitationReason, ...] | None:
    """Return the golds and retrieved chunks of each citation; None: citations are not reported."""
    citations = scored_citations(record, settings)
    if citations is None:
        return None
    found = []
    for number, citation in enumerate(citations, start=1):
        golds = cited_golds(citation, case, record.reply.retrieved_chunks or (), settings)
        places = None
        if record.reply.retrieved_chunks is not None:
            cited = cited_ranks(citation, record.reply.retrieved_chunks, settings.path_case)
            places = tuple(rank for rank in cited if citation.chunk_rank in (None, rank))
        found.append(
            CitationReason(
                number=number,
                citation=citation,
                golds=tuple(sorted(golds or ())),
                ranks=places,
                reason=_citation_text(case, citation, golds, places),
            )
        )
    return tuple(found)


def _citation_text(
    case: Case, citation: Citation, golds: Collection[int] | None, places: Sequence[int] | None
) -> str:
    if citation.rel_path is None:
        return "cites nothing: a number beyond the retrieved chunks"
    parts = []
    if golds is None:
        parts.append("unknown whether it points into a gold")
    elif case.gold_supports:
        parts.append(part("points into gold {}", golds and indices(golds)) or "points into no gold")
    if places is not None:
        parts.append(part("retrieved at {}", places and ranks(places)) or "was not retrieved")
    return "; ".join(parts) or "nothing to compare it with"


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
