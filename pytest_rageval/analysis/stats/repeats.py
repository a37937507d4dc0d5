"""Figures from repeats of cases: noise, flakiness, pass@k (docs/statistics.md#repeats)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_rageval.analysis.stats.intervals import fmean


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceComponents:
    """One-way random-effects split of R repeats of n cases; None: unknown."""

    mean: float | None
    within: float | None
    """Variance between repeats of one case; unknown for R = 1."""
    between: float | None
    """Variance between cases; never below 0."""
    icc: float | None
    """between / (between + within)."""
    se_mean: float | None
    noise_share: float | None
    """The share of the mean's variance that more repeats could remove."""


def variance_components(rows: Sequence[Sequence[float]]) -> VarianceComponents:
    """Variance within and between cases.

    Args:
        rows: one per case, each with the same number R of repeats.

    Raises:
        ValueError: cases have different numbers of repeats.

    >>> round(variance_components([[1, 1, 0], [0, 0, 0], [1, 1, 1], [1, 0, 1]]).icc, 2)
    0.42
    """
    n, sizes = len(rows), {len(row) for row in rows}
    if len(sizes) > 1:
        raise ValueError(f"cases have {min(sizes)} to {max(sizes)} repeats, expected one number")
    r = sizes.pop() if sizes else 0
    mean = fmean([x for row in rows for x in row])
    if mean is None:
        return VarianceComponents(
            mean=None, within=None, between=None, icc=None, se_mean=None, noise_share=None
        )
    # Spread does not depend on the origin; from one of the values, equal ones have none at all.
    shifted = [[x - rows[0][0] for x in row] for row in rows]
    centres = [math.fsum(row) / r for row in shifted]
    centre = math.fsum(centres) / n
    msb = r * math.fsum((c - centre) ** 2 for c in centres) / (n - 1) if n > 1 else None
    within = None
    if r > 1:
        pairs = zip(shifted, centres, strict=True)
        within = math.fsum((x - c) ** 2 for row, c in pairs for x in row) / (n * (r - 1))
    between = max(0.0, (msb - within) / r) if msb is not None and within is not None else None
    icc = noise_share = None
    if between is not None and within is not None and between + within > 0:
        icc = between / (between + within)
        noise_share = (within / r) / (between + within / r)
    return VarianceComponents(
        mean=mean,
        within=within,
        between=between,
        icc=icc,
        se_mean=math.sqrt(msb / (n * r)) if msb is not None else None,
        noise_share=noise_share,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PassCurves:
    """Figures of one case for each k from 1 to the number of its repeats."""

    at_k: Sequence[float]
    """Probability that at least one of k repeats passes (Chen et al. 2021)."""
    hat_k: Sequence[float]
    """Probability that all of k repeats pass, "pass^k" (tau-bench, 2024)."""


def pass_curves(repeats: int, passes: int) -> PassCurves:
    """Return pass@k and pass^k for each k from 1 to R.

    Each number of ways follows from the one before, so that thousands of repeats take a moment.

    Args:
        repeats: R, how often the case was asked.
        passes: how often it passed, 0 to R.

    >>> pass_curves(2, 1)
    PassCurves(at_k=[0.5, 1.0], hat_k=[0.5, 0.0])
    """
    at_k, hat_k = [], []
    counts = (_ways(drawn_from, repeats) for drawn_from in (repeats, repeats - passes, passes))
    for ways, none_passes, all_pass in zip(*counts, strict=True):
        at_k.append((ways - none_passes) / ways)
        hat_k.append(all_pass / ways)
    return PassCurves(at_k=at_k, hat_k=hat_k)


def _ways(n: int, most: int) -> Iterator[int]:
    """Yield ``math.comb(n, k)`` for each k from 1 to the most."""
    ways = 1
    for k in range(1, most + 1):
        ways = ways * max(0, n - k + 1) // k
        yield ways


def flip_probability(repeats: int, passes: int) -> float:
    """Probability that two repeats of a case, drawn at random, disagree.

    Args:
        repeats: R, how often the case was asked, at least 2.
        passes: how often it passed, 0 to R.

    >>> flip_probability(5, 3)
    0.6
    """
    return 2 * passes * (repeats - passes) / (repeats * (repeats - 1))
