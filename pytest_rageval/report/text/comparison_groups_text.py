"""A comparison by category and tag, a line for each metric of a group. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_rageval.analysis.compare.groups import GroupChange
from pytest_rageval.report.text.comparison_numbers import interval_text
from pytest_rageval.report.text.summary import change_text
from pytest_rageval.support.text import clean, cut_columns


def groups_text(min_n: int) -> str:
    """Say what verdicts by group are worth."""
    return f"exploratory, not adjusted for looking at many groups; no verdict below {min_n} pairs"


def group_head(confidence: float, width: int) -> str:
    """The heading of the lines of groups."""
    percent = f"{confidence * 100:g}% CI of delta"
    return f"{'metric [group]':<{_room(width)}}{'n':>5}{'delta':>8}{percent:>17}  verdict"


def group_row(one: GroupChange, width: int) -> str:
    """One metric of a group, up to its verdict."""
    room = _room(width)
    name = cut_columns(clean(f"{one.change.key} [{one.name}]"), room - 1)
    delta = change_text(one.change.key, one.change.delta)
    return f"{name:<{room}}{one.change.n:>5}{delta:>8}{interval_text(one.change):>17}  "


def group_verdict(one: GroupChange) -> str:
    """The verdict of a group, or that it has too few cases for one."""
    return one.verdict or "too few"


def telling(groups: Sequence[GroupChange]) -> list[GroupChange]:
    """Return what is shown without being asked for.

    What is better or worse, and of each category that changed its first metric.
    """
    leading = {(one.table, one.group): one for one in reversed(groups)}.values()
    changed = [one for one in leading if one.table == "category" and one.change.delta]
    return [one for one in groups if one.verdict in {"better", "worse"} or one in changed]


def _room(width: int) -> int:
    return min(max(width - 41, 21), 46)
