"""Scores of cases x metrics, the repeats of each case folded into one value.

Aggregate, gate and comparison read their numbers here, so that all mean the same by a case's value.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

import numpy as np
from numpy.typing import NDArray

from pytest_rageval.analysis.aggregate.case_groups import (
    ERROR,
    CaseGroup,
    coded_scores,
    fold_repeats,
)

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


class ScoreTable:
    """Scores of cases: finite, `NOT_APPLICABLE` or `ERROR`.

    Args:
        scores: of rows x metrics; the repeats of a case are next to each other.
        repeats: number of rows of each case.
        keys: the metrics.
    """

    def __init__(self, scores: Floats, repeats: Sequence[int], keys: Sequence[str]) -> None:
        self._scores = scores
        self.repeats: Places = np.array(repeats, dtype=np.intp)
        self._starts = np.cumsum(self.repeats) - self.repeats
        self._places = {key: place for place, key in enumerate(keys)}

    @classmethod
    def of(cls, cases: Sequence[CaseGroup], keys: Sequence[str]) -> ScoreTable:
        """Return some metrics of cases."""
        repeats = [case.unselected for case in cases]
        rows = [coded_scores(record.scores, keys) for case in repeats for record in case]
        scores = np.array(rows, dtype=float).reshape(len(rows), len(keys))
        return cls(scores, [*map(len, repeats)], keys)

    def metric(self, key: str) -> Floats:
        """Return a metric of every case."""
        return self.fold(self._scores[:, self._places[key]])

    def repeated(self, key: str, repeats: int) -> Floats:
        """Return a metric of cases x repeats, of the cases with so many."""
        rows = np.repeat(self.repeats == repeats, self.repeats)
        found: Floats = self._scores[rows, self._places[key]].reshape(-1, repeats)
        return found

    def fold(self, column: Floats | Sequence[float]) -> Floats:
        """Return one value per case, of a column with one per row."""
        column = np.asarray(column, dtype=float)
        folded: Floats = column[self._starts]
        for case in np.flatnonzero(self.repeats > 1):
            start = self._starts[case]
            folded[case] = fold_repeats(column[start : start + self.repeats[case]].tolist())
        return folded


def cluster_codes(clusters: Sequence[str | None]) -> Places:
    """Number the clusters of cases; a case without one is a cluster of its own."""
    codes: dict[object, int] = {}
    return np.array(
        [codes.setdefault(at if c is None else c, len(codes)) for at, c in enumerate(clusters)],
        dtype=np.intp,
    )


class Sample:
    """The scored values of a metric over some cases, a ``ClusteredSample``.

    Args:
        column: finite, `NOT_APPLICABLE` or `ERROR`.
        clusters: number of the cluster of each value.
    """

    def __init__(self, column: Floats, clusters: Places) -> None:
        scored = np.isfinite(column)
        self._values, self._clusters = column[scored], clusters[scored]
        self.n = len(self._values)
        self.n_error = int(np.count_nonzero(column == ERROR))
        self.n_clusters = int(np.count_nonzero(np.bincount(self._clusters)))
        self.is_binary = bool(((self._values == 0) | (self._values == 1)).all())
        """Whether every value is 0 or 1."""
        self.total = fsum(self._values.tolist())

    @property
    def median(self) -> float:
        """Median of the values, of which there is at least one."""
        # As `np.median`, which imports its masked arrays for it.
        low, high = (self.n - 1) // 2, self.n // 2
        return float(np.mean(np.partition(self._values, (low, high))[low : high + 1]))

    @property
    def pieces(self) -> Sequence[tuple[float, int]]:
        """Sum and size of each cluster, in order of first appearance."""
        groups: dict[int, list[float]] = {}
        for value, cluster in zip(self._values.tolist(), self._clusters.tolist(), strict=True):
            groups.setdefault(cluster, []).append(value)
        return [(fsum(group), len(group)) for group in groups.values()]

    def squares_about(self, centre: float) -> float:
        """Sum over clusters of (sum - size x ``centre``) squared."""
        totals: Floats = self._values - centre
        if self.n_clusters < self.n:  # each is added in the order of the cases
            totals = np.bincount(self._clusters, weights=totals).astype(np.float64)
        return fsum((totals * totals).tolist())
