"""Paired differences within one run or sweep, corrections for several tests, and sample sizes.

A difference is candidate - baseline. Two runs are compared by ``difference_test``. Defined in
docs/statistics.md#within-one-run and #how-many-cases.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from operator import getitem

from pytest_rageval.analysis.stats.distributions import (
    ClusterIds,
    cluster_indices,
    cluster_sums,
    is_binary,
    normal_quantile,
)
from pytest_rageval.analysis.stats.intervals import (
    UNIT,
    Interval,
    MetricScale,
    Sided,
    fmean,
    mean_interval,
    tail_level,
    wilson_bounds,
)

POWER = 0.80
_SEED = 20251122
_NOISE = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """Mean difference candidate - baseline over pairs, with its interval."""

    n: int
    diff: float | None
    """None: no pair."""
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class McNemar:
    """Exact McNemar p-values of a change in a binary metric."""

    p_two_sided: float
    p_worse: float
    """One-sided, for more lost than gained."""
    p_midp: float
    """Two-sided mid-p, less conservative (Fagerland 2013)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignFlip:
    """Permutation p-values of a mean difference."""

    p_two_sided: float
    p_worse: float
    """One-sided, for a mean below 0."""


def mover_wilson_bounds(gained: int, lost: int, n: int, z: float) -> tuple[float, float]:
    """Bounds of (gained - lost)/n from the Wilson bounds of both discordant proportions.

    Method of variance estimates recovery (Newcombe 1998) with the correlation of the two
    multinomial proportions.

    Args:
        gained: pairs that only the candidate passed.
        lost: pairs that only the baseline passed.
        n: all pairs, above 0.
        z: normal quantile.
    """
    up, down = gained / n, lost / n
    up_low, up_high = wilson_bounds(up, n, z)
    down_low, down_high = wilson_bounds(down, n, z)
    spread = math.sqrt(up * (1 - up) * down * (1 - down))
    rho = -up * down / spread if spread > 0 else 0.0

    def distance(a: float, b: float) -> float:
        return math.sqrt(max(0.0, a * a + b * b - 2 * rho * a * b))

    diff = (gained - lost) / n
    low = diff - distance(up - up_low, down_high - down)
    high = diff + distance(up_high - up, down - down_low)
    return max(-1.0, low), min(1.0, high)


def paired_difference(
    base: Sequence[float],
    cand: Sequence[float],
    scale: MetricScale = UNIT,
    *,
    clusters: ClusterIds | None = None,
    confidence: float = 0.95,
    sided: Sided = 2,
) -> PairedDifference:
    """Mean paired difference and its interval.

    Args:
        base: baseline values, one per pair.
        cand: candidate values in the same order.
        scale: of the metric; unbounded: bootstrap on pairs; binary: MOVER-Wilson, as long as no
            cluster holds two pairs; otherwise the plus-two t on the differences.
        clusters: one id per pair.
        confidence: 0 to 1.
        sided: 2 for reports, 1 for gates.

    >>> lost, gained = [1] * 7 + [0] * 2, [0] * 7 + [1] * 2
    >>> found = paired_difference(
    ...     lost + [1] * 41, gained + [1] * 41, MetricScale(binary=True), sided=1
    ... )
    >>> found.diff, round(found.interval.low, 3), round(found.interval.high, 4)
    (-0.1, -0.205, 0.0005)
    """
    if len(base) != len(cand):
        raise ValueError(f"{len(base)} baseline values for {len(cand)} candidate values")
    diffs = [c - b for b, c in zip(base, cand, strict=True)]
    n, sample, span = len(diffs), cluster_sums(diffs, clusters), scale.span
    alone = 0 < n == sample.n_clusters
    if span is not None and scale.binary and alone and is_binary((*base, *cand)):
        z = normal_quantile(tail_level(confidence, sided))
        gained, lost = sum(d > 0 for d in diffs), sum(d < 0 for d in diffs)
        low, high = mover_wilson_bounds(gained, lost, n, z)
        se = (high - low) / 2 / z
        interval = Interval(low=low, high=high, method="mover_wilson", se=se, detectable_se=se)
    else:
        both = MetricScale(None if span is None else -span, span)
        interval = mean_interval(sample, both, confidence=confidence, sided=sided)
    return PairedDifference(n=n, diff=fmean(diffs), interval=interval)


def mcnemar(gained: int, lost: int) -> McNemar:
    """Exact McNemar test: binomial on the discordant pairs (McNemar 1947; Fagerland 2013).

    Without discordant pairs, every p is 1.

    >>> mcnemar(2, 7).p_two_sided
    0.1796875
    """
    m, few = gained + lost, min(gained, lost)
    if m == 0:
        return McNemar(p_two_sided=1.0, p_worse=1.0, p_midp=1.0)
    # Integer counts of sign patterns, so that no float rounds before the last division.
    at_most_few, point = _patterns(m, few)
    at_least_lost = _patterns(m, gained)[0]  # by symmetry
    exact = min(2 * at_most_few, 2**m)
    # The middle term belongs to both tails at once when they meet.
    middle = point / 2**m / (2 if gained == lost else 1)
    return McNemar(
        p_two_sided=exact / 2**m,
        p_worse=at_least_lost / 2**m,
        p_midp=exact / 2**m - middle,
    )


def _patterns(m: int, k: int) -> tuple[int, int]:
    """Count the subsets of m things with at most k, and with exactly k, members."""
    total = exactly = 1
    for i in range(k):
        exactly = exactly * (m - i) // (i + 1)
        total += exactly
    return total, exactly


def sign_flip(diffs: Sequence[float], *, clusters: ClusterIds | None = None) -> SignFlip:
    """Sign-flip permutation test of the mean difference; whole clusters flip together.

    All patterns are counted up to 16 non-zero differences, else 9 999 are drawn and the
    observed one is added. No non-zero difference: p = 1.

    >>> sign_flip([-0.2, 0, 0, -0.2, 0, 0, 0, -0.2, 0, 0]).p_two_sided
    0.25
    """
    sums = (math.fsum(diffs[i] for i in g) for g in cluster_indices(len(diffs), clusters))
    # In the order of size, so that draws do not depend on the order of the cases.
    moved = sorted(s for s in sums if abs(s) > _NOISE)
    if not moved:
        return SignFlip(p_two_sided=1.0, p_worse=1.0)
    observed = math.fsum(moved)
    # Sums that differ only by rounding are ties, and ties count.
    slack = 1e-9 * math.fsum(abs(s) for s in moved)
    sizes = [abs(s) for s in moved]
    exact = len(sizes) <= 16
    totals, extra = [0.0], 0
    if exact:
        for size in sizes:
            totals = [total + signed for total in totals for signed in (size, -size)]
    else:
        totals, extra = _drawn_totals(sizes), 1
    count = len(totals) + extra
    as_low = sum(t <= observed + slack for t in totals) + extra
    as_far = sum(abs(t) >= abs(observed) - slack for t in totals) + extra
    return SignFlip(p_two_sided=as_far / count, p_worse=as_low / count)


def _drawn_totals(sizes: Sequence[float]) -> list[float]:
    draw, whole = random.Random(_SEED), sum(sizes)
    # A random byte holds eight signs, whose sums are tabulated: drawing each sign alone is many
    # times slower, and a comparison has dozens of metrics.
    tables = [_sums_by_byte(sizes[i : i + 8]) for i in range(0, len(sizes), 8)]
    tosses = (draw.randbytes(len(tables)) for _ in range(9_999))
    return [2 * sum(map(getitem, tables, toss)) - whole for toss in tosses]


def _sums_by_byte(sizes: Sequence[float]) -> list[float]:
    """For each byte the sum of the sizes at its set bits; the rest of a short list counts 0."""
    sums = [0.0]
    for size in (*sizes, *[0.0] * (8 - len(sizes))):
        sums += [total + size for total in sums]
    return sums


# --- number of cases and of tests -------------------------------------------------------------


def minimum_detectable_effect(
    se: float | None, *, confidence: float = 0.95, power: float = POWER, widest: float = math.inf
) -> float | None:
    """Smallest true difference that a one-sided check detects with probability ``power``.

    Args:
        se: one-sided half-width over the normal quantile (``Interval.detectable_se``); None:
            unknown, and so is the effect.
        confidence: one-sided, 0 to 1.
        power: 0 to 1.
        widest: largest difference that the scale allows; an effect above it is None.

    >>> round(minimum_detectable_effect(0.35 / 50**0.5), 3)
    0.123
    """
    if se is None:
        return None
    effect = (normal_quantile(confidence) + normal_quantile(power)) * se
    return effect if effect <= widest else None


def required_n(
    sd: float, difference: float, *, confidence: float = 0.95, power: float = POWER
) -> int | None:
    """Cases needed to detect ``difference``; None for a difference of 0, which cannot be detected.

    Args:
        sd: standard deviation of one case's value or difference.
        difference: the smallest that matters, either sign.
        confidence: one-sided, 0 to 1.
        power: 0 to 1.

    >>> required_n(0.35, 0.05)
    303
    """
    if difference == 0:
        return None
    z = normal_quantile(confidence) + normal_quantile(power)
    return math.ceil((z * sd / difference) ** 2)


def holm(ps: Sequence[float]) -> list[float]:
    """Adjusted p-values that bound the chance of any false alarm (Holm 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    m = len(ps)
    adjusted = [0.0] * m
    highest = 0.0
    for rank, i in enumerate(sorted(range(m), key=lambda i: ps[i])):
        highest = max(highest, min(1.0, (m - rank) * ps[i]))
        adjusted[i] = highest
    return adjusted


def holm_factors(ps: Sequence[float]) -> list[float]:
    """Return by how much Holm's method multiplies each p, at least 1, even above a p of 1.

    A test at level alpha / factor decides as the adjusted p does at alpha.

    >>> holm_factors([0.01, 0.04, 0.03])
    [3.0, 1.5, 2.0]
    """
    m = len(ps)
    factors = [1.0] * m
    highest = 0.0
    for rank, i in enumerate(sorted(range(m), key=lambda i: ps[i])):
        highest = max(highest, (m - rank) * ps[i])
        factors[i] = highest / ps[i] if ps[i] > 0 else float(m - rank)
    return factors


def benjamini_hochberg(ps: Sequence[float]) -> list[float]:
    """Adjusted p-values that bound the share of false alarms (Benjamini and Hochberg 1995).

    >>> [round(p, 9) for p in benjamini_hochberg([0.01, 0.04, 0.03])]
    [0.03, 0.04, 0.04]
    """
    m = len(ps)
    adjusted = [0.0] * m
    lowest = 1.0
    for rank, i in enumerate(sorted(range(m), key=lambda i: -ps[i])):
        lowest = min(lowest, ps[i] * m / (m - rank))
        adjusted[i] = lowest
    return adjusted
