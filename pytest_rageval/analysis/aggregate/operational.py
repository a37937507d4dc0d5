"""Figures of the system rather than of its answers: errors, latency, cost.

Percentiles, rates and sums over records or plain observations (docs/site/metrics.toml). Pure.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from pytest_rageval.analysis.stats.intervals import fmean, percentile, percentile_place
from pytest_rageval.values.numbers import LatencySummary
from pytest_rageval.values.record import CaseRecord

AttemptStatus = Literal["ok", "error", "timeout", "empty", "not_attempted"]


ERROR_KINDS: Final[Mapping[str, frozenset[AttemptStatus]]] = {
    "error_rate": frozenset({"error", "timeout", "empty"}),
    "timeout_rate": frozenset({"timeout"}),
    "empty_response_rate": frozenset({"empty"}),
}
"""By rate, the outcomes of an attempt that it counts; the three kinds are disjoint."""


class LatencyObservation(NamedTuple):
    """One timed call."""

    status: AttemptStatus
    ms: float | None
    cached: bool = False


# --- errors --------------------------------------------------------------------------------


def attempt_status(record: CaseRecord) -> AttemptStatus:
    """Return the outcome of the attempt to ask."""
    if record.status == "ok":
        return "ok"
    kind = record.error.kind if record.error is not None else None
    if kind == "timeout" or kind == "empty" or kind == "not_attempted":
        return kind
    return "error"


def attempt_share(
    repeats: Iterable[AttemptStatus], kinds: frozenset[AttemptStatus]
) -> float | None:
    """Return the share of a case's repeats with some outcomes; None: none of them was asked."""
    asked = [status for status in repeats if status != "not_attempted"]
    return sum(status in kinds for status in asked) / len(asked) if asked else None


def operational_rates(cases: Iterable[Iterable[AttemptStatus]]) -> dict[str, float | None]:
    """Return error, timeout and empty-answer rates: means over the cases that were asked.

    Args:
        cases: per case the status of each of its repeats. A case weighs 1 regardless of their
            number.
    """
    # Nearly all are alike, so that each distinct one is looked at once.
    found = Counter(map(tuple, cases))

    def rate(kinds: frozenset[AttemptStatus]) -> float | None:
        shares = [(attempt_share(case, kinds), n) for case, n in found.items()]
        return fmean([one for share, n in shares if share is not None for one in [share] * n])

    return {name: rate(kinds) for name, kinds in ERROR_KINDS.items()}


def verdict_failures(record: CaseRecord) -> list[bool]:
    """For each verdict that a case needed, a cached one too, whether it failed.

    A case that the target failed needs none.
    """
    judged = record.verdicts.judgements.values() if record.status == "ok" else ()
    return [one.failure is not None for one in judged]


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
