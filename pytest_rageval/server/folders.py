"""Selection of the folders to search, from the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_rageval.server.terms import TermFrequencies, terms

FolderMode = Literal["off", "on", "on_with_fallback"]
FOLDER_MODES: tuple[FolderMode, ...] = ("off", "on", "on_with_fallback")

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
