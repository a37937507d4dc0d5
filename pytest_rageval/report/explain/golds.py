"""Explanations per anchor, group and citation: the ranks, or the nearest miss."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_rageval.metrics.matching import (
    citation_in_chunk,
    citation_points_into,
    document_key,
    in_scope,
    same_document,
)
from pytest_rageval.report.explain.anchors import relate, same_place
from pytest_rageval.report.explain.values import (
    AnchorReason,
    ChunkReason,
    CitationReason,
    GroupReason,
    indices,
    join,
    ranks,
)
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import Citation, FolderSelection, RetrievedChunk


def explain_golds(
    case: Case,
    chunks: Sequence[RetrievedChunk] | None,
    citations: Sequence[Citation] | None,
    selection: FolderSelection | None,
    k: int,
    settings: ScoreSettings,
) -> tuple[AnchorReason, ...]:
    """Explain every gold: found, ranked too low, not returned, or outside the searched folders."""
    return tuple(
        _anchor(
            index,
            gold,
            found_at=tuple(
                rank
                for rank, chunk in enumerate(chunks or (), start=1)
                if index in (chunk.matched_golds or ())
            ),
            chunks=chunks,
            citations=citations,
            selection=selection,
            k=k,
            settings=settings,
        )
        for index, gold in enumerate(case.gold_supports)
    )


def explain_irrelevant(
    case: Case, reasons: Sequence[ChunkReason] | None, k: int
) -> tuple[AnchorReason, ...]:
    """Explain every irrelevant support by its ranks."""
    found = []
    for index, anchor in enumerate(case.irrelevant_supports):
        places = tuple(chunk.rank for chunk in reasons or () if index in chunk.irrelevant)
        inside = bool(places) and places[0] <= k
        if reasons is None:
            text = "no chunks are reported"
        elif not places:
            text = "not returned, as it should be"
        elif inside:
            text = f"returned at {ranks(places)}, and should not be"
        else:
            text = f"only at {ranks(places)}, below the cut"
        found.append(
            AnchorReason(
                index=index,
                rel_path=anchor.rel_path,
                heading_path=anchor.heading_path,
                vault=anchor.vault,
                grade=anchor.grade,
                ranks=places,
                document_ranks=(),
                found=inside,
                in_scope=None,
                cited_by=None,
                reason=text,
            )
        )
    return tuple(found)


def _anchor(
    index: int,
    gold: Anchor,
    *,
    found_at: tuple[int, ...],
    chunks: Sequence[RetrievedChunk] | None,
    citations: Sequence[Citation] | None,
    selection: FolderSelection | None,
    k: int,
    settings: ScoreSettings,
) -> AnchorReason:
    case, folders = settings.path_case, selection.selected_folders if selection else None
    key = document_key(gold, case)
    in_document = tuple(
        rank
        for rank, chunk in enumerate(chunks or (), start=1)
        if same_document(key, document_key(chunk, case))
    )
    inside = None if folders is None else in_scope(gold.rel_path, folders, case)
    cited_by = None
    if citations is not None:
        cited_by = tuple(
            number
            for number, citation in enumerate(citations, start=1)
            if citation_points_into(citation, gold, case)
        )
    if chunks is None:
        text = "no chunks are reported"
    elif found_at:
        text = _found(found_at, k)
    else:
        text = _not_found(index, gold, chunks, in_document, settings)
    if inside is False:
        text += _out_of_scope(selection)
    return AnchorReason(
        index=index,
        rel_path=gold.rel_path,
        heading_path=gold.heading_path,
        vault=gold.vault,
        grade=gold.grade,
        ranks=found_at,
        document_ranks=in_document,
        found=bool(found_at) and found_at[0] <= k,
        in_scope=inside,
        cited_by=cited_by,
        reason=text + _cited(cited_by),
    )


def _found(found_at: Sequence[int], k: int) -> str:
    if found_at[0] > k:
        first = found_at[0]
        return f"below the cut: first at rank {first}, so k >= {first} would count it"
    return f"found at {ranks(found_at)}"


def _not_found(
    index: int,
    gold: Anchor,
    chunks: Sequence[RetrievedChunk],
    in_document: Sequence[int],
    settings: ScoreSettings,
) -> str:
    taken = [
        rank
        for rank, chunk in enumerate(chunks, start=1)
        if chunk.irrelevant and same_place(gold, chunk, settings)
    ]
    if taken:
        return f"returned at {ranks(taken)}, where an irrelevant anchor wins"
    if any(chunk.matched_golds is None for chunk in chunks):
        return "not told: a chunk without full text could not be decided"
    if not chunks:
        return "not returned: the list is empty"
    relations = [relate(gold, f"gold [{index}]", chunk, settings) for chunk in chunks]
    nearest = max(range(len(chunks)), key=lambda i: (*relations[i].closeness, -i))
    if in_document:
        first = ranks(in_document)
        return f"not returned; its document is at {first} (see rank {nearest + 1})"
    if relations[nearest].rule == "other_document":
        return "not returned, nor any chunk of its document"
    return f"not returned; nearest is rank {nearest + 1}: {relations[nearest].text}"


def _out_of_scope(selection: FolderSelection | None) -> str:
    if selection is None:
        return ""
    if selection.fallback_used:
        return "; outside the selected folders, but the fallback searched everything"
    if not selection.selected_folders:
        return "; no folder was searched"
    return "; outside the searched folders"


def _cited(cited_by: Sequence[int] | None) -> str:
    if cited_by is None:
        return ""
    return (
        f"; cited by {join([f'#{number}' for number in cited_by])}" if cited_by else "; not cited"
    )


def explain_groups(
    case: Case, golds: Sequence[AnchorReason], *, reported: bool
) -> tuple[GroupReason, ...]:
    """Return the missing golds of each group of ``required_support_groups``.

    Args:
        case: the case as it was asked.
        golds: its golds, explained.
        reported: whether the target reports chunks at all.
    """
    found = {gold.index for gold in golds if gold.found}
    return tuple(
        GroupReason(
            golds=tuple(group), lacks=tuple(sorted(set(group) - found)) if reported else None
        )
        for group in case.required_support_groups or ()
    )


def explain_citations(
    case: Case,
    citations: Sequence[Citation],
    chunks: Sequence[RetrievedChunk] | None,
    settings: ScoreSettings,
) -> tuple[CitationReason, ...]:
    """Return the golds and retrieved chunks of each citation."""
    return tuple(
        _citation(number, citation, case, chunks, settings)
        for number, citation in enumerate(citations, start=1)
    )


def _citation(
    number: int,
    citation: Citation,
    case: Case,
    chunks: Sequence[RetrievedChunk] | None,
    settings: ScoreSettings,
) -> CitationReason:
    path_case = settings.path_case
    golds = tuple(
        index
        for index, gold in enumerate(case.gold_supports)
        if citation_points_into(citation, gold, path_case)
    )
    places = None
    if chunks is not None:
        places = tuple(
            rank
            for rank, chunk in enumerate(chunks, start=1)
            if citation_in_chunk(citation, chunk, path_case)
        )
    return CitationReason(
        number=number,
        citation=citation,
        golds=golds,
        ranks=places,
        reason=_citation_text(case, citation, golds, places),
    )


def _citation_text(
    case: Case, citation: Citation, golds: Sequence[int], places: Sequence[int] | None
) -> str:
    if citation.rel_path is None:
        return "cites nothing: a number beyond the retrieved chunks"
    parts = []
    if case.gold_supports:
        parts.append(f"points into gold {indices(golds)}" if golds else "points into no gold")
    if places is not None:
        parts.append(f"retrieved at {ranks(places)}" if places else "was not retrieved")
    return "; ".join(parts) or "nothing to compare it with"
