"""Two runs by category and by tag: the same paired differences over a part of the cases. Pure.

A look at where a change comes from, not a test: nothing is adjusted for the number of groups, and
nothing here enters the family of the metrics over all cases.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pytest_rageval.analysis.compare.metrics import (
    ComparisonSettings,
    MetricChange,
    compare_metrics,
)
from pytest_rageval.analysis.compare.pairs import CasePair, Verdict

GroupTable = Literal["category", "tag"]

GROUP_KEYS: Final = (
    "recall_at_k",
    "recall_all_at_k",
    "mrr",
    "abstention_accuracy",
    "groundedness",
    "correctness",
)
"""Metrics that groups are compared by: one of each kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupChange:
    """One metric over the paired cases of one group that both runs scored."""

    table: GroupTable
    group: str
    change: MetricChange
    """Without a p, which would mean less with every group."""
    verdict: Verdict | None
    """None: too few cases to give one."""

    @property
    def name(self) -> str:
        """The group as checks name it: ``multi_hop``, ``tag work``."""
        return self.group if self.table == "category" else f"tag {self.group}"


def compare_groups(
    pairs: Sequence[CasePair],
    *,
    keys: Collection[str],
    margins: Mapping[str, float] | None = None,
    confidence: float = 0.95,
    min_n: int = 20,
) -> tuple[GroupChange, ...]:
    """Compare the main metrics of every category, then of every tag.

    Args:
        pairs: the cases of both runs; the new one tells category and tags.
        keys: metrics that may be compared.
        margins: by metric, the difference that matters.
        confidence: of the intervals, 0 to 1.
        min_n: pairs below which there is no verdict.
    """
    groups: dict[tuple[GroupTable, str], list[CasePair]] = {}
    for pair in pairs:
        groups.setdefault(("category", pair.new.first.category), []).append(pair)
        for tag in dict.fromkeys(pair.new.first.tags):
            groups.setdefault(("tag", tag), []).append(pair)
    wanted = frozenset(keys).intersection(GROUP_KEYS)
    settings = ComparisonSettings(
        keys=wanted, margins=margins or {}, confidence=confidence, with_p=False
    )
    found: list[GroupChange] = []
    for (table, group), members in sorted(groups.items()):
        changes = compare_metrics(members, settings)
        found += [
            GroupChange(
                table=table,
                group=group,
                change=changes[key],
                verdict=changes[key].verdict if changes[key].n >= max(min_n, 1) else None,
            )
            for key in GROUP_KEYS
            if key in changes and changes[key].n
        ]
    return tuple(found)
