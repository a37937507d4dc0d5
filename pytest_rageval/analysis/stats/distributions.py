"""Quantiles and tails of distributions, and samples in clusters.

One continued fraction, that of the incomplete beta function, serves Student t, beta and binomial.
Questions about one document are correlated, so a sample is reduced to the sum and size of each
cluster, which determine the error of its mean; without clusters each value is one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Protocol

_TINY = 1e-300


def normal_quantile(p: float) -> float:
    """Standard normal quantile of ``p``, 0 < p < 1."""
    return NormalDist().inv_cdf(p)


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method."""
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1)
    d = 1.0 / (d if abs(d) > _TINY else _TINY)
    value = d
    for m in range(1, 100_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        step = 1.0
        for term in (even, odd):
            d = 1.0 + term * d
            d = 1.0 / (d if abs(d) > _TINY else _TINY)
            c = 1.0 + term / c
            c = c if abs(c) > _TINY else _TINY
            step = c * d
            value *= step
        if abs(step - 1.0) <= 2 * 1e-16:
            break
    return value


def beta_cdf(x: float, a: float, b: float) -> float:
    """Regularised incomplete beta function I_x(a, b): P(X <= x) for X ~ Beta(a, b).

    Args:
        x: the point; outside 0 to 1 the answer is 0 or 1.
        a: first shape, above 0.
        b: second shape, above 0.
    """
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    log_front = (
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    front = math.exp(log_front)
    # The fraction converges fast only on this side of the mean; the other side is symmetric.
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(a, b, x) / a
    return 1.0 - front * _beta_fraction(b, a, 1.0 - x) / b


def bisect(is_left: Callable[[float], bool], low: float, high: float) -> float:
    """Return the point where ``is_left`` turns false, to the precision of floats."""
    while True:
        middle = 0.5 * (low + high)
        if middle in {low, high}:
            return middle
        if is_left(middle):
            low = middle
        else:
            high = middle


def beta_quantile(p: float, a: float, b: float) -> float:
    """The x with P(X <= x) = p for X ~ Beta(a, b), 0 < p < 1."""
    return bisect(lambda x: beta_cdf(x, a, b) < p, 0.0, 1.0)


def student_t_tail(t: float, df: float) -> float:
    """P(T > t) of Student's t with ``df`` > 0 degrees of freedom."""
    if math.isinf(t):
        return 0.0 if t > 0 else 1.0
    square = t * t
    if square < df:
        # Near the centre df/(df + t^2) rounds to 1 and would lose t altogether.
        half = 0.5 * (1.0 - beta_cdf(square / (df + square), 0.5, df / 2))
    else:
        half = 0.5 * beta_cdf(df / (df + square), df / 2, 0.5)
    return half if t >= 0 else 1.0 - half


@lru_cache(maxsize=4096)
def student_t_quantile(p: float, df: float) -> float:
    """The t with P(T <= t) = p, 0 < p < 1, ``df`` > 0.

    Cached: a run asks for the same few degrees of freedom once per metric and group.
    """
    if p == 0.5:
        return 0.0
    if p < 0.5:
        return -student_t_quantile(1.0 - p, df)
    tail, bound = 1.0 - p, 1.0
    while student_t_tail(bound, df) > tail:
        bound *= 2.0
    return bisect(lambda t: student_t_tail(t, df) > tail, 0.0, bound)


def binomial_cdf(k: int, n: int, p: float) -> float:
    """P(B <= k) for B ~ Binomial(n, p)."""
    if k < 0:
        return 0.0
    if k >= n:
        return 1.0
    return beta_cdf(1.0 - p, n - k, k + 1)


ClusterIds = Sequence[Hashable | None]
"""One per value; None: the value is a cluster of its own."""


class ClusteredSample(Protocol):
    """Interface of a sample for intervals."""

    @property
    def n(self) -> int:
        """Number of values."""

    @property
    def n_clusters(self) -> int:
        """Number of clusters, at most ``n``."""

    @property
    def total(self) -> float:
        """Sum of all values."""

    @property
    def is_binary(self) -> bool:
        """Whether every value is 0 or 1."""

    @property
    def pieces(self) -> Sequence[tuple[float, int]]:
        """Sum and size of each cluster, in order of first appearance."""

    def squares_about(self, centre: float) -> float:
        """Sum over clusters of (sum of the cluster's values - size x ``centre``) squared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSums:
    """A `ClusteredSample` of which only the sums and sizes of clusters are left."""

    n: int
    total: float
    is_binary: bool
    pieces: Sequence[tuple[float, int]]

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.pieces)

    def squares_about(self, centre: float) -> float:
        """Sum over clusters of (sum - size x ``centre``) squared."""
        return math.fsum((total - size * centre) ** 2 for total, size in self.pieces)


def is_binary(values: Iterable[float]) -> bool:
    """Whether every value is 0 or 1."""
    return all(value == 0 or value == 1 for value in values)


def cluster_indices(n: int, clusters: ClusterIds | None) -> list[list[int]]:
    """Positions 0..n-1 grouped by cluster, in order of first appearance.

    Raises:
        ValueError: there are not as many cluster ids as values.
    """
    if clusters is None:
        return [[i] for i in range(n)]
    if len(clusters) != n:
        raise ValueError(f"{len(clusters)} cluster ids for {n} values")
    alone: list[list[int]] = []
    groups = defaultdict[Hashable, list[int]](list)
    for i, cluster in enumerate(clusters):
        if cluster is None:
            alone.append([i])
        else:
            groups[cluster].append(i)
    return [*groups.values(), *alone]


def cluster_sums(values: Sequence[float], clusters: ClusterIds | None = None) -> ClusterSums:
    """Reduce values to the sums and sizes of their clusters.

    >>> cluster_sums([1, 0, 1], ["a", "a", None]).pieces
    [(1.0, 2), (1.0, 1)]
    """
    groups = cluster_indices(len(values), clusters)
    return ClusterSums(
        n=len(values),
        total=math.fsum(values),
        is_binary=is_binary(values),
        pieces=[(math.fsum([values[i] for i in group]), len(group)) for group in groups],
    )
