"""Intervals of a mean and of a percentile.

If most values are 1, a small sample often has no failure; t, bootstrap and BCa intervals then
collapse to a point. Wilson and the plus-two t do not, and need no random numbers.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from pytest_rageval.analysis.stats.distributions import (
    ClusteredSample,
    beta_quantile,
    binomial_cdf,
    normal_quantile,
    student_t_quantile,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Sided = Literal[1, 2]
BOOTSTRAP_SEED = 20251122
_ROUNDING = 1e-12
_DRAWN_AT_ONCE = 1 << 16
"""Random numbers in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Bounds of an estimate; with ``sided=1`` each bound holds alone at the confidence."""

    low: float | None
    high: float | None
    method: str | None
    """``wilson``, ``plus_two``, ``mover_wilson`` or ``bootstrap``; None: no interval."""
    se: float | None = None
    """Half-width over quantile."""
    detectable_se: float | None = None
    """The standard error that minimum detectable effects use, which take normal quantiles."""
    clusters: int | None = None
    """Number of clusters where at least one holds several values."""


@dataclass(frozen=True, slots=True)
class MetricScale:
    """The values that a metric can take."""

    lo: float | None = 0.0
    """None at either end: unbounded."""
    hi: float | None = 1.0
    binary: bool = False
    """Every value is 0 or 1 and comes from one repeat."""

    @property
    def span(self) -> float | None:
        """Length of the scale; None: unbounded."""
        return None if self.lo is None or self.hi is None else self.hi - self.lo


UNIT = MetricScale()
NO_INTERVAL = Interval(low=None, high=None, method=None)


def tail_level(confidence: float, sided: Sided) -> float:
    """The probability whose quantile bounds an interval: 0.975 for two-sided 95 %."""
    return confidence if sided == 1 else 0.5 + confidence / 2


def fmean(values: Sequence[float]) -> float | None:
    """Mean by exact summation, hence the same in any order; None for no values."""
    return math.fsum(values) / len(values) if values else None


def wilson(k: float, n: int, *, confidence: float = 0.95, sided: Sided = 2) -> Interval:
    """Wilson score interval of a proportion (Wilson 1927; = scipy ``binomtest``).

    Args:
        k: successes, 0 to ``n``.
        n: trials; 0 has no interval.
        confidence: 0 to 1, of the pair (``sided=2``) or of each bound (``sided=1``).
        sided: 1 or 2.

    >>> interval = wilson(42, 50)
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.715, 0.917)
    """
    if n == 0:
        return NO_INTERVAL
    z = normal_quantile(tail_level(confidence, sided))
    low, high = wilson_bounds(k / n, n, z)
    se = (high - low) / 2 / z
    return Interval(low=low, high=high, method="wilson", se=se, detectable_se=se)


def wilson_bounds(p: float, n: float, z: float) -> tuple[float, float]:
    """Wilson bounds of the proportion ``p`` of ``n`` > 0 (effective) at normal quantile ``z``."""
    shrink = 1 + z * z / n
    centre = (p + z * z / (2 * n)) / shrink
    half = z / shrink * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    # At the ends the formula gives 0 and 1 up to rounding; print them exactly.
    low = 0.0 if p <= 0 else max(0.0, centre - half)
    high = 1.0 if p >= 1 else min(1.0, centre + half)
    return low, high


def clopper_pearson(k: int, n: int, *, confidence: float = 0.95) -> Interval:
    """Guaranteed ("exact") two-sided interval of a proportion (Clopper and Pearson 1934)."""
    if n == 0:
        return NO_INTERVAL
    alpha = (1 - confidence) / 2
    low = 0.0 if k == 0 else beta_quantile(alpha, k, n - k + 1)
    high = 1.0 if k == n else beta_quantile(1 - alpha, k + 1, n - k)
    return Interval(low=low, high=high, method="clopper_pearson")


def beta_credible(k: int, n: int, *, confidence: float = 0.95) -> Interval:
    """Equal-tailed credible interval of a proportion with a Beta(1, 1) prior.

    Source: Bowyer, Aitchison, Ivanova 2025, arXiv 2503.01747.
    """
    if n == 0:
        return NO_INTERVAL
    alpha = (1 - confidence) / 2
    low = beta_quantile(alpha, k + 1, n - k + 1)
    high = beta_quantile(1 - alpha, k + 1, n - k + 1)
    return Interval(low=low, high=high, method="beta_credible")


def clustered_se(sample: ClusteredSample) -> float | None:
    """CR1 standard error of a mean (Miller 2024, arXiv 2411.00640; = statsmodels cluster).

    Without clusters it is the usual s/sqrt(n); None below two clusters.

    >>> from pytest_rageval.analysis.stats.distributions import cluster_sums
    >>> round(clustered_se(cluster_sums([1, 1, 0, 0, 1, 1], "aabbcc")), 3)
    0.333
    """
    g, n = sample.n_clusters, sample.n
    if g < 2:
        return None
    return math.sqrt(g / (g - 1) * sample.squares_about(sample.total / n)) / n


def plus_two_moments(sample: ClusteredSample, lo: float, hi: float) -> tuple[float, float]:
    """Centre and variance of the plus-two t: one pseudo-case at each end of the scale.

    Each pseudo-case is a cluster of its own of weight sqrt(n/G). Needs two clusters.
    """
    n, g = sample.n, sample.n_clusters
    weight = math.sqrt(n / g)
    size = n + 2 * weight
    centre = (sample.total + weight * (lo + hi)) / size
    ends = [(weight * (lo - centre)) ** 2, (weight * (hi - centre)) ** 2]
    squares = math.fsum([sample.squares_about(centre), *ends])
    return centre, g / (g - 1) * squares / size**2


def _plus_twos(
    sample: ClusteredSample, lo: float, hi: float, *, confidence: float, sides: Sequence[Sided]
) -> list[Interval]:
    g = sample.n_clusters
    n_clusters = g if g < sample.n else None
    if g < 2:
        return [Interval(low=None, high=None, method=None, clusters=n_clusters)] * len(sides)
    centre, variance = plus_two_moments(sample, lo, hi)
    se = math.sqrt(variance)
    # Includes the t quantile instead of the normal one, and the shrinkage by the two pseudo-cases.
    # Without both, detectable effects of few clusters would be too small.
    pull = 1 + 2 / math.sqrt(sample.n * g)
    found = []
    for sided in sides:
        level = tail_level(confidence, sided)
        half = student_t_quantile(level, g - 1) * se
        interval = Interval(
            low=max(lo, centre - half),
            high=min(hi, centre + half),
            method="plus_two",
            se=se,
            detectable_se=half / normal_quantile(level) * pull,
            clusters=n_clusters,
        )
        found.append(interval)
    return found


def mean_interval(
    sample: ClusteredSample,
    scale: MetricScale = UNIT,
    *,
    confidence: float = 0.95,
    sided: Sided = 2,
) -> Interval:
    """Interval of a mean, by the method that suits its scale.

    Args:
        sample: one value per case.
        scale: unbounded: percentile bootstrap; binary: Wilson, as long as every value is 0 or 1
            (the mean of several repeats may lie in between) and no cluster holds two cases;
            otherwise the plus-two t, which fewer than two clusters do not have.
        confidence: 0 to 1.
        sided: 2 for reports, 1 for gates.
    """
    return mean_intervals(sample, scale, confidence=confidence, sides=(sided,))[0]


def mean_intervals(
    sample: ClusteredSample,
    scale: MetricScale,
    *,
    confidence: float,
    sides: Sequence[Sided] = (2, 1),
) -> list[Interval]:
    """``mean_interval`` for each of ``sides``, whose resamples are drawn once."""
    if not sample.n:
        return [NO_INTERVAL] * len(sides)
    if scale.lo is None or scale.hi is None:
        return bootstrap_means([sample], confidence=confidence, sides=sides)[0]
    if scale.binary and sample.n_clusters == sample.n and sample.is_binary:
        return [wilson(sample.total, sample.n, confidence=confidence, sided=one) for one in sides]
    return _plus_twos(sample, scale.lo, scale.hi, confidence=confidence, sides=sides)


def percentile(values: Sequence[float], p: float) -> float | None:
    """Percentile of type 7 (linear), = ``numpy.percentile``; None for no values.

    Args:
        values: in any order.
        p: 0 to 100.

    >>> percentile([100, 200, 300, 400, 1000], 95)
    880.0
    """
    if not values:
        return None
    ordered = sorted(values)
    below, share = percentile_place(len(ordered), p)
    if share == 0:
        return float(ordered[below])
    return ordered[below] + share * (ordered[below + 1] - ordered[below])


def percentile_place(n: int, p: float) -> tuple[int, float]:
    """Position of a type 7 percentile of n > 0 sorted values: an index, and the share beyond it."""
    # Divided last, so that p95 of five values is at exactly 3.8.
    below, rest = divmod((n - 1) * p, 100)
    return int(below), rest / 100


def quantile_interval(
    values: Sequence[float], p: float, *, confidence: float = 0.95, sided: Sided = 2
) -> Interval:
    """Distribution-free interval of a quantile by order statistics (= scipy ``quantile_test``).

    Args:
        values: in any order.
        p: 0 to 1.
        confidence: 0 to 1.
        sided: 1 or 2.

    A bound beyond the sample is None: p95 has no upper bound below n = 72.
    """
    ordered, n = sorted(values), len(values)
    level = tail_level(confidence, sided)

    def below(j: int) -> float:
        return binomial_cdf(j - 1, n, p)

    # 1-based ranks: the last whose tail is small enough, the first whose tail is large enough. A
    # tail that equals the level does so up to rounding.
    places = range(1, n + 1)
    low = bisect_right(places, 1 - level + _ROUNDING, key=below)
    high = bisect_left(places, level - _ROUNDING, key=below)
    return Interval(
        low=float(ordered[low - 1]) if low else None,
        high=float(ordered[high]) if high < n else None,
        method="order_statistics" if low or high < n else None,
    )


def bootstrap_means(
    samples: Sequence[ClusteredSample],
    *,
    confidence: float = 0.95,
    sides: Sequence[Sided] = (2,),
    resamples: int = 10_000,
) -> list[list[Interval]]:
    """Percentile bootstrap of means, resampling whole clusters; for unbounded scales only.

    Fewer than two clusters have no interval.
    """
    drawn = [sample for sample in samples if sample.n_clusters > 1]
    resampled = iter(_resampled_means([sample.pieces for sample in drawn], resamples))
    levels, found = [tail_level(confidence, sided) for sided in sides], []
    for sample in samples:
        none = replace(
            NO_INTERVAL, clusters=sample.n_clusters if sample.n_clusters < sample.n else None
        )
        if sample.n_clusters < 2:
            found.append([none] * len(sides))
            continue
        means = sorted(next(resampled).tolist())
        mean = math.fsum(means) / resamples
        # `statistics.pstdev` adds fractions, which takes longer than all the rest.
        se = math.sqrt(math.fsum((one - mean) ** 2 for one in means) / resamples)
        found.append(
            [
                replace(
                    none,
                    low=percentile(means, 100 * (1 - level)),
                    high=percentile(means, 100 * level),
                    method="bootstrap",
                    se=se,
                    detectable_se=se,
                )
                for level in levels
            ]
        )
    return found


def _resampled_means(
    every: Sequence[Sequence[tuple[float, int]]], resamples: int
) -> Sequence[NDArray[np.float64]]:
    """Return the means of the resamples of each set of clusters that ``random.choices`` draws.

    The generators of all sets begin with one seed, so that their numbers are drawn once: that takes
    longer than adding.
    """
    if not every:
        return ()
    # Imported here, since commands that draw nothing read the settings of intervals.
    import numpy as np

    # The generator of ``random``, which draws many numbers at once.
    uniform = np.random.RandomState()
    state = random.Random(BOOTSTRAP_SEED).getstate()[1]
    uniform.set_state(("MT19937", np.array(state[:-1], dtype=np.uint32), state[-1], 0, 0.0))
    totals = [np.array([total for total, _ in pieces], dtype=float) for pieces in every]
    sizes = [np.array([size for _, size in pieces], dtype=np.int64) for pieces in every]
    means, done = [np.empty(resamples) for _ in every], [0] * len(every)
    most, numbers, begin = max(map(len, every)), np.empty(0), 0
    while min(done) < resamples:
        kept = numbers[-most:]  # the resample of a set may begin there
        begin += len(numbers) - len(kept)
        numbers = np.concatenate([kept, uniform.random_sample(_DRAWN_AT_ONCE)])
        for nth, pieces in enumerate(every):
            n, start = len(pieces), done[nth] * len(pieces) - begin
            rows = min((len(numbers) - start) // n, resamples - done[nth])
            if rows <= 0:
                continue
            places = (numbers[start : start + rows * n] * n).astype(np.intp).reshape(rows, n)
            # A resample is a column: rows are added in order, so the last digit is that of ``sum``.
            drawn = np.ascontiguousarray(places.T)
            counts = np.add.reduce(sizes[nth].take(drawn), axis=0)
            found = np.add.reduce(totals[nth].take(drawn), axis=0) / counts
            means[nth][done[nth] : done[nth] + rows] = found
            done[nth] += rows
    return means
