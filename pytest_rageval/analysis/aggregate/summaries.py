"""One metric over many cases: its mean with counts and intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pytest_rageval.analysis.aggregate.case_groups import CaseValue
from pytest_rageval.analysis.aggregate.columns import (
    ERROR,
    NOT_APPLICABLE,
    ArraySample,
    CaseTable,
    Floats,
    Integers,
)
from pytest_rageval.analysis.stats.intervals import (
    Interval,
    bootstrap_mean,
    sample_interval,
    sample_se,
)
from pytest_rageval.metrics.registry import MetricInfo
from pytest_rageval.values.numbers import MetricSummary


def summarise_metric(
    values: Sequence[CaseValue],
    info: MetricInfo | None = None,
    *,
    worst: float | None = None,
    confidence: float = 0.95,
) -> MetricSummary:
    """Macro mean over scored cases with its counts and intervals.

    Args:
        values: one per case.
        info: scale and direction; None: an unbounded metric that nothing is known of.
        worst: value that stands for an error in ``mean_errors_as_worst``; by default the
            metric's own.
        confidence: of the intervals, 0 to 1.

    >>> from pytest_rageval.metrics.registry import METRICS
    >>> scored = [CaseValue(case_id=c, value=v, status="scored") for c, v in [("a", 1), ("b", 0.5)]]
    >>> failed = CaseValue(case_id="c", status="error")
    >>> summary = summarise_metric([*scored, failed], METRICS["recall_at_k"])
    >>> summary.mean, summary.n, summary.n_error, summary.mean_errors_as_worst
    (0.75, 2, 1, 0.5)
    """
    absent = {"error": ERROR, "not_applicable": NOT_APPLICABLE}
    column = [absent[v.status] if v.value is None else v.value for v in values]
    codes: dict[str, int] = {}
    clusters = [
        len(values) + i if v.cluster is None else codes.setdefault(v.cluster, len(codes))
        for i, v in enumerate(values)
    ]
    return _summary(
        np.asarray(column, dtype=np.float64),
        np.asarray(clusters, dtype=np.int64),
        info,
        worst=info.worst if worst is None and info is not None else worst,
        once=all(v.repeats == 1 for v in values),
        confidence=confidence,
    )


def summarise_cases(
    table: CaseTable,
    column: Floats,
    cases: Integers,
    info: MetricInfo | None,
    confidence: float,
) -> MetricSummary:
    """``summarise_metric`` of some cases of a table.

    Args:
        table: the cases of the run.
        column: the metric's value of every case.
        cases: places in the table.
        info: scale and direction of the metric; None: nothing is known.
        confidence: of the intervals, 0 to 1.
    """
    return _summary(
        column[cases],
        table.clusters[cases],
        info,
        worst=None if info is None else info.worst,
        once=bool((table.repeats[cases] == 1).all()),
        confidence=confidence,
    )


def _summary(
    column: Floats,
    clusters: Integers,
    info: MetricInfo | None,
    *,
    worst: float | None,
    once: bool,
    confidence: float,
) -> MetricSummary:
    scored = np.isfinite(column)
    n, n_error = int(np.count_nonzero(scored)), int(np.count_nonzero(column == ERROR))
    unscored = MetricSummary(
        n=n,
        n_not_applicable=len(column) - n - n_error,
        n_error=n_error,
        mean_errors_as_worst=worst if n_error else None,
    )
    if not n:
        return unscored
    sample = ArraySample(column[scored], clusters[scored])
    total = sample.total
    binary = once and _is_binary(info) and bool(np.isin(sample.values, (0.0, 1.0)).all())
    two, one = _intervals(sample, info, binary=binary, confidence=confidence)
    as_worst = None
    if n_error and worst is not None:
        as_worst = math.fsum([total, n_error * worst]) / (n + n_error)
    return replace(
        unscored,
        mean=total / n,
        median=float(np.median(sample.values)),
        mean_errors_as_worst=as_worst,
        low=two.low,
        high=two.high,
        low_one_sided=one.low,
        high_one_sided=one.high,
        se=sample_se(sample),
        method=two.method,
        clusters=two.clusters,
    )


def _is_binary(info: MetricInfo | None) -> bool:
    return info is not None and info.binary


def _intervals(
    sample: ArraySample, info: MetricInfo | None, *, binary: bool, confidence: float
) -> tuple[Interval, Interval]:
    """Return the two-sided interval and the one-sided bounds."""
    lo, hi = info.scale if info is not None else (None, None)
    if lo is None or hi is None:
        values, clusters = sample.values.tolist(), sample.clusters.tolist()
        return (
            bootstrap_mean(values, clusters=clusters, confidence=confidence, sided=2),
            bootstrap_mean(values, clusters=clusters, confidence=confidence, sided=1),
        )
    return (
        sample_interval(sample, lo=lo, hi=hi, binary=binary, confidence=confidence, sided=2),
        sample_interval(sample, lo=lo, hi=hi, binary=binary, confidence=confidence, sided=1),
    )
