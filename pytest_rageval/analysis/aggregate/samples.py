"""The scored values of a metric over some cases, as means and intervals need them."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from math import fsum, inf, isfinite, nan
from statistics import median
from typing import Final

# A scored value is finite, so two other floats can encode the reason for a missing one.
NOT_APPLICABLE: Final = nan
ERROR: Final = inf

_MANY: Final = 2_000
"""Cases from which arrays are faster even though numpy takes long to import."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePart:
    """Some cases of a table."""

    cases: array[int]
    """Indices in the table."""
    clusters: array[int]
    once: bool
    """Whether each of them was asked once."""


class ColumnSample:
    """The scored values of a column with the codes of their clusters.

    Args:
        column: finite, `NOT_APPLICABLE` or `ERROR`.
        clusters: code of the cluster of each value.
    """

    def __init__(self, column: Sequence[float], clusters: Sequence[int]) -> None:
        self._values = list(filter(isfinite, column))
        if len(self._values) < len(column):
            clusters = list(compress(clusters, map(isfinite, column)))
        self._clusters = clusters
        self._distinct = set(clusters)
        self.n = len(self._values)
        self.n_error = column.count(ERROR)
        self.n_clusters = len(self._distinct)
        self.total = fsum(self._values)

    @property
    def median(self) -> float:
        """Median of the values, of which there is at least one."""
        return median(self._values)

    @property
    def is_binary(self) -> bool:
        """Whether every value is 0 or 1."""
        return {0.0, 1.0}.issuperset(self._values)

    @property
    def pieces(self) -> Sequence[tuple[float, int]]:
        """Sum and size of each cluster, in order of first appearance."""
        return _pieces(self._values, self._clusters)

    def squares_about(self, centre: float) -> float:
        """Sum over clusters of (sum - size x ``centre``) squared."""
        totals: Iterable[float] = [value - centre for value in self._values]
        if self.n_clusters < self.n:
            sums = dict.fromkeys(self._distinct, 0.0)
            for cluster, off in zip(self._clusters, totals, strict=True):
                sums[cluster] += off
            totals = sums.values()
        return fsum([total * total for total in totals])


class ArraySample:
    """A `ColumnSample` of many values: the same numbers to the last digit, in arrays.

    Args:
        column: every value of the table.
        part: the cases whose values count.
    """

    def __init__(self, column: array[float], part: CasePart) -> None:
        import numpy as np

        values, clusters = np.asarray(column)[np.asarray(part.cases)], np.asarray(part.clusters)
        self.n_error = int(np.count_nonzero(values == ERROR))
        scored = np.isfinite(values)
        self._values, self._clusters = values[scored], clusters[scored]
        self.n = len(self._values)
        self.n_clusters = int(np.count_nonzero(np.bincount(self._clusters)))
        self.is_binary = bool(((self._values == 0) | (self._values == 1)).all())
        """Whether every value is 0 or 1."""
        ones = np.count_nonzero(self._values)
        self.total = float(ones) if self.is_binary else fsum(self._values.tolist())

    @property
    def median(self) -> float:
        """Median of the values, of which there is at least one."""
        import numpy as np

        middle = self.n // 2
        ordered = np.partition(self._values, [(self.n - 1) // 2, middle])
        high = float(ordered[middle])
        return high if self.n % 2 else (float(ordered[middle - 1]) + high) / 2

    @property
    def pieces(self) -> Sequence[tuple[float, int]]:
        """Sum and size of each cluster, in order of first appearance."""
        return _pieces(self._values.tolist(), self._clusters.tolist())

    def squares_about(self, centre: float) -> float:
        """Sum over clusters of (sum - size x ``centre``) squared."""
        import numpy as np

        totals = self._values - centre
        if self.n_clusters < self.n:  # each is added in the order of the cases
            totals = np.bincount(self._clusters, weights=totals)
        return fsum((totals * totals).tolist())


def _pieces(values: Iterable[float], clusters: Iterable[int]) -> list[tuple[float, int]]:
    groups = defaultdict[int, list[float]](list)
    for value, cluster in zip(values, clusters, strict=True):
        groups[cluster].append(value)
    return [(fsum(group), len(group)) for group in groups.values()]


def sample_of(column: array[float], part: CasePart) -> ColumnSample | ArraySample:
    """Return the sample of some cases of a table.

    Args:
        column: the metric's value of every case of the table.
        part: the cases.
    """
    if len(part.cases) >= _MANY:
        return ArraySample(column, part)
    return ColumnSample([column[case] for case in part.cases], part.clusters)
