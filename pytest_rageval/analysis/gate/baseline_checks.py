"""What the checks against a baseline hold: paired differences, counts and figures. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pytest_rageval.analysis.compare.pairs import (
    CasePair,
    PairedValues,
    difference,
    newly_missed,
    paired_values,
)
from pytest_rageval.analysis.gate.differences import Difference
from pytest_rageval.analysis.gate.figures import GateRun, find_figure
from pytest_rageval.analysis.stats.paired import regression_p
from pytest_rageval.metrics.registry import METRICS, MetricInfo
from pytest_rageval.values.gate import Check, needs_baseline

_MAX_CASES: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineRuns:
    """Both runs, as far as checks ask for figures of a whole run."""

    base: GateRun
    new: GateRun


def check_differences(
    checks: Iterable[Check],
    pairs: Sequence[CasePair],
    runs: BaselineRuns | None = None,
    *,
    confidence: float = 0.95,
) -> dict[Check, Difference]:
    """Compute what each check against the baseline is to decide by.

    Args:
        checks: of the gate; those that need no baseline are left alone.
        pairs: cases of the same content in both runs.
        runs: for figures that no single case has, such as ``latency_ms.p95``; not paired, and
            without an interval. None: no check asks for one.
        confidence: of the proofs, one-sided.
    """
    found = {}
    for check in checks:
        if not needs_baseline(check):
            continue
        if check.metric == "newly_missed":
            found[check] = _newly_missed(pairs)
        elif check.metric in METRICS:
            found[check] = _paired(check, METRICS[check.metric], pairs, confidence)
        else:
            found[check] = Difference(estimate=None) if runs is None else _of_figures(check, runs)
    return found


def _newly_missed(pairs: Sequence[CasePair]) -> Difference:
    if not pairs:
        return Difference(estimate=None)
    missed = newly_missed(pairs)
    lost = sum(pair.base.outcome == "passed" and pair.new.outcome == "error" for pair in pairs)
    return Difference(
        estimate=float(len(missed)), n=len(pairs), n_lost=lost, missed_cases=missed[:_MAX_CASES]
    )


def _of_figures(check: Check, runs: BaselineRuns) -> Difference:
    plain = replace(check, kind="max")
    base, new = find_figure(plain, runs.base), find_figure(plain, runs.new)
    if base.estimate is None or new.estimate is None:
        return Difference(estimate=None)
    n = min((count for count in (base.n, new.n) if count is not None), default=0)
    return Difference(estimate=new.estimate - base.estimate, n=n)


def _paired(
    check: Check, info: MetricInfo, pairs: Sequence[CasePair], confidence: float
) -> Difference:
    pairs = [pair for pair in pairs if _in_table(pair, check)]
    values = paired_values(pairs, info.key)
    lost = sum(
        pair.base.value(info.key).status == "scored" and pair.new.outcome == "error"
        for pair in pairs
    )
    low, high = info.scale
    two = difference(values, info, confidence=confidence, sided=2)
    one = difference(values, info, confidence=confidence, sided=1)
    p = None
    if values.n and high is not None:
        p = regression_p(
            values.base,
            values.new,
            margin=check.limit,
            lo=low,
            hi=high,
            binary=info.binary and not values.repeated,
            clusters=values.clusters,
            # A drop is held against its limit, or a rise: whichever way of the metric is better.
            direction="higher" if check.kind == "max_drop" else "lower",
        )
    return Difference(
        estimate=two.diff,
        n=values.n,
        one_sided=one.interval,
        two_sided=two.interval,
        p=p,
        n_lost=lost,
        missed_cases=_worst(check, values),
    )


def _in_table(pair: CasePair, check: Check) -> bool:
    """Say whether a case is of the check's group, by what its file says today."""
    if check.table == "overall":
        return True
    record = pair.new.first
    return (
        check.group == record.category
        if check.table == "category"
        else (check.group in record.tags)
    )


def _worst(check: Check, values: PairedValues) -> tuple[str, ...]:
    """Return the ids of the cases that moved the wrong way, the farthest first."""
    sign = -1.0 if check.kind == "max_drop" else 1.0
    moved = zip(values.base, values.new, values.case_ids, strict=True)
    bad = sorted((-sign * (n - b), case_id) for b, n, case_id in moved if sign * (n - b) > 0)
    return tuple(case_id for _, case_id in bad[:_MAX_CASES])


def margins(checks: Iterable[Check]) -> Mapping[str, float]:
    """Return by metric the difference that thresholds call the largest to put up with.

    Of several limits over the whole set the tighter one.
    """
    found: dict[str, float] = {}
    for check in checks:
        if check.table == "overall" and check.kind in {"max_drop", "max_rise"}:
            found[check.metric] = min(check.limit, found.get(check.metric, check.limit))
    return found
