"""Cases that went from right to wrong or back between two runs, and why, in words. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from pytest_rageval.analysis.aggregate.case_groups import CaseGroup, CaseOutcome
from pytest_rageval.analysis.compare.flips import explain_flip
from pytest_rageval.metrics.registry import METRICS
from pytest_rageval.support.numbers import TOLERANCE
from pytest_rageval.values.record import CaseRecord

Direction = Literal["worse", "better"]

FLIP_METRICS: Final = (
    "recall_all_at_k",
    "hit_at_k",
    "recall_at_k",
    "abstention_accuracy",
    "over_abstention_rate",
    "specificity_accuracy",
    "recency_conflict_accuracy",
    "attribution_hit_rate",
)
"""Recall and expectations of single cases, the most telling first."""

_RANK: Final[Mapping[CaseOutcome, int | None]] = {
    "passed": 2,
    "missed": 1,
    "error": 0,
    "unchecked": None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFlip:
    """One metric of one case that changed."""

    metric: str
    base: float
    new: float
    direction: Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFlip:
    """One case that changed."""

    file: str
    case_id: str
    category: str
    direction: Direction
    """By its outcome, or where that stayed by the first metric that changed."""
    base_outcome: CaseOutcome
    new_outcome: CaseOutcome
    changes: tuple[MetricFlip, ...]
    """The most telling first; empty: only the outcome changed."""
    reason: str
    """A few words; they may hold paths and headings of the case file and of the target."""
    brief_reason: str
    """The same without any text of anybody's."""


def find_flips(
    pairs: Iterable[tuple[CaseGroup, CaseGroup]],
    *,
    keys: Collection[str] | None = None,
    outcomes: bool = True,
) -> tuple[CaseFlip, ...]:
    """Return the cases that changed, worse ones first.

    Args:
        pairs: base and new of each case.
        keys: metrics that may be compared; None: all.
        outcomes: whether the outcomes may be.
    """
    found = [flip for base, new in pairs if (flip := _flip(base, new, keys, outcomes)) is not None]
    return tuple(sorted(found, key=lambda f: (f.direction != "worse", f.file, f.case_id)))


def _flip(
    base: CaseGroup, new: CaseGroup, keys: Collection[str] | None, outcomes: bool
) -> CaseFlip | None:
    changes = tuple(_changes(base, new, keys))
    by_outcome = _outcome_direction(base.outcome, new.outcome) if outcomes else None
    direction = by_outcome or (changes[0].direction if changes else None)
    if direction is None:
        return None
    # What went the case's way comes first, whatever else changed beside it.
    ordered = tuple(sorted(changes, key=lambda change: change.direction != direction))
    before, after = _telling(base, new, ordered[0] if ordered else None, direction)
    metric = ordered[0].metric if ordered else None
    return CaseFlip(
        file=new.first.file,
        case_id=new.first.name,
        category=new.first.category,
        direction=direction,
        base_outcome=base.outcome,
        new_outcome=new.outcome,
        changes=ordered,
        reason=explain_flip(before, after, metric),
        brief_reason=explain_flip(before, after, metric, named=False),
    )


def _changes(base: CaseGroup, new: CaseGroup, keys: Collection[str] | None) -> Iterator[MetricFlip]:
    for key in FLIP_METRICS:
        if keys is not None and key not in keys:
            continue
        one, other = base.value(key).value, new.value(key).value
        if one is None or other is None or abs(other - one) <= TOLERANCE:
            continue
        better = (other > one) == (METRICS[key].direction == "higher")
        yield MetricFlip(metric=key, base=one, new=other, direction="better" if better else "worse")


def _outcome_direction(base: CaseOutcome, new: CaseOutcome) -> Direction | None:
    one, other = _RANK[base], _RANK[new]
    if one is None or other is None or one == other:
        return None
    return "better" if other > one else "worse"


def _telling(
    base: CaseGroup, new: CaseGroup, change: MetricFlip | None, direction: Direction
) -> tuple[CaseRecord, CaseRecord]:
    """Return the repeats in which the change shows most."""
    if len(base.records) == len(new.records) == 1:
        return base.first, new.first
    sign = 1.0 if direction == "better" else -1.0

    def order(record: CaseRecord) -> float:
        rank = {"passed": 2.0, "missed": 1.0, "error": 0.0}[record.outcome]
        value = None if change is None else record.metrics.get(change.metric)
        lower = change is not None and METRICS[change.metric].direction == "lower"
        return sign * (rank + (0.0 if value is None else -value if lower else value))

    return min(base.records, key=order), max(new.records, key=order)
