"""Figures of the system rather than of its answers: errors, latency, cost.

Percentiles, rates and sums over records or plain observations (docs/metrics.md#errors). Pure.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Literal, NamedTuple

from pytest_rageval.analysis.stats.intervals import percentile, percentile_place
from pytest_rageval.values.json_documents import OBJECT
from pytest_rageval.values.numbers import LatencySummary, sum_known
from pytest_rageval.values.record import CaseRecord

AttemptStatus = Literal["ok", "error", "timeout", "empty", "not_attempted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationalRates:
    """Fractions (0 to 1) of the cases attempted; the three are disjoint; None: no data."""

    n: int
    """Attempts; cases that a run gave up before asking do not count."""
    error_rate: float | None
    """(error + timeout + empty) / attempted."""
    timeout_rate: float | None
    empty_response_rate: float | None


class LatencyObservation(NamedTuple):
    """One timed call."""

    status: AttemptStatus
    ms: float | None
    cached: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CostSummary:
    """Money and tokens of judge calls."""

    cost_usd: float | None
    """Cost of the calls sent; None, never 0: a price is unknown."""
    cost_usd_uncached: float | None
    """Cost without the cache."""
    tokens: int
    """Tokens of the calls sent."""
    n_calls: int = 0
    n_cached: int = 0


# --- errors --------------------------------------------------------------------------------


def attempt_status(record: CaseRecord) -> AttemptStatus:
    """Return the outcome of the attempt to ask."""
    if record.status == "ok":
        return "ok"
    kind = record.error.kind if record.error is not None else None
    if kind == "timeout" or kind == "empty" or kind == "not_attempted":
        return kind
    return "error"


def operational_rates(cases: Iterable[Sequence[AttemptStatus]]) -> OperationalRates:
    """Error, timeout and empty-answer rates.

    Args:
        cases: per case the status of each of its repeats. A case weighs 1 regardless of their
            number; its share is the mean over its repeats.
    """
    attempted = Counter[tuple[AttemptStatus, ...]]()
    # Nearly all are alike, so that each distinct one is looked at once.
    for case, n in Counter(map(tuple, cases)).items():
        if asked := tuple(s for s in case if s != "not_attempted"):
            attempted[asked] += n

    def rate(*kinds: AttemptStatus) -> float | None:
        shares = [repeat(sum(s in kinds for s in c) / len(c), n) for c, n in attempted.items()]
        return math.fsum(chain.from_iterable(shares)) / attempted.total() if shares else None

    return OperationalRates(
        n=attempted.total(),
        error_rate=rate("error", "timeout", "empty"),
        timeout_rate=rate("timeout"),
        empty_response_rate=rate("empty"),
    )


# In records of other tools one key represents each verdict, since all metrics of a failed verdict
# fail.
_VERDICT_KEYS = ("groundedness", "correctness", "quality.overall", "five.faithfulness")
_ABSTENTION_KEYS = ("abstention_accuracy", "over_abstention_rate")


def verdict_failures(record: CaseRecord) -> list[bool]:
    """For each verdict that a case needed, a cached one too, whether it failed.

    A case that the target failed needs none.
    """
    if record.status != "ok":
        return []
    asked = [
        verdict.get("error") is not None
        for verdict in record.verdicts.judgements.values()
        if isinstance(verdict, OBJECT)
    ]
    if asked:
        return asked
    metrics, reasons, abstained = (
        record.scores.metrics,
        record.scores.not_applicable,
        record.reply.abstained,
    )
    failures = []
    for key in _VERDICT_KEYS:
        # An abstention on an answerable case is incorrect without asking a judge.
        unasked = key == "correctness" and abstained is True
        if key in metrics and key not in reasons and not unasked:
            failures.append(metrics[key] is None)
    if abstained is None:
        abstention = [
            metrics[key] is None
            for key in _ABSTENTION_KEYS
            if key in metrics and key not in reasons
        ]
        failures.extend(abstention[:1])
    return failures


# --- latency -------------------------------------------------------------------------------


def _censored_percentile(
    ordered: Sequence[float], p: float, known: int
) -> tuple[float | None, bool]:
    """Type 7 percentile, and whether it is only a lower bound: it is beyond the known ranks."""
    if not ordered:
        return None, False
    below, share = percentile_place(len(ordered), p)
    return percentile(ordered, p), below + (share > 0) >= known


def summarise_latency(
    observations: Iterable[tuple[AttemptStatus, float | None, bool]],
    *,
    timeout_ms: float | None = None,
) -> LatencySummary:
    """Percentiles (type 7) and sum of durations in milliseconds.

    Timeouts enter at the limit and mark the percentiles they reach as censored; errors and
    cached replies are left out and counted.

    Args:
        observations: the fields of each `LatencyObservation`, in any order.
        timeout_ms: the limit; None: a timeout enters at its own duration, if it has one.
    """
    times: list[float] = []
    limits: list[float] = []
    excluded = cached = 0
    for status, ms, from_cache in observations:
        if from_cache:
            cached += 1
        elif status == "ok" and ms is not None:
            times.append(float(ms))
        elif status == "timeout" and (at := ms if timeout_ms is None else timeout_ms) is not None:
            limits.append(float(at))
        else:
            excluded += 1
    ordered = sorted(times + limits)
    # The true duration of a timeout is unknown but above its limit, so every rank from the first
    # one is a lower bound.
    first = min(limits, default=math.inf)
    known = bisect_right(ordered, first) - limits.count(first)
    p50, p50_censored = _censored_percentile(ordered, 50, known)
    p95, p95_censored = _censored_percentile(ordered, 95, known)
    return LatencySummary(
        n=len(ordered),
        n_excluded=excluded,
        n_cached=cached,
        n_censored=len(limits),
        p50_ms=p50,
        p95_ms=p95,
        p50_censored=p50_censored,
        p95_censored=p95_censored,
        sum_ms=math.fsum(ordered),
    )


def record_latency(records: Sequence[CaseRecord], timeout_ms: float | None) -> LatencySummary:
    """Return the durations of the calls at the client; every repeat is a separate call."""
    calls = (
        LatencyObservation(status=attempt_status(r), ms=r.latency.get("total_ms")) for r in records
    )
    return summarise_latency(calls, timeout_ms=timeout_ms)


# --- cost ----------------------------------------------------------------------------------


def sum_costs(costs: Iterable[Mapping[str, float | None]]) -> CostSummary:
    """Sum the ``cost`` of records, where a cached verdict costs nothing.

    ``judge_cost_usd_uncached`` is the original cost of a cached verdict; if it is missing, the
    uncached total is unknown.
    """
    spent: list[float | None] = []
    uncached: list[float | None] = []
    tokens = 0.0
    cached = 0
    for cost in costs:
        used = (cost.get("judge_prompt_tokens") or 0) + (cost.get("judge_completion_tokens") or 0)
        paid = cost.get("judge_cost_usd", None if used else 0.0)
        hit = bool(cost.get("cached"))
        cached += hit
        spent.append(0.0 if hit else paid)
        uncached.append(cost.get("judge_cost_usd_uncached", None if hit and not paid else paid))
        tokens += 0 if hit else used
    return CostSummary(
        cost_usd=sum_known(spent),
        cost_usd_uncached=sum_known(uncached),
        tokens=int(tokens),
        n_calls=len(spent) - cached,
        n_cached=cached,
    )
