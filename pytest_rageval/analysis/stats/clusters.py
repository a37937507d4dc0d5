"""A sample reduced to the sum and size of each cluster, which determine the error of its mean.

Questions about one document are correlated, so errors are computed over clusters; a
sample without clusters has one value in each.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol

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

    def squares_about(self, centre: float) -> float:
        """Sum over clusters of (sum of the cluster's values - size x ``centre``) squared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSums:
    """The sums and sizes of clusters, in any order."""

    total: float
    sums: Sequence[float]
    sizes: Sequence[int]

    @property
    def n(self) -> int:
        """Number of values."""
        return sum(self.sizes)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.sizes)

    def squares_about(self, centre: float) -> float:
        """Sum over clusters of (sum - size x ``centre``) squared."""
        pairs = zip(self.sums, self.sizes, strict=True)
        return math.fsum((total - size * centre) ** 2 for total, size in pairs)


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
    groups: dict[Hashable, list[int]] = {}
    for i, cluster in enumerate(clusters):
        if cluster is None:
            alone.append([i])
        else:
            groups.setdefault(cluster, []).append(i)
    return [*groups.values(), *alone]


def cluster_sums(values: Sequence[float], clusters: ClusterIds | None = None) -> ClusterSums:
    """Reduce values to the sums and sizes of their clusters.

    >>> cluster_sums([1, 0, 1], ["a", "a", None])
    ClusterSums(total=2.0, sums=[1.0, 1.0], sizes=[2, 1])
    """
    groups = cluster_indices(len(values), clusters)
    return ClusterSums(
        total=math.fsum(values),
        sums=[math.fsum(values[i] for i in group) for group in groups],
        sizes=[len(group) for group in groups],
    )
