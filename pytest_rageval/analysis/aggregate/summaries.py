"""One metric over many cases: its mean with counts and intervals."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from math import isfinite

from pytest_rageval.analysis.aggregate.case_groups import CaseValue
from pytest_rageval.analysis.aggregate.columns import PASSED, CaseTable
from pytest_rageval.analysis.aggregate.samples import (
    ERROR,
    NOT_APPLICABLE,
    ArraySample,
    CasePart,
    ColumnSample,
    sample_of,
)
from pytest_rageval.analysis.stats.distributions import ClusterIds
from pytest_rageval.analysis.stats.intervals import (
    Interval,
    Scale,
    bootstrap_means,
    clustered_se,
    mean_intervals,
)
from pytest_rageval.analysis.stats.paired import paired_difference
from pytest_rageval.analysis.stats.repeats import flip_probability, pass_curves, variance_components
from pytest_rageval.metrics.cross_lingual import cross_lingual_consistency
from pytest_rageval.metrics.registry import MetricInfo
from pytest_rageval.values.numbers import (
    AbstentionCounts,
    MetricSummary,
    RepeatSummary,
    RerankSummary,
)


def summarise_metric(
    values: Sequence[CaseValue], info: MetricInfo | None = None, *, confidence: float = 0.95
) -> MetricSummary:
    """Macro mean over scored cases with its counts and intervals.

    Args:
        values: one per case.
        info: scale and direction; None: unknown, taken as unbounded.
        confidence: of the intervals, 0 to 1.

    >>> from pytest_rageval.metrics.built_in import BUILT_IN
    >>> scored = [CaseValue(value=value, status="scored") for value in (1, 0.5)]
    >>> failed = CaseValue(status="error")
    >>> summary = summarise_metric([*scored, failed], BUILT_IN.cases["recall_at_k"])
    >>> summary.mean, summary.n, summary.n_error, summary.mean_errors_as_worst
    (0.75, 2, 1, 0.5)
    """
    absent = {"error": ERROR, "not_applicable": NOT_APPLICABLE}
    column = [absent[v.status] if v.value is None else float(v.value) for v in values]
    codes: dict[str, int] = {}
    clusters = [
        len(values) + i if v.cluster is None else codes.setdefault(v.cluster, len(codes))
        for i, v in enumerate(values)
    ]
    once = all(v.repeats == 1 for v in values)
    sample = ColumnSample(column, clusters)
    scale = _scale(info, once=once)
    return _summary(sample, len(values), info, mean_intervals(sample, scale, confidence=confidence))


def summarise_cases(
    column: array[float], parts: Sequence[CasePart], info: MetricInfo | None, confidence: float
) -> list[MetricSummary]:
    """``summarise_metric`` of several choices of the cases of a table.

    Args:
        column: the metric's value of every case of the table.
        parts: the cases of each choice.
        info: scale and direction of the metric; None: unknown.
        confidence: of the intervals, 0 to 1.
    """
    if _scale(info).span is None:  # the random numbers of all are drawn once
        samples = [sample_of(column, part) for part in parts]
        drawn = bootstrap_means(samples, confidence=confidence, sides=(2, 1))
        return [
            _summary(sample, len(part.cases), info, intervals)
            for sample, part, intervals in zip(samples, parts, drawn, strict=True)
        ]
    found = []
    for part in parts:
        sample, scale = sample_of(column, part), _scale(info, once=part.once)
        intervals = mean_intervals(sample, scale, confidence=confidence)
        found.append(_summary(sample, len(part.cases), info, intervals))
    return found


def _scale(info: MetricInfo | None, *, once: bool = True) -> Scale:
    return Scale(None, None) if info is None else Scale(*info.scale, binary=once and info.binary)


def _summary(
    sample: ColumnSample | ArraySample,
    n_cases: int,
    info: MetricInfo | None,
    intervals: Sequence[Interval],
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


_SHOWN_FLAKY = 50


def count_abstentions(table: CaseTable, answerable: Mapping[str, CasePart]) -> AbstentionCounts:
    """Count answerable x abstained, the 2 x 2 table of abstention."""
    keys = {"answerable": "over_abstention_rate", "unanswerable": "abstention_accuracy"}
    members = {"answerable": answerable.get("true"), "unanswerable": answerable.get("false")}
    counts = {}
    for name, key in keys.items():
        part = members[name]
        every = table.metric(key) if key in table.metric_infos else []
        column = [every[case] for case in part.cases] if part and every else []
        scored = [value for value in column if isfinite(value)]
        # A case abstains if more than half of its repeats do.
        abstained = sum(value > 0.5 for value in scored)
        failed = column.count(ERROR)
        counts[name] = {
            "abstained": abstained,
            "answered": len(scored) - abstained,
            "error": failed,
            "unknown": len(column) - len(scored) - failed,
        }
    return counts


def summarise_rerank(table: CaseTable, confidence: float) -> dict[str, RerankSummary]:
    """Compare every retrieval metric before and after reranking, case by case."""
    found = {}
    for key in table.reranked_keys:
        before, after = table.before_rerank(key), table.metric(key)
        pairs = enumerate(zip(before, after, strict=True))
        both = table.part([case for case, pair in pairs if all(map(isfinite, pair))])
        if not both.cases:
            continue
        info = table.columns.registry.cases[key]
        found[key] = compare_orders(
            [before[case] for case in both.cases],
            [after[case] for case in both.cases],
            Scale(*info.scale, binary=info.binary and both.once),
            clusters=both.clusters,
            confidence=confidence,
        )
    return found


def compare_orders(
    old: Sequence[float],
    new: Sequence[float],
    scale: Scale,
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
    """Summarise the agreement of repeats; None if every case was asked once."""
    most = max(table.rows.repeats, default=0)
    if most < 2:
        return None
    repeated = {
        name: (len(outcomes), sum(outcome in PASSED for outcome in outcomes))
        for name, outcomes in zip(
            table.names(), table.repeats_of(table.columns.outcomes), strict=True
        )
        if len(outcomes) > 1
    }
    mixed = [(*name, c) for name, (asked, c) in repeated.items() if 0 < c < asked]
    mixed.sort(key=lambda case: (abs(2 * case[2] - repeated[case[0], case[1]][0]), case))
    flips = [flip_probability(*pair) for pair in repeated.values()]

    # Many cases have the same counts.
    curves = {pair: pass_curves(*pair) for pair in set(repeated.values())}
    at_k = [curves[pair].at_k for pair in repeated.values()]
    hat_k = [curves[pair].hat_k for pair in repeated.values()]
    return RepeatSummary(
        repeats=most,
        n=len(repeated),
        flaky_rate=len(mixed) / len(repeated),
        flip_probability=math.fsum(flips) / len(flips),
        pass_at_k=_mean_curve(at_k, most),
        pass_hat_k=_mean_curve(hat_k, most),
        flaky_cases=tuple(mixed[:_SHOWN_FLAKY]),
        variance=_variance(table, most),
    )


def _mean_curve(curves: Sequence[Sequence[float]], most: int) -> dict[int, float]:
    """Return the mean of each k over the cases that were asked at least k times."""
    found = {}
    for k in range(1, most + 1):
        known = [curve[k - 1] for curve in curves if len(curve) >= k]
        found[k] = math.fsum(known) / len(known)
    return found


def _variance(table: CaseTable, repeats: int) -> dict[str, dict[str, float | None]]:
    found: dict[str, dict[str, float | None]] = {}
    for key in table.metric_infos:
        rows = [
            values
            for values in table.repeats_of(table.columns.metric(key))
            if len(values) == repeats and all(abs(v) < math.inf for v in values)
        ]
        if not rows:
            continue
        found[key] = {"n": len(rows), **asdict(variance_components(rows))}
        del found[key]["mean"]
    return found


def summarise_translations(table: CaseTable) -> dict[str, float | int | None]:
    """Compare the documents that cases and their translations retrieve; empty: no translations."""
    pairs = list(table.translations())
    if not pairs:
        return {}
    documents = table.documents(case for pair in pairs for case in pair)
    found = cross_lingual_consistency(documents, pairs)
    counted = ("mean", "n", "n_not_applicable", "n_error", "n_unpaired")
    return {name: getattr(found, name) for name in counted}
