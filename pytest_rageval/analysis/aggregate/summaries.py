"""One metric over many cases: its mean with counts and intervals, weighted by traffic."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

import numpy as np

from pytest_rageval.analysis.aggregate.case_groups import CaseGroup
from pytest_rageval.analysis.aggregate.table import (
    CasePart,
    CaseTable,
    Floats,
    Places,
    Sample,
    cluster_codes,
)
from pytest_rageval.analysis.stats.distributions import ClusterIds, student_t_quantile
from pytest_rageval.analysis.stats.intervals import (
    Interval,
    MetricScale,
    bootstrap_means,
    clustered_se,
    mean_intervals,
)
from pytest_rageval.analysis.stats.paired import paired_difference
from pytest_rageval.analysis.stats.repeats import flip_probability, pass_curves, variance_components
from pytest_rageval.metrics.context import CONTEXT_COLUMNS, CONTEXT_KEYS, CONTEXT_ROWS, context_cell
from pytest_rageval.metrics.registry import MetricInfo
from pytest_rageval.metrics.whole_run import cross_lingual_consistency
from pytest_rageval.values.numbers import (
    AbstentionCounts,
    FlakyCase,
    MetricSummary,
    RepeatSummary,
    RerankSummary,
    WeightedMean,
)


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


def summarise_metric(
    values: Sequence[float],
    info: MetricInfo | None = None,
    *,
    clusters: Sequence[str | None] | None = None,
    confidence: float = 0.95,
) -> MetricSummary:
    """Macro mean over scored cases with its counts and intervals.

    Args:
        values: one per case: finite, `NOT_APPLICABLE` or `ERROR`.
        info: scale and direction; None: unknown, taken as unbounded.
        clusters: of the cases; None: each is its own.
        confidence: of the intervals, 0 to 1.

    >>> from pytest_rageval.analysis.aggregate.case_groups import ERROR
    >>> from pytest_rageval.metrics.built_in import BUILT_IN
    >>> summary = summarise_metric([1, 0.5, ERROR], BUILT_IN.cases["recall_at_k"])
    >>> summary.mean, summary.n, summary.n_error, summary.mean_errors_as_worst
    (0.75, 2, 1, 0.5)
    """
    codes = cluster_codes([None] * len(values) if clusters is None else clusters)
    sample = Sample(np.array(values, dtype=float), codes)
    intervals = mean_intervals(sample, _scale(info), confidence=confidence)
    return _summary(sample, len(values), info, intervals)


def summarise_groups(
    cases: Sequence[CaseGroup],
    values: Sequence[float],
    info: MetricInfo | None = None,
    *,
    confidence: float = 0.95,
) -> MetricSummary:
    """``summarise_metric`` of a value for each of some cases with their repeats."""
    return summarise_metric(
        values,
        info,
        clusters=[case.first.cluster for case in cases],
        confidence=confidence,
    )


def summarise_parts(
    column: Floats, parts: Sequence[CasePart], info: MetricInfo | None, confidence: float
) -> list[MetricSummary]:
    """``summarise_metric`` of several choices of the cases of a table.

    Args:
        column: the metric's value of every case of the table.
        parts: the cases of each choice.
        info: scale and direction of the metric; None: unknown.
        confidence: of the intervals, 0 to 1.
    """
    if np.isnan(column).all():  # of no case, so of no part
        return [MetricSummary(n=0, n_not_applicable=len(part.cases)) for part in parts]
    samples = [Sample(column[part.cases], part.clusters) for part in parts]
    if _scale(info).span is None:  # the random numbers of all are drawn once
        intervals = bootstrap_means(samples, confidence=confidence, sides=(2, 1))
    else:
        intervals = [
            mean_intervals(sample, _scale(info), confidence=confidence) for sample in samples
        ]
    return [
        _summary(sample, len(part.cases), info, found)
        for sample, part, found in zip(samples, parts, intervals, strict=True)
    ]


def _scale(info: MetricInfo | None) -> MetricScale:
    return MetricScale(None, None) if info is None else MetricScale(*info.scale, binary=info.binary)


def _summary(
    sample: Sample, n_cases: int, info: MetricInfo | None, intervals: Sequence[Interval]
) -> MetricSummary:
    worst = None if info is None else info.worst
    n, n_error, (two, one) = sample.n, sample.n_error, intervals
    unscored = MetricSummary(
        n=n,
        n_not_applicable=n_cases - n - n_error,
        n_error=n_error,
        mean_errors_as_worst=worst if n_error else None,
    )
    if not n:
        return unscored
    as_worst = None
    if n_error and worst is not None:
        as_worst = math.fsum([sample.total, n_error * worst]) / (n + n_error)
    return replace(
        unscored,
        mean=sample.total / n,
        median=sample.median,
        mean_errors_as_worst=as_worst,
        low=two.low,
        high=two.high,
        low_one_sided=one.low,
        high_one_sided=one.high,
        detectable_se=one.detectable_se,
        se=clustered_se(sample),
        method=two.method,
        clusters=two.clusters,
    )


def count_abstentions(table: CaseTable, answerable: Mapping[str, CasePart]) -> AbstentionCounts:
    """Count answerable x abstained, the 2 x 2 table of abstention."""
    counts = {}
    for name, group, key in (
        ("answerable", "true", "over_abstention_rate"),
        ("unanswerable", "false", "abstention_accuracy"),
    ):
        part, column = answerable.get(group), np.empty(0)
        if part is not None and key in table.metric_infos:
            column = table.scores.metric(key)[part.cases]
        scored, failed = np.isfinite(column), int(np.isinf(column).sum())
        # A case abstains if more than half of its repeats do.
        abstained = int((column[scored] > 0.5).sum())
        counts[name] = {
            "abstained": abstained,
            "answered": int(scored.sum()) - abstained,
            "error": failed,
            "unknown": len(column) - int(scored.sum()) - failed,
        }
    return counts


def count_contexts(table: CaseTable) -> dict[str, dict[str, int]]:
    """Count sufficient context x answer; empty where it is known of no case."""
    columns = [_known(table, key) for key in CONTEXT_KEYS]
    cells = Counter(cell for one in zip(*columns, strict=True) if (cell := context_cell(*one)))
    if not cells:
        return {}
    return {row: {name: cells[row, name] for name in CONTEXT_COLUMNS} for row in CONTEXT_ROWS}


def _known(table: CaseTable, key: str) -> list[float | None]:
    column = table.scores.metric(key).tolist() if key in table.metric_infos else []
    return [one if math.isfinite(one) else None for one in column] or [None] * len(table)


def summarise_rerank(table: CaseTable, confidence: float) -> dict[str, RerankSummary]:
    """Compare every retrieval metric before and after reranking, case by case."""
    found = {}
    known = set().union(*[row.before for row in table.rows]) if table.columns.reranked else ()
    for key, info in table.columns.registry.cases.items():
        if key not in known:
            continue
        before, after = table.before_rerank(key), table.scores.metric(key)
        both = CasePart(np.flatnonzero(np.isfinite(before) & np.isfinite(after)).tolist(), table)
        if len(both.cases):
            found[key] = compare_orders(
                before[both.cases].tolist(),
                after[both.cases].tolist(),
                _scale(info),
                clusters=both.clusters.tolist(),
                confidence=confidence,
            )
    return found


def compare_orders(
    old: Sequence[float],
    new: Sequence[float],
    scale: MetricScale,
    *,
    clusters: ClusterIds,
    confidence: float = 0.95,
) -> RerankSummary:
    """Summarise one metric of the same cases in two orders.

    Args:
        old: values in the order before, at least one.
        new: values in the order after, of the same cases.
        scale: of the metric.
        clusters: one id per case.
        confidence: of the interval, 0 to 1.
    """
    difference = paired_difference(old, new, scale, clusters=clusters, confidence=confidence)
    pairs = list(zip(old, new, strict=True))
    return RerankSummary(
        n=len(pairs),
        before=math.fsum(old) / len(pairs),
        after=math.fsum(new) / len(pairs),
        delta=difference.diff or 0.0,
        low=difference.interval.low,
        high=difference.interval.high,
        improved=sum(after > before for before, after in pairs),
        worsened=sum(after < before for before, after in pairs),
        stayed=sum(after == before for before, after in pairs),
    )


def summarise_repeats(table: CaseTable) -> RepeatSummary | None:
    """Summarise the agreement of repeats that could be checked; None: no case has two."""
    counts = {}
    for rows in table.asked:
        checked = [row.outcome for row in rows if row.outcome != "unchecked"]
        if len(checked) > 1:
            counts[rows[0].name] = len(checked), checked.count("passed")
    if not counts:
        return None
    mixed = sorted(
        (passes / n, *name, passes, n) for name, (n, passes) in counts.items() if 0 < passes < n
    )
    found = RepeatSummary(
        repeats=max(n for n, _ in counts.values()),
        n=len(counts),
        every=sum(passes == n for n, passes in counts.values()),
        again=Counter(row.again for row in table.firsts if row.again is not None),
        flaky_cases=tuple(
            FlakyCase(file=file, case_id=case_id, passes=passes, asked=n)
            for _, file, case_id, passes, n in mixed[:50]
        ),
    )
    if found.again:
        return found
    flips = [flip_probability(*pair) for pair in counts.values()]
    curves = {pair: pass_curves(*pair) for pair in set(counts.values())}
    return replace(
        found,
        flaky_rate=len(mixed) / len(counts),
        flip_probability=math.fsum(flips) / len(flips),
        pass_at_k=_mean_curve([curves[pair].at_k for pair in counts.values()], found.repeats),
        pass_hat_k=_mean_curve([curves[pair].hat_k for pair in counts.values()], found.repeats),
        variance=_variance(table, found.repeats),
    )


def _mean_curve(curves: Sequence[Sequence[float]], most: int) -> dict[int, float]:
    """Return the mean of each k over the cases that were asked at least k times."""
    found = {}
    for k in range(1, most + 1):
        known = [curve[k - 1] for curve in curves if len(curve) >= k]
        found[k] = math.fsum(known) / len(known)
    return found


def _variance(table: CaseTable, most: int) -> dict[str, dict[str, float | None]]:
    found: dict[str, dict[str, float | None]] = {}
    for key in table.metric_infos:
        scores = table.scores.repeated(key, most)
        rows = scores[np.isfinite(scores).all(axis=1)].tolist()
        if rows:
            found[key] = {"n": len(rows), **asdict(variance_components(rows))}
            del found[key]["mean"]
    return found


def summarise_translations(table: CaseTable) -> dict[str, float | int | None]:
    """Compare the documents that cases and their translations retrieve; empty: no translations."""
    pairs = [
        (row.name, (row.name[0], row.translation_of))
        for row in table.firsts
        if row.translation_of is not None
    ]
    if not pairs:
        return {}
    documents = {rows[0].name: [row.documents for row in rows] for rows in table.cases}
    found = cross_lingual_consistency(documents, pairs)
    counted = ("mean", "n", "n_not_applicable", "n_error", "n_unpaired")
    return {name: getattr(found, name) for name in counted}
