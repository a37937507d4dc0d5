"""Agreement between raters, and between a judge and people.

Defined in docs/statistics.md#agreement-with-people.
"""

from __future__ import annotations

import math
import random
import statistics
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_rageval.analysis.stats.distributions import cluster_indices
from pytest_rageval.analysis.stats.intervals import (
    BOOTSTRAP_SEED,
    NO_INTERVAL,
    Interval,
    fmean,
    percentile,
    tail_level,
    wilson,
)

Weights = Literal["linear", "quadratic"]
Level = Literal["nominal", "ordinal", "interval"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionRecall:
    """Precision, recall and F1 of one class; None: 0/0."""

    precision: float | None
    recall: float | None
    f1: float | None
    precision_interval: Interval
    """Wilson, two-sided 95 %."""
    recall_interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Auroc:
    """Discrimination of a score."""

    auroc: float | None
    """Macro mean over the sources with both labels."""
    auroc_pooled: float | None
    """Over all rows at once."""
    n_sources: int


def kappa(
    a: Sequence[float],
    b: Sequence[float],
    *,
    categories: Sequence[float],
    weights: Weights | None = None,
) -> float | None:
    """Cohen's kappa of two raters, weighted by rank distance if asked (= scikit-learn).

    Args:
        a: ratings of the first rater.
        b: ratings of the second, of the same things.
        categories: the whole scale in order, not the values seen.
        weights: None counts every disagreement alike; ``linear``, ``quadratic``.

    Returns:
        At most 1; None: no rating, or all ratings equal, so that no disagreement was possible.

    Raises:
        ValueError: a rating is not one of the categories, or the lengths differ.

    >>> round(kappa([5, 4, 2, 0, 5, 3], [5, 3, 2, 1, 5, 4], categories=range(6)), 3)
    0.379
    """
    place = {category: i for i, category in enumerate(categories)}
    strangers = {*a, *b} - place.keys()
    if strangers:
        raise ValueError(f"ratings {sorted(strangers)} are not among {list(categories)}")
    weigh: Callable[[int, int], float] = {
        None: lambda i, j: float(i != j),
        "linear": lambda i, j: abs(i - j),
        "quadratic": lambda i, j: (i - j) ** 2,
    }[weights]
    pairs = [(place[x], place[y]) for x, y in zip(a, b, strict=True)]
    rows, columns = Counter(i for i, _ in pairs), Counter(j for _, j in pairs)
    seen = math.fsum(weigh(i, j) for i, j in pairs) * len(pairs)
    chance = math.fsum(weigh(i, j) * rows[i] * columns[j] for i in rows for j in columns)
    return 1 - seen / chance if chance else None


def krippendorff_alpha(
    data: Sequence[Sequence[float | None]], *, level: Level = "ordinal"
) -> float | None:
    """Krippendorff's alpha for any number of raters with gaps (= krippendorff 0.9).

    Args:
        data: one row per rater, one column per thing rated; None: not rated.
        level: scale of measurement, which defines the distance of two values.

    Returns:
        At most 1; None: nothing was rated twice, or only one value was used.
    """
    units = [[v for v in column if v is not None] for column in zip(*data, strict=True)]
    paired = [unit for unit in units if len(unit) > 1]
    totals = Counter(v for unit in paired for v in unit)
    n = sum(totals.values())
    rank = _rank_by_value(totals)
    distance: Callable[[float, float], float] = {
        "nominal": lambda x, y: float(x != y),
        "interval": lambda x, y: (x - y) ** 2,
        "ordinal": lambda x, y: (rank[x] - rank[y]) ** 2,
    }[level]
    seen = math.fsum(
        distance(x, y) * cx * cy / (len(unit) - 1)
        for unit in paired
        for x, cx in Counter(unit).items()
        for y, cy in Counter(unit).items()
    )
    chance = math.fsum(
        distance(x, y) * cx * cy for x, cx in totals.items() for y, cy in totals.items()
    )
    return 1 - (n - 1) * seen / chance if chance else None


def _rank_by_value(counts: Mapping[float, int]) -> dict[float, float]:
    rank, running = {}, 0
    for value in sorted(counts):
        rank[value] = running + (counts[value] + 1) / 2
        running += counts[value]
    return rank


def average_ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1; ties share the mean of their places."""
    rank = _rank_by_value(Counter(values))
    return [rank[v] for v in values]


def spearman(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Spearman's rank correlation with average ranks, -1 to 1; None: one side is constant."""
    if len(a) != len(b):
        raise ValueError(f"{len(a)} values against {len(b)}")
    try:
        return statistics.correlation(average_ranks(a), average_ranks(b))
    except statistics.StatisticsError:
        return None


def _auroc(rows: Iterable[tuple[float, bool]]) -> float | None:
    seen = list(rows)
    ranks = average_ranks([score for score, _ in seen])
    good = sum(label for _, label in seen)
    bad = len(seen) - good
    if not good or not bad:
        return None
    total = math.fsum(r for r, (_, label) in zip(ranks, seen, strict=True) if label)
    return (total - good * (good + 1) / 2) / (good * bad)


def auroc(
    scores: Sequence[float], labels: Sequence[bool], *, sources: Sequence[Hashable] | None = None
) -> Auroc:
    """Probability that a good answer scores above a bad one, ties half (Mann-Whitney).

    Args:
        scores: higher means more likely good.
        labels: whether it is good.
        sources: source of each row; None: a single source.

    >>> auroc([0.9, 0.4, 0.4], [True, True, False]).auroc
    0.75
    """
    rows = list(zip(scores, (bool(label) for label in labels), strict=True))
    by_source: dict[Hashable, list[tuple[float, bool]]] = {}
    for row, source in zip(rows, sources or [None] * len(rows), strict=True):
        by_source.setdefault(source, []).append(row)
    known = [v for part in by_source.values() if (v := _auroc(part)) is not None]
    return Auroc(auroc=fmean(known), auroc_pooled=_auroc(rows), n_sources=len(known))


def precision_recall_f1(truth: Sequence[bool], predicted: Sequence[bool]) -> PrecisionRecall:
    """Precision, recall and F1 of the class that is True, such as "bad answer".

    Args:
        truth: what people say.
        predicted: what the judge says at its threshold.
    """
    pairs = Counter((bool(t), bool(p)) for t, p in zip(truth, predicted, strict=True))
    hits, missed, wrong = pairs[True, True], pairs[True, False], pairs[False, True]

    def share(part: float, whole: float) -> float | None:
        return part / whole if whole else None

    return PrecisionRecall(
        precision=share(hits, hits + wrong),
        recall=share(hits, hits + missed),
        f1=share(2 * hits, 2 * hits + wrong + missed),
        precision_interval=wilson(hits, hits + wrong),
        recall_interval=wilson(hits, hits + missed),
    )


def bootstrap_agreement(
    a: Sequence[float],
    b: Sequence[float],
    statistic: Callable[[Sequence[float], Sequence[float]], float | None],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
) -> Interval:
    """Percentile bootstrap of an agreement such as kappa, resampling whole clusters.

    Resamples in which the statistic is undefined are left out; fewer than two clusters, or
    fewer than half of the resamples defined, have no interval.
    """
    groups = cluster_indices(len(a), clusters)
    if len(groups) < 2:
        return NO_INTERVAL
    draw = random.Random(BOOTSTRAP_SEED)
    found = []
    for _ in range(resamples):
        rows = [i for group in draw.choices(groups, k=len(groups)) for i in group]
        value = statistic([a[i] for i in rows], [b[i] for i in rows])
        if value is not None:
            found.append(value)
    if len(found) < resamples / 2:
        return NO_INTERVAL
    tail = 100 * (1 - tail_level(confidence, 2))
    low, high = percentile(found, tail), percentile(found, 100 - tail)
    return Interval(low=low, high=high, method="bootstrap")
