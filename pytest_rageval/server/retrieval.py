"""One search: selection of folders, both sides, fusion, threshold, rerank."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pytest_rageval.server.chunking import Chunk
from pytest_rageval.server.index import Index
from pytest_rageval.server.ranking import (
    MIN_POOL,
    Candidate,
    Ranked,
    Scores,
    fuse,
    normalised,
    ranking,
    rerank,
)
from pytest_rageval.server.requests import AskQuery
from pytest_rageval.server.terms import TermFrequencies, query_terms, terms
from pytest_rageval.server.vault import folder_contains

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A retrieved chunk with its scores."""

    chunk: Chunk
    rank: int
    score_vector: float
    """Cosine."""
    score_lexical: float
    """BM25."""
    score_final: float
    rank_before_rerank: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """The results of one search and how long its phases took."""

    hits: tuple[Hit, ...]
    """The `k` best."""
    displaced: tuple[Hit, ...]
    """Chunks among the `k` best before the rerank but not after it, with their later ranks."""
    folder_selection: FolderSelection
    latency: dict[str, float]


def retrieve(index: Index, query: AskQuery) -> Retrieval:
    """Search the index.

    Raises:
        UpstreamError: The embedding endpoint failed.
    """
    started = time.perf_counter()
    wanted = query_terms(query.question)
    lexical = index.lexical.scores(query.question, index.frequencies)
    everywhere = np.ones(len(index.chunks), dtype=bool)
    allowed = _within(index, query.folders) if query.folders else everywhere
    begun_selection = time.perf_counter()
    selection = _select(index, query, wanted, lexical, allowed)
    selected = time.perf_counter()
    vector = index.similarities(query.question)
    scope = allowed
    if selection.selected_folders is not None:
        scope = allowed & _within(index, selection.selected_folders)
    fused = _fused(query, vector, lexical, scope)
    if query.folder_mode == "on_with_fallback" and _is_weak(index, wanted, fused):
        reason = f"{selection.reasoning}; no passage there holds half of the question: all searched"
        selection = replace(selection, fallback_used=True, reasoning=reason)
        fused = _fused(query, vector, lexical, allowed)
    retrieved = time.perf_counter()
    entries = _ranked(index, query, wanted, fused)
    hits = [
        Hit(
            chunk=index.chunks[entry.position],
            rank=rank,
            score_vector=round(float(vector[entry.position]), 6),
            score_lexical=round(float(lexical[entry.position]), 6),
            score_final=round(entry.score, 6),
            rank_before_rerank=entry.rank_before,
        )
        for rank, entry in enumerate(entries, start=1)
    ]
    done = time.perf_counter()
    cut = query.k
    selection_s = selected - begun_selection
    return Retrieval(
        hits=tuple(hits[:cut]),
        displaced=tuple(hit for hit in hits[cut:] if (hit.rank_before_rerank or cut + 1) <= cut),
        folder_selection=selection,
        latency={
            "folder_selection_ms": 0.0 if query.folder_mode == "off" else selection_s * 1000,
            "retrieval_ms": (retrieved - started - selection_s) * 1000,
            "rerank_ms": (done - retrieved) * 1000 if query.rerank else 0.0,
        },
    )


def _within(index: Index, folders: Sequence[str]) -> Mask:
    """Return which chunks lie in any of the folders."""
    inside = {
        own: any(folder_contains(folder, f"{own}/note.md") for folder in folders)
        for own in set(index.folder_of)
    }
    return np.array([inside[own] for own in index.folder_of], dtype=bool)


def _select(
    index: Index, query: AskQuery, wanted: Sequence[str], lexical: Scores, allowed: Mask
) -> FolderSelection:
    of_folder: dict[str, list[float]] = {}
    # Only keywords are used: a cheap heuristic before the search, which can be wrong.
    shares = normalised(np.where(allowed, lexical, 0.0))
    for position in np.flatnonzero(allowed):
        of_folder.setdefault(index.folder_of[position], []).append(float(shares[position]))
    if query.folder_mode == "off":
        return FolderSelection(
            selected_folders=None,
            available_folders=tuple(sorted(of_folder)),
            fallback_used=None,
            reasoning="folder mode is off",
        )
    return select_folders(score_folders(wanted, of_folder, index.frequencies))


def _fused(query: AskQuery, vector: Scores, lexical: Scores, scope: Mask) -> Scores:
    """Fuse within a scope: scores and ranks are relative to the chunks in it."""
    return fuse(
        np.where(scope, vector, 0.0),
        np.where(scope, lexical, 0.0),
        method=query.fusion,
        vector_weight=query.rerank_weights.vector or 0.0,
        lexical_weight=query.rerank_weights.lexical or 0.0,
    )


def _is_weak(index: Index, wanted: Sequence[str], fused: Scores) -> bool:
    """Whether none of the best five passages contains half of the question's words."""
    best = [index.chunks[position] for position in ranking(fused)[:5]]
    held = ({*terms(chunk.heading_path), *terms(chunk.text)} for chunk in best)
    return all(index.frequencies.coverage(wanted, one) < FALLBACK_COVERAGE for one in held)


def _ranked(index: Index, query: AskQuery, wanted: Sequence[str], fused: Scores) -> list[Ranked]:
    order = ranking(fused)
    if not query.rerank:
        entries = [Ranked(int(position), float(fused[position])) for position in order[: query.k]]
    else:
        candidates = [
            Candidate(
                position=int(position),
                score=float(fused[position]),
                body_terms=terms(index.chunks[position].text),
                heading_terms=terms(index.chunks[position].heading_path),
            )
            for position in order[: max(MIN_POOL, 2 * query.k)]
        ]
        entries = rerank(wanted, candidates, index.frequencies)
    return [entry for entry in entries if entry.score >= query.min_score]


BEST_CHUNKS = 3
NAME_SHARE = 0.3
"""Score added to a folder whose name contains every word of the question."""
KEEP_SHARE = 0.75
"""Folders that reach this share of the best score are kept too."""
MAX_FOLDERS = 3
FALLBACK_COVERAGE = 0.5
"""Below this share of the question's words in one passage, folder selection failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSelection:
    """Result of the selector, reported as `debug.folder_selection`."""

    selected_folders: tuple[str, ...] | None
    """None: folders were not selected."""
    available_folders: tuple[str, ...]
    fallback_used: bool | None
    reasoning: str


def score_folders(
    question_terms: Sequence[str],
    chunk_scores: Mapping[str, Sequence[float]],
    frequencies: TermFrequencies,
) -> dict[str, float]:
    """Score each folder by its best passages and by how well its name fits the question.

    Args:
        question_terms: Distinct stems of the question.
        chunk_scores: For each folder, the scores of its own chunks, 0 to 1.
        frequencies: Weighs the words of a folder's name.

    Returns:
        The mean of the three best chunk scores (missing ones count 0) plus `NAME_SHARE` times the
        share of the question's words in the folder's path.
    """
    scores: dict[str, float] = {}
    for folder, found in chunk_scores.items():
        best = sorted(found, reverse=True)[:BEST_CHUNKS]
        in_name = frequencies.coverage(question_terms, set(terms(folder)))
        scores[folder] = sum(best) / BEST_CHUNKS + NAME_SHARE * in_name
    return scores


def select_folders(scores: Mapping[str, float]) -> FolderSelection:
    """Keep the best folder and those close to it; none if none of them has a matching passage."""
    available = tuple(sorted(scores))
    ordered = sorted(scores, key=lambda folder: (-scores[folder], folder))
    best = scores[ordered[0]] if ordered else 0.0
    kept = [folder for folder in ordered[:MAX_FOLDERS] if scores[folder] >= KEEP_SHARE * best]
    selected = tuple(kept) if best > 0 else ()
    shown = ", ".join(f"{folder} {scores[folder]:.2f}" for folder in selected)
    runner_up = ordered[len(selected)] if len(selected) < len(ordered) else None
    left_out = f"; next was {runner_up} {scores[runner_up]:.2f}" if runner_up else ""
    reasoning = f"best passages and name: {shown}{left_out}" if shown else "no folder matches"
    return FolderSelection(
        selected_folders=selected,
        available_folders=available,
        fallback_used=False,
        reasoning=reasoning,
    )
