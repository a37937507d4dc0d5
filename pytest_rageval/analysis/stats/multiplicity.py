"""Several tests at once (docs/statistics.md#several-gates)."""

from __future__ import annotations

from collections.abc import Sequence


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
