"""Means weighted by traffic: each case counts as the requests of a log that it stands for."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from pytest_rageval.analysis.aggregate.scores import Floats, Places
from pytest_rageval.analysis.aggregate.table import CaseTable
from pytest_rageval.analysis.stats.distributions import student_t_quantile
from pytest_rageval.values.numbers import WeightedMean


def weighted_means(table: CaseTable, confidence: float) -> dict[str, WeightedMean]:
    """Return the weighted mean of each metric by its key; empty: no case has a weight.

    Weights are ``metadata.weight`` of the cases, above 0; a case without one counts once.
    """
    given = [row.weight for row in table.firsts]
    if not any(weight is not None for weight in given):
        return {}
    weights = np.array([1.0 if weight is None else weight for weight in given])
    found = {}
    for key, info in table.metric_infos.items():
        values = table.scores.metric(key)
        applies = np.isfinite(values)
        if applies.any():
            scale = (None, None) if info is None else info.scale
            found[key] = weighted_mean(
                values[applies], weights[applies], table.clusters[applies], scale, confidence
            )
    return found


def weighted_mean(
    values: Floats,
    weights: Floats,
    clusters: Places,
    scale: tuple[float | None, float | None],
    confidence: float,
) -> WeightedMean:
    """Return a weighted mean with its standard error and interval.

    The mean is sum(w x) / sum(w) (Hajek 1971), its standard error that of the linearised ratio over
    G clusters with G / (G - 1). The interval is the plus-two t of as many cases of equal weight as
    say as much, (sum w)^2 / sum w^2 (Kish 1965): both pseudo-cases count as one of them, and the
    degrees of freedom are those of their clusters. A scale without bounds has no interval.

    Args:
        values: at least one.
        weights: of the values, above 0.
        clusters: number of the cluster of each.
        scale: lowest and highest possible value; None: unbounded.
        confidence: of the interval, 0 to 1.
    """
    n, shares = len(values), weights / math.fsum(weights)
    mean = math.fsum(shares * values)
    residuals = np.bincount(np.unique(clusters, return_inverse=True)[1], shares * (values - mean))
    g = len(residuals)
    found = WeightedMean(n=n, mean=mean, clusters=g, n_effective=1 / math.fsum(shares**2))
    if g < 2:
        return found
    variance = g / (g - 1) * math.fsum(residuals**2)
    spread = math.fsum(shares * (values - mean) ** 2) / (n - 1)
    effect = variance / spread if spread else None
    found = replace(found, se=math.sqrt(variance), design_effect=effect)
    return _with_interval(found, scale, confidence)


def _with_interval(
    found: WeightedMean, scale: tuple[float | None, float | None], confidence: float
) -> WeightedMean:
    lo, hi = scale
    if lo is None or hi is None or found.se is None:
        return found
    n, each = found.n_effective, found.n / found.clusters
    g = max(n / each, 1.5)  # clusters of equal weight
    pseudo = math.sqrt(each)
    size = n + 2 * pseudo
    centre = (n * found.mean + pseudo * (lo + hi)) / size
    squares = (n * found.se) ** 2 + n * each * (found.mean - centre) ** 2
    ends = sum((pseudo * (end - centre)) ** 2 for end in (lo, hi))
    se = math.sqrt(squares + ends * g / (g - 1)) / size
    half = student_t_quantile((1 + confidence) / 2, g - 1) * se
    return replace(found, low=max(lo, centre - half), high=min(hi, centre + half))
