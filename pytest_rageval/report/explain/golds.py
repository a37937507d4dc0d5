"""Explanations per anchor, group and citation: the ranks, or the nearest miss."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from pytest_rageval.metrics.deciding import cited_golds
from pytest_rageval.metrics.matching import cited_ranks, document_key, in_scope, same_document
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
from pytest_rageval.support.text import part
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.record import CaseRecord, ScoreSettings
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
