"""The one test of a paired difference: its p, its interval and its detectable effect.

A difference is candidate - baseline. p and interval are inversions of each other, so that a row
never contradicts itself. Defined in docs/statistics.md#two-runs; the weight of what cases of one
document share is chosen there by simulation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_rageval.analysis.stats.distributions import (
    ClusterIds,
    bisect,
    cluster_indices,
    is_binary,
    student_t_quantile,
    student_t_tail,
)
from pytest_rageval.analysis.stats.intervals import UNIT, MetricScale
from pytest_rageval.analysis.stats.paired import POWER

IGNORED_FREEDOM = 4.2
"""Degrees of freedom between clusters that say too little of what the cases of each share."""
_HALF, _ONE = 0.5, 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceTest:
    """A t test of a mean difference, of which every figure of a comparison is read."""

    n: int
    """Pairs, at least 2."""
    size: float
    """``n`` and the imaginary pairs."""
    diff: float
    """Mean of candidate - baseline."""
    clusters: int | None
    """Number of clusters where any holds two pairs."""
    centre: float
    """``diff``, drawn towards 0 by imaginary pairs at both ends of the scale."""
    se: float
    """Standard error of ``centre``; 0: the differences of an unbounded scale are all equal."""
    df: float
    """Degrees of freedom, above 0."""
    widest: float
    """Largest difference that the scale allows; infinite: unbounded."""
    binary: bool
    """Whether every difference is -1, 0 or 1."""
    design_effect: float
    """Variance over that of independent pairs, at least 1."""

    def p_below(self, value: float = 0.0) -> float:
        """One-sided p of "the true difference is below ``value``", 0 to 1."""
        return self._tail(value - self.centre)

    def p_above(self, value: float = 0.0) -> float:
        """One-sided p of "the true difference is above ``value``", 0 to 1."""
        return self._tail(self.centre - value)

    def _tail(self, distance: float) -> float:
        if self.se == 0:
            return 0.0 if distance > 0 else 1.0
        t = distance / self.se
        if self.binary and 0 < distance < 1:
            t = min(t, math.sqrt(distance / (1 - distance) / self._noise))
        return student_t_tail(t, self.df)

    @property
    def _noise(self) -> float:
        """Variance of a share of 0/1 values over share x (1 - share).

        A true difference as far away as a bound comes with at least so much noise, even if no
        pair differs: the bound is then that of Wilson's interval.
        """
        return self.design_effect / self.n

    def bounds(self, alpha: float) -> tuple[float, float]:
        """Lower and upper bound, each of which is wrong with probability ``alpha``.

        The upper one is below a value if and only if ``p_below`` of it is below ``alpha``, the
        lower one is above it if and only if ``p_above`` is.
        """
        t = student_t_quantile(1 - alpha, self.df)
        half, least = t * self.se, t * t * self._noise
        if self.binary:
            half = max(half, least / (1 + least))
        return max(-self.widest, self.centre - half), min(self.widest, self.centre + half)

    def detectable(self, alpha: float, power: float = POWER) -> float | None:
        """Smallest true drop that ``p_below(0)`` finds with a probability; None: none is.

        A larger drop of a 0/1 metric comes with more pairs that differ, and so with more noise.
        """
        quantiles = student_t_quantile(1 - alpha, self.df) + student_t_quantile(power, self.df)
        # The centre is a difference times n / size, and so is its error.
        variance = (self.se * self.size / self.n) ** 2

        def is_missed(drop: float) -> bool:
            more = max(0.0, drop - abs(self.diff)) if self.binary else 0.0
            return drop < quantiles * math.sqrt(variance + self.design_effect * more / self.n)

        if math.isinf(self.widest):
            return quantiles * math.sqrt(variance)
        if is_missed(self.widest):
            return None
        return bisect(is_missed, 0.0, self.widest)


def difference_test(
    base: Sequence[float],
    cand: Sequence[float],
    scale: MetricScale = UNIT,
    *,
    clusters: ClusterIds | None = None,
    whole_clusters: bool = False,
) -> DifferenceTest | None:
    """Test the mean paired difference.

    Imaginary pairs at both ends of the scale keep the error above 0 where no pair differs: half a
    pair at each end for 0/1 values, which agrees with the mid-p McNemar test (Fagerland 2013), one
    pair otherwise (the plus-two t of ``intervals``). The variance lies between that of
    independent pairs and that of clusters. Of the G - 1 degrees of freedom between G equal
    clusters ``IGNORED_FREEDOM`` count nothing, so that the weight of the clusters is
    1 - 4.2/(G - 1), and 0 for up to five.

    Args:
        base: baseline values, one per pair.
        cand: candidate values in the same order.
        scale: of the metric; unbounded: no imaginary pairs.
        clusters: one id per pair; None: every pair is its own.
        whole_clusters: take the clusters for a sample of others, with weight 1.

    Returns:
        None for fewer than two pairs, or than two clusters with ``whole_clusters``.

    >>> lost, gained = [1] * 7 + [0] * 2, [0] * 7 + [1] * 2
    >>> found = difference_test(lost + [1] * 41, gained + [1] * 41, MetricScale(binary=True))
    >>> found.diff, round(found.p_below(), 3), round(found.bounds(0.05)[1], 4)
    (-0.1, 0.057, 0.0044)
    """
    if len(base) != len(cand):
        raise ValueError(f"{len(base)} baseline values for {len(cand)} candidate values")
    diffs = [c - b for b, c in zip(base, cand, strict=True)]
    n, span = len(diffs), scale.span
    groups = cluster_indices(n, clusters)
    if n < 2 or (whole_clusters and len(groups) < 2):
        return None
    binary = scale.binary and is_binary((*base, *cand))
    added = 0.0 if span is None else _HALF if binary else _ONE
    size, end = n + 2 * added, span or 0.0
    total = math.fsum(diffs)
    centre = total / size
    ends = added * ((end - centre) ** 2 + (end + centre) ** 2)
    of_cases = math.fsum((d - centre) ** 2 for d in diffs)
    alone = n / (n - 1) * (of_cases + ends) / size**2
    variance, df = alone, float(n - 1)
    g = len(groups)
    if 1 < g < n:
        sums = (math.fsum(diffs[i] for i in group) - len(group) * centre for group in groups)
        squares = math.fsum(s * s for s in sums) + added * ends
        together = max(alone, g / (g - 1) * squares / size**2)
        effective = n * n / sum(len(group) ** 2 for group in groups)
        freedom = max(effective - 1, 1.0)
        weight = 1.0 if whole_clusters else max(0.0, 1 - IGNORED_FREEDOM / freedom)
        parts = ((1 - weight) * alone, n - 1.0), (weight * together, freedom)
        variance = math.fsum(part for part, _ in parts)
        if variance > 0:  # Satterthwaite 1946
            df = variance**2 / math.fsum(part**2 / own for part, own in parts)
    return DifferenceTest(
        n=n,
        size=size,
        diff=total / n,
        clusters=g if g < n else None,
        centre=centre,
        se=math.sqrt(variance),
        df=df,
        widest=math.inf if span is None else span,
        binary=binary,
        design_effect=variance / alone if alone > 0 else 1.0,
    )
