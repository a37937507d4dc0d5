"""Whether the folders that a target chose to search hold the evidence.

Defined in docs/metrics.md#folder-selection.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_rageval.metrics.matching import in_scope
from pytest_rageval.metrics.view import (
    FAILED,
    CaseView,
    NotApplicable,
    Score,
    Scores,
    gold_population,
)

_KEYS: Final = ("scope_miss_rate", "scope_selection_miss_rate", "scope_any_excluded_rate")
_EVERYTHING: Final = ("*",)


def score_scope(view: CaseView) -> Scores:
    """Score folder selection: lower is better, ``fallback_rate`` is neutral.

    ``scope_miss_rate`` is 1 if no gold lies in the effective scope (everything once a fallback
    was used), ``scope_selection_miss_rate`` the same before any fallback, and
    ``scope_any_excluded_rate`` 1 if at least one gold lies outside the effective scope.
    """
    scores: dict[str, Score] = dict.fromkeys(_KEYS, 0.0)
    scores["fallback_rate"] = _fallback(view)
    selected = _selected_folders(view)
    if isinstance(selected, tuple):
        selection = view.response.folder_selection if view.response else None
        effective = _EVERYTHING if selection and selection.fallback_used else selected
        scores["scope_miss_rate"] = _none_inside(view, effective)
        scores["scope_selection_miss_rate"] = _none_inside(view, selected)
        scores["scope_any_excluded_rate"] = 1.0 - float(all(_inside(view, effective)))
    else:
        scores |= dict.fromkeys(_KEYS, selected)
    return scores


def _selected_folders(view: CaseView) -> tuple[str, ...] | Score:
    """Return the selected folders, or the score of a case where there is nothing to look at."""
    outside = gold_population(view.case)
    if outside is not None:
        return outside
    if view.settings.folder_mode == "off":
        return NotApplicable("Folder selection is off.")
    selection = view.response.folder_selection if view.response else None
    if selection is not None and selection.selected_folders is not None:
        return selection.selected_folders
    # Only where selection was asked for is its absence part of the failure.
    if view.response is None and view.settings.folder_mode is not None:
        return FAILED
    return NotApplicable("The target reports no selected_folders.")


def _inside(view: CaseView, folders: Sequence[str]) -> list[bool]:
    golds = view.case.gold_supports
    return [in_scope(gold.rel_path, folders, view.settings.path_case) for gold in golds]


def _none_inside(view: CaseView, folders: Sequence[str]) -> float:
    return 0.0 if any(_inside(view, folders)) else 1.0


def _fallback(view: CaseView) -> Score:
    selection = view.response.folder_selection if view.response else None
    if selection is not None and selection.fallback_used is not None:
        return 1.0 if selection.fallback_used else 0.0
    if view.response is None and view.settings.folder_mode == "on_with_fallback":
        return FAILED
    return NotApplicable("The target reports no fallback_used.")
