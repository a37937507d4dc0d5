"""Intervals and paired tests by definition: from scipy, by solving, by listing every outcome."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from scipy import stats

Values = dict[str, Any]
Floats = Sequence[float]
Clusters = Sequence[str | None] | None

SLACK = 1e-9
NOTHING: Values = {"low": None, "high": None}


# --- one mean -------------------------------------------------------------------------------------


def score_interval(p: float, n: int, z: float) -> tuple[float, float]:
    """Solve (p - x)² = z² x (1 - x) / n for x: the ends of the score interval."""
    low, high = sorted(np.roots([1 + z * z / n, -(2 * p + z * z / n), p * p]).real)
    return max(0.0, float(low)), min(1.0, float(high))


def wilson(k: int, n: int, conf: float = 0.95) -> Values:
    if n == 0:
        return NOTHING
    found = stats.binomtest(k, n).proportion_ci(conf, method="wilson")
    return {"low": float(found.low), "high": float(found.high)}


def clopper_pearson(k: int, n: int, conf: float = 0.95) -> Values:
    if n == 0:
        return NOTHING
    found = stats.binomtest(k, n).proportion_ci(conf, method="exact")
    return {"low": float(found.low), "high": float(found.high)}


def beta_credible(k: int, n: int, conf: float = 0.95) -> Values:
    low, high = stats.beta.interval(conf, k + 1, n - k + 1)
    return {"low": float(low), "high": float(high)}


def labels(n: int, clusters: Clusters) -> list[str]:
    """One name a case; a case without a cluster is its own."""
    named = [None] * n if clusters is None else clusters
    return [f"own {i}" if c is None else f"cluster {c}" for i, c in enumerate(named)]


def alone(n: int, clusters: Clusters) -> bool:
    return len(set(labels(n, clusters))) == n


def one_repeat(values: Floats) -> bool:
    """Whether every value can be one outcome of a binary metric, not a mean of repeats."""
    return set(values) <= {0, 1}


def cluster_sums(values: Iterable[float], names: Sequence[str]) -> dict[str, float]:
    sums = dict.fromkeys(names, 0.0)
    for value, name in zip(values, names, strict=True):
        sums[name] += value
    return sums


def clustered_se(values: Floats, clusters: Clusters) -> Values:
    n = len(values)
    if n == 0:
        return {"mean": None, "se": None, "n_clusters": 0}
    mean = math.fsum(values) / n
    sums = cluster_sums([x - mean for x in values], labels(n, clusters))
    groups = len(sums)
    found: Values = {"mean": mean, "n_clusters": groups, "se": None}
    if groups >= 2:
        squares = math.fsum(s * s for s in sums.values())
        found |= {"df": groups - 1, "se": math.sqrt(groups / (groups - 1) * squares) / n}
    return found


def plus_two(
    values: Floats, lo: float, hi: float, clusters: Clusters, tail: float
) -> tuple[float, float] | None:
    """Carry the two pseudo-cases as two more weighted rows, each its own cluster."""
    names = labels(len(values), clusters)
    groups, n = len(set(names)), len(values)
    if groups < 2:
        return None
    extra = math.sqrt(n / groups)
    xs = np.array([*values, lo, hi], dtype=float)
    weights = np.array([1.0] * n + [extra, extra])
    centre = float(np.average(xs, weights=weights))
    sums = cluster_sums(weights * (xs - centre), [*names, "pseudo low", "pseudo high"])
    spread = groups / (groups - 1) * sum(s * s for s in sums.values()) / weights.sum() ** 2
    half = float(stats.t.ppf(1 - tail, groups - 1)) * math.sqrt(spread)
    return max(lo, centre - half), min(hi, centre + half)


def tail_of(conf: float, sided: int) -> float:
    return (1 - conf) / sided


def mean_interval(
    values: Floats,
    lo: float = 0,
    hi: float = 1,
    clusters: Clusters = None,
    binary: bool = False,
    conf: float = 0.95,
    sided: int = 2,
) -> Values:
    n, tail = len(values), tail_of(conf, sided)
    found: Values = NOTHING | {"mean": math.fsum(values) / n if n else None}
    if n and binary and one_repeat(values) and alone(n, clusters):
        low, high = score_interval(sum(values) / n, n, stats.norm.ppf(1 - tail))
        return found | {"low": low, "high": high, "method": "wilson"}
    ends = plus_two(values, lo, hi, clusters, tail)
    if ends is None:
        return found
    return found | {"low": ends[0], "high": ends[1], "method": "plus_two"}


def quantile_ci(xs: Floats, p: float, conf: float = 0.95) -> Values:
    """Take the order statistics whose binomial tails fit, adding the tails term by term."""
    ordered, n, tail = sorted(xs), len(xs), Fraction(str(round(1 - conf, 12))) / 2
    exact = Fraction(str(p))
    below = Fraction(0)
    low = high = None
    for j in range(1, n + 1):
        below += math.comb(n, j - 1) * exact ** (j - 1) * (1 - exact) ** (n - j + 1)
        if below <= tail:
            low = ordered[j - 1]
        if high is None and below >= 1 - tail:
            high = ordered[j - 1]
    return {"low": low, "high": high}


def bootstrap_ends(
    values: Floats, clusters: Clusters = None, conf: float = 0.95, draws: int = 10_000
) -> Values:
    """Range of a correct percentile bootstrap: exact quantiles, five deviations apart.

    Returns ``low`` and ``high`` as pairs of allowed ends, from every resample of few clusters.
    """
    names = labels(len(values), clusters)
    totals, sizes = cluster_sums(values, names), cluster_sums([1.0] * len(values), names)
    pieces = [(totals[name], sizes[name]) for name in totals]
    means = sorted(
        sum(total for total, _ in drawn) / sum(size for _, size in drawn)
        for drawn in product(pieces, repeat=len(pieces))
    )

    def between(share: float) -> tuple[float, float]:
        noise = 5 * math.sqrt(share * (1 - share) / draws) + 1 / draws
        ends = [share - noise, share + noise]
        first, last = (min(len(means) - 1, max(0, int(e * len(means)))) for e in ends)
        return means[first] - SLACK, means[last] + SLACK

    tail = (1 - conf) / 2
    return {"low": between(tail), "high": between(1 - tail)}


# --- paired differences ---------------------------------------------------------------------------


def difference_bounds(
    diffs: Floats, lo: float, hi: float, discordant: bool, clusters: Clusters, tail: float
) -> tuple[float, float, str] | None:
    if diffs and discordant and alone(len(diffs), clusters):
        return *mover(diffs, float(stats.norm.ppf(1 - tail))), "mover_wilson"
    ends = plus_two(diffs, lo - hi, hi - lo, clusters, tail)
    return None if ends is None else (*ends, "plus_two")


def mover(diffs: Floats, z: float) -> tuple[float, float]:
    n = len(diffs)
    gained, lost = sum(d > 0 for d in diffs) / n, sum(d < 0 for d in diffs) / n
    (gained_low, gained_high), (lost_low, lost_high) = (
        score_interval(gained, n, z),
        score_interval(lost, n, z),
    )
    scale = math.sqrt(gained * (1 - gained) * lost * (1 - lost))
    rho = -gained * lost / scale if scale else 0.0

    def reach(one: float, other: float) -> float:
        return math.sqrt(one**2 + other**2 - 2 * rho * one * other)

    low = gained - lost - reach(gained - gained_low, lost_high - lost)
    return low, gained - lost + reach(gained_high - gained, lost - lost_low)


def paired_diff(
    base: Floats,
    cand: Floats,
    lo: float = 0,
    hi: float = 1,
    binary: bool = False,
    clusters: Clusters = None,
    conf: float = 0.95,
    sided: int = 2,
) -> Values:
    diffs = [c - b for b, c in zip(base, cand, strict=True)]
    mean = math.fsum(diffs) / len(diffs) if diffs else None
    found: Values = NOTHING | {"diff": mean, "n": len(diffs)}
    discordant = binary and one_repeat([*base, *cand])
    ends = difference_bounds(diffs, lo, hi, discordant, clusters, tail_of(conf, sided))
    if ends is None:
        return found
    return found | {"low": ends[0], "high": ends[1], "method": ends[2]}


def mcnemar(gained: int, lost: int) -> Values:
    """Go through every split of the discordant pairs."""
    n = gained + lost
    if n == 0:
        return {"p_two_sided": 1.0, "p_worse": 1.0, "p_midp": 1.0}
    seen = min(math.comb(n, gained), math.comb(n, lost))
    worse = two = mid = Fraction(0)
    for split in range(n + 1):
        weight = Fraction(math.comb(n, split), 2**n)
        worse += weight if split >= lost else 0
        two += weight if math.comb(n, split) <= seen else 0
        mid += weight if math.comb(n, split) < seen else 0
        mid += weight / 2 if math.comb(n, split) == seen else 0
    return {"p_two_sided": float(two), "p_worse": float(worse), "p_midp": float(mid)}


def sign_flip(diffs: Floats, clusters: Clusters = None) -> Values:
    """Flip every non-zero cluster both ways, in exact decimal arithmetic."""
    moved = flip_units(diffs, clusters)
    total = sum(moved, Fraction(0))
    flips = [
        sum((s * x for s, x in zip(signs, moved, strict=True)), Fraction(0))
        for signs in product((1, -1), repeat=len(moved))
    ]
    return {
        "p_two_sided": sum(abs(f) >= abs(total) for f in flips) / len(flips),
        "p_worse": sum(f <= total for f in flips) / len(flips),
    }


def flip_units(diffs: Floats, clusters: Clusters = None) -> list[Fraction]:
    """Sum the differences of each cluster, as the decimals they were written as."""
    names = labels(len(diffs), clusters)
    sums = dict.fromkeys(names, Fraction(0))
    for name, d in zip(names, diffs, strict=True):
        sums[name] += Fraction(str(round(d, 9)))
    return [s for s in sums.values() if s]


def flip_p_by_convolution(units: Sequence[Fraction]) -> tuple[float, float]:
    """Two-sided and one-sided p of many units on a common grid, outcome by outcome."""
    outcomes = {Fraction(0): 1}
    for unit in units:
        grown: dict[Fraction, int] = {}
        for value, count in outcomes.items():
            for moved in (value + unit, value - unit):
                grown[moved] = grown.get(moved, 0) + count
        outcomes = grown
    total, every = sum(units, Fraction(0)), 2 ** len(units)
    two = sum(c for v, c in outcomes.items() if abs(v) >= abs(total))
    return two / every, sum(c for v, c in outcomes.items() if v <= total) / every
