"""Smallest detectable difference by number of cases (docs/statistics.md#how-many-cases)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pytest_rageval.analysis.stats.distributions import normal_quantile

POWER = 0.80


def minimum_detectable_effect(
    se: float | None, *, confidence: float = 0.95, power: float = POWER
) -> float | None:
    """Smallest true difference that a one-sided check finds with probability ``power``.

    Args:
        se: one-sided half-width over the normal quantile (``Interval.detectable_se``); None:
            unknown, and so is the effect.
        confidence: one-sided, 0 to 1.
        power: 0 to 1.

    >>> round(minimum_detectable_effect(0.35 / 50**0.5), 3)
    0.123
    """
    return None if se is None else (normal_quantile(confidence) + normal_quantile(power)) * se


def required_n(
    sd: float, difference: float, *, confidence: float = 0.95, power: float = POWER
) -> int | None:
    """Cases needed to find ``difference``; None for a difference of 0, which none can show.

    Args:
        sd: standard deviation of one case's value or difference.
        difference: the smallest that matters, either sign.
        confidence: one-sided, 0 to 1.
        power: 0 to 1.

    >>> required_n(0.35, 0.05)
    303
    """
    if difference == 0:
        return None
    z = normal_quantile(confidence) + normal_quantile(power)
    return math.ceil((z * sd / difference) ** 2)


def holm(ps: Sequence[float]) -> list[float]:
    """Adjusted p-values that bound the chance of any false alarm (Holm 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    m = len(ps)
    adjusted = [0.0] * m
    highest = 0.0
    for rank, i in enumerate(sorted(range(m), key=lambda i: ps[i])):
        highest = max(highest, min(1.0, (m - rank) * ps[i]))
        adjusted[i] = highest
    return adjusted


def benjamini_hochberg(ps: Sequence[float]) -> list[float]:
    """Adjusted p-values that bound the share of false alarms (Benjamini and Hochberg 1995).

    >>> [round(p, 9) for p in benjamini_hochberg([0.01, 0.04, 0.03])]
    [0.03, 0.04, 0.04]
    """
    m = len(ps)
    adjusted = [0.0] * m
    lowest = 1.0
    for rank, i in enumerate(sorted(range(m), key=lambda i: -ps[i])):
        lowest = min(lowest, ps[i] * m / (m - rank))
        adjusted[i] = lowest
    return adjusted
