"""Numbers of the charts, from the records of a run alone: bins, ranks, abstentions, ceilings. Pure.

Nothing here needs a text, so that the slim records of a large run are enough.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Final

from pytest_rageval.metrics.context import (
    CONTEXT_KEYS,
    ContextColumn,
    ContextRow,
    context_cell,
)
from pytest_rageval.report.html.run.values import first_rank
from pytest_rageval.values.record import CaseRecord

_BINS: Final = 10
_MANY: Final = 24
"""Bins of times, which are looked at in one wide chart."""
_SKEWED: Final = 12
"""Ratio of maximum to median above which times are shown by ratios, not by differences."""
CEILINGS: Final = ("precision_at_k", "recall_at_k")
"""Metrics of which a case with few golds, or with more than k, cannot reach the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Values between two edges, and the range of the address that selects the same cases."""

    low: float
    high: float
    n: int
    range: str


def round_value(value: float) -> float:
    """Return a value with six significant digits, as the list of cases holds it."""
    return float(f"{value:.6g}")


def share_text(share: float) -> str:
    """Show a share in whole percent: a few are not none, and nearly all are not all."""
    if 0 < share <= 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def bin_values(values: Iterable[float], edges: Sequence[float]) -> tuple[Bin, ...]:
    """Count the values between neighbouring edges; each is in exactly one bin.

    A bin has its lower edge and not its upper one. The first and the last also have what lies
    beyond the edges.

    Args:
        values: in any order.
        edges: at least two, rising.
    """
    counts = [0] * (len(edges) - 1)
    for value, n in Counter(values).items():
        counts[min(max(bisect_right(edges, round_value(value)) - 1, 0), len(counts) - 1)] += n
    last = len(counts) - 1
    return tuple(
        Bin(
            low=low,
            high=high,
            n=counts[place],
            range=f"{f'{low:.12g}' if place else ''}..{'' if place == last else f'<{high:.12g}'}",
        )
        for place, (low, high) in enumerate(pairwise(edges))
    )


def score_edges(values: Sequence[float], scale: tuple[float, float | None]) -> list[float]:
    """Return the edges of about ten bins of a metric, on its scale if that has an end."""
    low, high = scale
    if high is None:
        return even_edges(min(values), max(values), _BINS)
    return [round_value(low + (high - low) * step / _BINS) for step in range(_BINS + 1)]


def even_edges(low: float, high: float, most: int) -> list[float]:
    """Return round edges that enclose both values, of at most ``most`` + 2 bins.

    Values that six significant digits hardly distinguish are in one bin.
    """
    size = max(abs(low), abs(high))
    apart = high - low > max(size * 1e-4, 1e-300)
    step = _round_step((high - low) / most) if apart else max(size, 1.0)
    first = math.floor(low / step)
    last = max(math.ceil(high / step), first + 1)
    return [round_value(step * place) for place in range(first, last + 1)]


def time_edges(values: Sequence[float]) -> list[float]:
    """Return edges for times: even ones, or of even ratios if a few times are far longer."""
    low, high = min(values), max(values)
    if low <= 0 or high <= _SKEWED * median(values):
        return even_edges(low, high, _MANY)
    steps = [10**power * digit for power in range(-6, 12) for digit in (1, 1.5, 2, 3, 5, 7)]
    first = max(bisect_right(steps, low) - 1, 0)
    last = min(bisect_right(steps, high), len(steps) - 1)
    return [round_value(step) for step in steps[first : last + 1]]


def _round_step(wanted: float) -> float:
    power = 10.0 ** math.floor(math.log10(wanted))
    return next((power * n for n in (1, 2, 2.5, 5) if power * n >= wanted), power * 10)


# --- ranks -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RankShares:
    """Cases by the rank of their first gold."""

    counts: Mapping[int, int]
    """By rank, from 1 to the last that any case has."""
    none: int
    """Cases without any gold in their list."""

    @property
    def n(self) -> int:
        """Number of cases."""
        return self.none + sum(self.counts.values())

    def share_up_to(self, rank: int) -> float:
        """Share of the cases with a gold at this rank or before."""
        return sum(n for one, n in self.counts.items() if one <= rank) / self.n


def rank_shares(records: Iterable[CaseRecord]) -> RankShares:
    """Count cases with golds by the rank of the first one."""
    found = Counter(map(first_rank, records))
    last = max((rank for rank in found if rank is not None), default=0)
    return RankShares(counts={rank: found[rank] for rank in range(1, last + 1)}, none=found[None])


# --- abstention --------------------------------------------------------------------------------

ABSTENTION: Final = {True: "over_abstention_rate", False: "hallucination_rate_unanswerable"}
"""Metric that says whether a case abstained, by whether it is answerable."""


def abstentions(records: Iterable[CaseRecord]) -> dict[tuple[bool, bool], int]:
    """Count the cases by answerable and abstained; cases of which it is unknown are left out."""
    counts = {(answerable, abstained): 0 for answerable in ABSTENTION for abstained in ABSTENTION}
    for record in records:
        answerable = record.case.answerable
        if (value := record.scores.metrics.get(ABSTENTION[answerable])) is not None:
            counts[answerable, (value > 0) == answerable] += 1
    return counts


def contexts(records: Iterable[CaseRecord]) -> Counter[tuple[ContextRow, ContextColumn]]:
    """Count the records by sufficient context and answer, as far as both are known."""
    found = (context_cell(*(one.scores.metrics.get(k) for k in CONTEXT_KEYS)) for one in records)
    return Counter(cell for cell in found if cell is not None)


# --- ceilings ----------------------------------------------------------------------------------


def ceiling(record: CaseRecord, key: str) -> float | None:
    """Return the highest value that a case can reach with one chunk for each gold.

    None: the metric was not scored, or has no such bound. A case that reached more, because
    several chunks hold one gold, has its own value as the bound.
    """
    value = record.scores.metrics.get(key)
    if value is None or key not in CEILINGS:
        return None
    golds = len(record.case.gold_supports)
    reached = min(golds, record.k)
    bound = reached / record.k if key == "precision_at_k" else reached / max(golds, 1)
    return max(bound, value)


def mean_ceilings(records: Iterable[CaseRecord]) -> dict[str, float]:
    """Return the mean ceiling of each metric that has one, if it is below 1."""
    found: dict[str, list[float]] = {}
    for record in records:
        for key in CEILINGS:
            if (bound := ceiling(record, key)) is not None:
                found.setdefault(key, []).append(bound)
    means = {key: math.fsum(bounds) / len(bounds) for key, bounds in found.items()}
    return {key: mean for key, mean in means.items() if mean < 1 - 1e-9}
