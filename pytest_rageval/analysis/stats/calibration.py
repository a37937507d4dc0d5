"""Judge and human scores: bias-corrected means, and drift on canaries.

Defined in docs/statistics.md#agreement-with-people.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_rageval.analysis.stats.distributions import normal_quantile, student_t_quantile
from pytest_rageval.analysis.stats.intervals import (
    NO_INTERVAL,
    Interval,
    fmean,
    tail_level,
)
from pytest_rageval.analysis.stats.paired import sign_flip
from pytest_rageval.metrics.judged import PASS_SHARE
from pytest_rageval.support.text import TOLERANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class PpiMean:
    """A mean of human scores, made more precise by a judge's scores of other answers."""

    estimate: float | None
    """None: no human label."""
    low: float | None
    """Two-sided, with ``high``."""
    high: float | None
    low_one_sided: float | None
    """Each bound alone, for gates."""
    high_one_sided: float | None
    se: float | None
    detectable_se: float | None
    """The standard error that minimum detectable effects use, which take normal quantiles."""
    weight: float
    """Lambda, the weight of the judge, from 0 to 1."""
    human_only: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryDrift:
    """Frozen answers judged again; shifts are shares of the scale's range."""

    drift: bool
    mean_shift: float | None
    """New - reference; None: no canary."""
    max_abs: float | None
    flip_rate: float | None
    """Canaries that changed sides of the pass line / canaries."""
    p: float | None
    """Two-sided sign-flip test of the shift."""


def _variance(values: Sequence[float]) -> float:
    return statistics.variance(values) if len(values) > 1 else 0.0


def ppi_mean(
    human: Sequence[float],
    judge: Sequence[float],
    judge_only: Sequence[float],
    *,
    lo: float = 0.0,
    hi: float = 1.0,
    confidence: float = 0.95,
) -> PpiMean:
    """PPI++ mean (Angelopoulos, Duchi, Zrnic 2023) with a plus-two t interval.

    The published z interval covers as little as half of its nominal level on small samples.

    Args:
        human: people's scores.
        judge: the judge's scores of the same answers.
        judge_only: the judge's scores of further answers.
        lo: lower end of the scale.
        hi: upper end.
        confidence: of the pair of bounds, and of each bound alone.

    >>> people, same = [1] * 7 + [0] * 3, [1] * 9 + [0]
    >>> round(ppi_mean(people, same, [1] * 36 + [0] * 4).estimate, 2)
    0.7
    """
    if len(human) != len(judge):
        raise ValueError(f"{len(human)} human scores for {len(judge)} judge scores")
    n = len(human)
    if not human:
        return _ppi(None, [NO_INTERVAL] * 2, None, 0.0, None)
    weight, spread = 0.0, _variance([*judge, *judge_only])
    if judge_only and spread > 0:
        mean_y, mean_f = math.fsum(human) / n, math.fsum(judge) / n
        both = math.fsum((y - mean_y) * (f - mean_f) for y, f in zip(human, judge, strict=True)) / n
        weight = min(1.0, max(0.0, both / ((1 + n / len(judge_only)) * spread)))
    rest = [y - weight * f for y, f in zip(human, judge, strict=True)]
    estimate, variance = math.fsum(rest) / n, _variance(rest) / n
    if judge_only:
        estimate += weight * (math.fsum(judge_only) / len(judge_only))
        variance += weight**2 * _variance(judge_only) / len(judge_only)
    intervals = _plus_twos_around(estimate, variance, n, (lo, hi), confidence)
    return _ppi(estimate, intervals, math.sqrt(variance), weight, fmean(human))


def _ppi(
    estimate: float | None,
    intervals: Sequence[Interval],
    se: float | None,
    weight: float,
    human_only: float | None,
) -> PpiMean:
    two, one = intervals
    return PpiMean(
        estimate=estimate,
        low=two.low,
        high=two.high,
        low_one_sided=one.low,
        high_one_sided=one.high,
        se=se,
        detectable_se=one.detectable_se,
        weight=weight,
        human_only=human_only,
    )


def _plus_twos_around(
    mean: float, variance: float, n: int, scale: tuple[float, float], confidence: float
) -> list[Interval]:
    """Two-sided and one-sided plus-two t of n values with this mean and variance of the mean."""
    if n < 2:
        return [NO_INTERVAL, NO_INTERVAL]
    lo, hi = scale
    centre = (n * mean + lo + hi) / (n + 2)
    squares = variance * n * (n - 1) + n * (mean - centre) ** 2
    ends = (lo - centre) ** 2 + (hi - centre) ** 2
    se = math.sqrt(n / (n - 1) * (squares + ends)) / (n + 2)
    return [
        Interval(
            low=max(lo, centre - half),
            high=min(hi, centre + half),
            method="plus_two",
            se=se,
            detectable_se=half / normal_quantile(level) * (1 + 2 / n),
        )
        for level in (tail_level(confidence, 2), tail_level(confidence, 1))
        for half in [student_t_quantile(level, n - 1) * se]
    ]


def canary_drift(
    reference: Sequence[float], new: Sequence[float], *, lo: float = 0.0, hi: float = 5.0
) -> CanaryDrift:
    """Compare a judge's scores of frozen answers with stored ones.

    Drift: the shift is both significant (p < .01) and larger than .05 of the range, or more than a
    tenth of the canaries cross the pass line.

    Args:
        reference: stored scores.
        new: scores of the same answers today.
        lo: lower end of the scale.
        hi: upper end.
    """
    span = hi - lo
    shifts = [(b - a) / span for a, b in zip(reference, new, strict=True)]
    mean_shift = fmean(shifts)
    if mean_shift is None:
        return CanaryDrift(drift=False, mean_shift=None, max_abs=None, flip_rate=None, p=None)
    line = lo + PASS_SHARE * span - TOLERANCE
    flips = [(a >= line) != (b >= line) for a, b in zip(reference, new, strict=True)]
    flip_rate = sum(flips) / len(flips)
    p = sign_flip(shifts).p_two_sided
    moved = p < 0.01 and abs(mean_shift) > 0.05 + TOLERANCE
    return CanaryDrift(
        drift=moved or flip_rate > 0.10 + TOLERANCE,
        mean_shift=mean_shift,
        max_abs=max(abs(s) for s in shifts),
        flip_rate=flip_rate,
        p=p,
    )
