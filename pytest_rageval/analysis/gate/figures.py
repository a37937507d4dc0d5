"""Figures of checks with their uncertainty, and the decision on one limit.

Defined in docs/statistics.md#what-a-gate-decides.

Numbers are compared unrounded with a tolerance of 1e-9 in favour of passing: in binary floats
0.90 - 0.85 is more than 0.05.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from pytest_rageval.analysis.aggregate.case_groups import CaseGroup, group_repeats, pass_share
from pytest_rageval.analysis.aggregate.operational import (
    ERROR_KINDS,
    LatencyObservation,
    attempt_share,
    attempt_status,
    record_latency,
    summarise_latency,
    verdict_failures,
)
from pytest_rageval.analysis.stats.intervals import quantile_interval
from pytest_rageval.analysis.stats.paired import minimum_detectable_effect
from pytest_rageval.judges.spot_check import DISAGREEMENT
from pytest_rageval.metrics.built_in import stored_registry
from pytest_rageval.metrics.registry import STAGE_PREFIX, MetricInfo
from pytest_rageval.support.text import TOLERANCE
from pytest_rageval.values.gate import CHANGE_WORDS, MOST_CASES, Check, CheckKind, Decide, Proof
from pytest_rageval.values.numbers import (
    Aggregate,
    CorrectedMean,
    JudgeReliability,
    MetricSummary,
    no_data_reason,
)
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.run import StoredRun
from pytest_rageval.values.verdict import sum_usage
from pytest_rageval.values.words import VERDICT

BY_OUTCOME: Final = ("pass_hat_k", "flaky_rate", STAGE_PREFIX)
"""Prefixes of figures of outcomes: more repeats find more misses, and more that differ."""
_ONE_EACH: Final = "no case was asked several times"
_NO_LABELS: Final = "there is no label of people to correct it by (--judge-labels)"
_NO_SCORES: Final = "the labels say true or false, and only scores of people can correct it"
_SELECTED: Final = (
    "only cases with a certain first answer were asked again, and they are no sample of all"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFigure:
    """A number with its uncertainty; None: no data, or no interval."""

    estimate: float | None
    n: int | None = None
    low: float | None = None
    """Two-sided, for display."""
    high: float | None = None
    low_one_sided: float | None = None
    """One-sided, for proofs."""
    high_one_sided: float | None = None
    mde: float | None = None
    is_mean: bool = False
    """Whether it is a metric's mean; ``min_n`` applies only to those."""
    censored: bool = False
    """Whether the true figure is at least the estimate."""
    no_data: str = "nothing was measured"
    missed_cases: tuple[str, ...] = ()
    """Node ids."""


def find_figure(check: Check, run: StoredRun, *, confidence: float = 0.95) -> CheckFigure:
    """Return the figure of an absolute check, over the cases of its table.

    Args:
        check: the limit.
        run: with its numbers, and its records.
        confidence: of the intervals, 0 to 1.
    """
    reliability = run.numbers.judge_reliability or JudgeReliability()
    known = {
        "suite_wall_s": run.config.wall_s,
        DISAGREEMENT: reliability.disagreement_rate,
        **run.run_metrics,
    }.get(check.metric)
    if known is not None:
        return CheckFigure(estimate=known)
    every = [record for record in run.records if not record.selected]
    records = [record for record in every if record.counted]
    if check.metric in ERROR_KINDS:
        # Whether the target answered can be told of cases that nobody has reviewed.
        records = records or every
    cases = [case for case in group_repeats(records) if in_table(case.first, check)]
    if check.metric.startswith("latency_ms."):
        return _latency_figure(check, cases, run.timeout_ms, confidence)
    registry = stored_registry(run.config)
    info = registry.info(check.metric)
    if info is not None and check.use == "corrected":
        return _corrected_figure(reliability.corrected.get(info.key), info, confidence)
    if info is None or info.key in registry.cases:
        return _mean_figure(check, run.numbers, cases, info, confidence)
    return _run_figure(check, run, cases, confidence)


def in_table(record: CaseRecord, check: Check) -> bool:
    """Whether a case is in the check's group."""
    if check.table == "category":
        return check.group == record.case.category
    return check.table == "overall" or check.group in record.case.tags


def worst_first(values: Iterable[tuple[float, str]]) -> tuple[str, ...]:
    """Return at most ``MOST_CASES`` node ids by descending badness, each once."""
    ranked = sorted(values, key=lambda pair: (-pair[0], pair[1]))
    return tuple(dict.fromkeys(nodeid for _, nodeid in ranked))[:MOST_CASES]


def _beyond(check: Check, values: Iterable[tuple[float, str]]) -> tuple[str, ...]:
    """Return the node ids of the values beyond the limit, worst first."""
    sign = -1.0 if check.kind == "min" else 1.0
    bad = [(sign * (value - check.limit), nodeid) for value, nodeid in values]
    return worst_first(pair for pair in bad if pair[0] > TOLERANCE)


# --- metric means ----------------------------------------------------------------------------


def _mean_figure(
    check: Check,
    numbers: Aggregate,
    cases: Sequence[CaseGroup],
    info: MetricInfo | None,
    confidence: float,
) -> CheckFigure:
    key = check.metric if info is None else info.key
    groups: Mapping[str, Mapping[str, MetricSummary]] = {
        "overall": {"": numbers.metrics},
        "category": numbers.by_category,
        "tag": numbers.by_tag,
    }[check.table]
    summary = groups.get(check.group or "", {}).get(key)
    if info is None or summary is None:
        where = "the run" if check.table == "overall" else f"{check.table} {check.group}"
        none = f"no case of {where} was run"
        # A metric of the project that is newer than the run.
        no_data = f"the run did not measure {key}" if info is None else none
        return CheckFigure(estimate=None, n=0, is_mean=True, no_data=no_data)
    means = ((case.mean(key), case.first.nodeid) for case in cases)
    missed = _beyond(check, [(value, nodeid) for value, nodeid in means if value is not None])
    return _of_summary(summary, info, confidence, no_data_reason(summary), missed)


def _of_summary(
    summary: MetricSummary,
    info: MetricInfo,
    confidence: float,
    no_data: str,
    missed_cases: tuple[str, ...],
) -> CheckFigure:
    return CheckFigure(
        estimate=summary.mean,
        n=summary.n,
        low=summary.low,
        high=summary.high,
        low_one_sided=summary.low_one_sided,
        high_one_sided=summary.high_one_sided,
        mde=minimum_detectable_effect(
            summary.detectable_se, confidence=confidence, widest=info.width
        ),
        is_mean=info is not _SHARE,
        no_data=no_data,
        missed_cases=missed_cases,
    )


def _corrected_figure(
    found: CorrectedMean | None, info: MetricInfo, confidence: float
) -> CheckFigure:
    if found is None or found.quantity != "mean":
        no_data = _NO_LABELS if found is None else _NO_SCORES
        return CheckFigure(estimate=None, n=0, is_mean=True, no_data=no_data)
    return CheckFigure(
        estimate=found.estimate,
        n=found.n_labels,
        low=found.low,
        high=found.high,
        low_one_sided=found.low_one_sided,
        high_one_sided=found.high_one_sided,
        mde=minimum_detectable_effect(
            found.detectable_se, confidence=confidence, widest=info.width
        ),
        is_mean=True,
        no_data="no case has both a label and a score",
    )


# --- latency ---------------------------------------------------------------------------------


def _latency_figure(
    check: Check, cases: Sequence[CaseGroup], timeout_ms: float | None, confidence: float
) -> CheckFigure:
    """Return ``p50``, ``p95`` or ``sum`` of ``latency_ms``, or of ``latency_ms.<phase>``."""
    *_, what = check.metric.split(".")
    phase = check.metric.removeprefix("latency_ms").removesuffix(what).strip(".")
    phase = phase.removesuffix("_ms")
    records = [r for case in cases for r in case.records]
    if phase in {"", "total"}:
        summary = record_latency(records, timeout_ms)
        timed = []
        for record in records:
            status, ms = attempt_status(record), record.latency.get("total_ms")
            if status == "timeout":
                timed.append((math.inf, record.nodeid))
            elif status == "ok" and ms is not None:
                timed.append((ms, record.nodeid))
    else:
        answered = [r for r in records if r.status == "ok"]
        names = f"{phase}_ms", phase
        timed = [(r.latency[key], r.nodeid) for r in answered for key in names if key in r.latency]
        summary = summarise_latency(LatencyObservation(status="ok", ms=ms) for ms, _ in timed)
    if summary.n == 0:
        return CheckFigure(estimate=None, n=0, no_data="no call was timed")
    if what == "sum":
        return CheckFigure(estimate=summary.sum_ms, n=summary.n, censored=summary.n_censored > 0)
    known = {
        "p50": (0.50, summary.p50_ms, summary.p50_censored),
        "p95": (0.95, summary.p95_ms, summary.p95_censored),
    }
    share, estimate, censored = known.get(what, (0.0, None, False))
    if estimate is None:
        return CheckFigure(estimate=None, n=0, no_data=f"latency has no {what}")
    durations = [ms for ms, _ in timed]
    two = quantile_interval(durations, share, confidence=confidence)
    one = quantile_interval(durations, share, confidence=confidence, sided=1)
    return CheckFigure(
        estimate=estimate,
        n=summary.n,
        low=_finite(two.low),
        high=_finite(two.high),
        low_one_sided=_finite(one.low),
        high_one_sided=_finite(one.high),
        censored=censored,
        missed_cases=_beyond(check, timed),
    )


def _finite(bound: float | None) -> float | None:
    return bound if bound is not None and math.isfinite(bound) else None


# --- rates, counts and totals of the run -------------------------------------------------------


def _rate_figure(
    cases: Sequence[CaseGroup],
    share: Callable[[CaseGroup], float | None],
    best: float,
    confidence: float,
) -> CheckFigure:
    """Return the mean over cases of a share of their repeats; one value of it is the best."""
    # Imported here: nothing before the end of a run needs it.
    from pytest_rageval.analysis.aggregate.summaries import summarise_groups

    shares = [(case, value) for case in cases if (value := share(case)) is not None]
    scored = [case for case, _ in shares]
    values = [value for _, value in shares]
    summary = summarise_groups(scored, values, _SHARE, confidence=confidence)
    bad = worst_first((abs(v - best), case.first.nodeid) for case, v in shares if v != best)
    return _of_summary(
        summary, _SHARE, confidence, "no case was asked, or none could be checked", bad
    )


_SHARE: Final = MetricInfo(
    key="share", title="Share of cases", binary=True, population="cases", level="run"
)


def _mixed_share(case: CaseGroup) -> float | None:
    return None if case.n_checked < 2 else float(case.outcome == "flaky")


def _every_share(case: CaseGroup) -> float | None:
    return None if case.n_checked < 2 else float(case.outcome == "passed")


def _run_figure(
    check: Check, run: StoredRun, cases: Sequence[CaseGroup], confidence: float
) -> CheckFigure:
    metric, numbers = check.metric, run.numbers
    if kinds := ERROR_KINDS.get(metric):
        return _rate_figure(
            cases, lambda c: attempt_share(map(attempt_status, c.records), kinds), 0, confidence
        )
    if metric == "pass_rate":
        return _rate_figure(cases, lambda c: pass_share(c.outcomes), 1, confidence)
    if metric in {"pass_hat_k", "flaky_rate"}:
        some, best = (_mixed_share, 0) if metric == "flaky_rate" else (_every_share, 1)
        figure = _rate_figure(cases, some, best, confidence)
        selected = any(record.selected for record in run.records)
        return replace(figure, no_data=_SELECTED if selected else _ONE_EACH)
    if metric.startswith(STAGE_PREFIX):
        stage = metric.removeprefix(STAGE_PREFIX)
        failed = tuple(case.first.nodeid for case in cases if case.stage == stage)
        return CheckFigure(
            estimate=float(len(failed)) if cases else None,
            n=len(cases),
            no_data="no case was asked",
            missed_cases=failed[:MOST_CASES],
        )
    records = [r for case in cases for r in case.records]
    if metric == "judge_error_rate":
        failures = [failed for record in records for failed in verdict_failures(record)]
        if not failures:
            return CheckFigure(estimate=None, n=0, no_data="no verdict was needed")
        return CheckFigure(estimate=sum(failures) / len(failures), n=len(failures))
    if metric in {"cost_usd.total", "cost_usd.uncached", "judge_tokens"}:
        cost = sum_usage(filter(None, (record.verdicts.usage for record in records)))
        totals = {"cost_usd.total": cost.cost_usd, "cost_usd.uncached": cost.cost_usd_uncached}
        estimate = totals.get(metric, float(cost.tokens))
        return CheckFigure(estimate=estimate, no_data="the price of the judge's tokens is unknown")
    if metric == "cross_lingual_consistency":
        pairs = numbers.cross_lingual
        no_pairs = "no case of the run is a translation of another"
        return CheckFigure(estimate=pairs.get("mean"), n=int(pairs.get("n") or 0), no_data=no_pairs)
    found = numbers.rates.get(metric, getattr(numbers.indexing, metric, None))
    no_data = run.run_metric_reasons.get(metric, f"{metric} was not measured")
    return CheckFigure(estimate=found, no_data=no_data)


# --- one limit -------------------------------------------------------------------------------


LimitOutcome = Literal["pass", "fail", "no_data"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitDecision:
    """Result of one limit for one estimate."""

    outcome: LimitOutcome
    proof: Proof | None
    """None: there is no interval."""


def decide_limit(
    kind: CheckKind,
    limit: float,
    *,
    decide: Decide = "estimate",
    estimate: float | None,
    low: float | None = None,
    high: float | None = None,
) -> LimitDecision:
    """Decide one limit.

    Args:
        kind: ``min`` and ``max`` limit a value; ``max_drop`` and ``max_rise`` limit the
            difference candidate - baseline.
        limit: absolute, at least 0 for the last two.
        decide: ``estimate`` uses the estimate; ``prove_fail`` fails only what is proven
            beyond the limit; ``prove_pass`` passes only what is proven within it.
        estimate: the value or difference; None: no data.
        low: one-sided lower bound of the estimate, where there is one.
        high: one-sided upper bound.
    """
    if estimate is None:
        return LimitDecision(outcome="no_data", proof=None)
    # Mirror the upper limits, so that below only "too low" is bad.
    if kind in {"max", "max_rise"}:
        estimate, limit = -estimate, -limit
        low, high = (None if high is None else -high), (None if low is None else -low)
    elif kind == "max_drop":
        limit = -limit
    floor = limit - TOLERANCE
    proof: Proof | None = None
    if low is not None and low >= floor:
        proof = "proven_pass"
    elif high is not None and high < floor:
        proof = "proven_fail"
    elif low is not None or high is not None:
        proof = "unproven"
    needed = {"estimate": estimate, "prove_pass": low, "prove_fail": high}[decide]
    if needed is None:
        return LimitDecision(outcome="no_data", proof=proof)
    return LimitDecision(outcome=VERDICT[needed >= floor], proof=proof)


def no_interval(check: Check, figure: str) -> str:
    """Say that a proof is impossible, and which decision is not one."""
    needs = f'which decide = "{check.decide}" needs and decide = "estimate" does not'
    return f"no data: {figure} has no interval, {needs}"


def is_past_limit(kind: str, limit: float | None, change: float | None) -> bool:
    """Return whether a change itself is past its limit; a check warns of cases that err, too."""
    if kind not in CHANGE_WORDS or limit is None or change is None:
        return False
    return (-change if kind == "max_drop" else change) > limit + TOLERANCE
