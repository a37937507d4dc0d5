"""Figures of repeats, raters and judges by definition: over all pairs, subsets and squares."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
from scipy import stats

from tests.naive.intervals import SLACK, Floats, Values, sign_flip, wilson

# --- repeats --------------------------------------------------------------------------------------


def exact_mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def exact_squares(values: Sequence[Fraction]) -> Fraction:
    centre = exact_mean(values)
    return sum(((v - centre) ** 2 for v in values), Fraction(0))


def exact(values: Floats) -> list[Fraction]:
    """The decimals as written, so that equal numbers have no variance at all."""
    return [Fraction(repr(v)) for v in values]


def variance_components(rows: Sequence[Floats]) -> Values:
    """Split the squares: around each case's mean, and of the case means around the grand one."""
    n, repeats = len(rows), len(rows[0]) if rows else 0
    found: Values = dict.fromkeys(("mean", "within", "between", "icc", "noise_share", "se_mean"))
    if n == 0:
        return found
    cases = [exact(row) for row in rows]
    means = [exact_mean(case) for case in cases]
    found["mean"] = float(exact_mean(means))
    if n >= 2:
        msb = repeats * exact_squares(means) / (n - 1)
        found["se_mean"] = math.sqrt(msb / (n * repeats))
    if repeats >= 2:
        within = sum(map(exact_squares, cases), Fraction(0)) / (n * (repeats - 1))
        found["within"] = float(within)
    if n < 2 or repeats < 2:
        return found
    between = max(Fraction(0), (msb - within) / repeats)
    found["between"] = float(between)
    if between + within:
        found["icc"] = float(between / (between + within))
        found["noise_share"] = float(within / repeats / (between + within / repeats))
    return found


def pass_at_k(n: int, c: int, k: int) -> Values:
    return {"value": share_of_subsets(n, c, k, any)}


def pass_hat_k(n: int, c: int, k: int) -> Values:
    return {"value": share_of_subsets(n, c, k, all)}


def share_of_subsets(
    n: int, c: int, k: int, holds: Callable[[Iterable[bool]], bool]
) -> float | None:
    chosen = [holds(s) for s in combinations([i < c for i in range(n)], k)]
    return sum(chosen) / len(chosen) if chosen else None


def flakiness(counts: Sequence[int], r: int) -> Values:
    """Compare every ordered pair of repeats of every case."""
    cases = [[i < c for i in range(r)] for c in counts]
    if not cases or r < 2:
        return {"flip_probability": None}
    flips = [sum(a != b for a, b in permutations(case, 2)) / (r * (r - 1)) for case in cases]
    flaky = sum(len(set(case)) == 2 for case in cases) / len(cases)
    return {"flaky_rate": flaky, "flip_probability": sum(flips) / len(flips)}


# --- raters ---------------------------------------------------------------------------------------

DISTANCES: dict[str | None, Callable[[int, int], float]] = {
    None: lambda i, j: float(i != j),
    "linear": lambda i, j: abs(i - j),
    "quadratic": lambda i, j: (i - j) ** 2,
}


def kappa(a: Floats, b: Floats, categories: Floats, weights: str | None = None) -> Values:
    """1 - seen / expected disagreement; expected = every a against every b."""
    distance = DISTANCES[weights]
    ones, others = ([categories.index(x) for x in side] for side in (a, b))
    if not ones:
        return {"value": None}
    seen = sum(distance(i, j) for i, j in zip(ones, others, strict=True)) / len(ones)
    expected = sum(distance(i, j) for i in ones for j in others) / len(ones) ** 2
    return {"value": 1 - seen / expected if expected else None}


def krippendorff_alpha(data: Sequence[Sequence[float | None]], level: str) -> Values:
    """Observed disagreement within units against that of all pairable values together."""
    columns = list(zip(*data, strict=True))
    units = [[v for v in unit if v is not None] for unit in columns]
    units = [unit for unit in units if len(unit) >= 2]
    every = [v for unit in units for v in unit]
    between = mean_distance(permutations(every, 2), every, level)
    if not between:
        return {"value": None}
    within = sum(
        len(unit) * mean_distance(permutations(unit, 2), every, level) for unit in units
    ) / len(every)
    return {"value": 1 - within / between}


def mean_distance(pairs: Iterable[tuple[float, float]], every: Floats, level: str) -> float:
    found = [distance_of(one, other, every, level) for one, other in pairs]
    return sum(found) / len(found) if found else 0.0


def distance_of(one: float, other: float, every: Floats, level: str) -> float:
    if level == "nominal":
        return float(one != other)
    if level == "interval":
        return (one - other) ** 2
    low, high = sorted((one, other))
    between = sum(low <= v <= high for v in every)
    return (between - (every.count(low) + every.count(high)) / 2) ** 2 if low != high else 0.0


def spearman(a: Floats, b: Floats) -> Values:
    if len(set(a)) < 2 or len(set(b)) < 2:
        return {"value": None}
    return {"value": float(np.corrcoef(average_ranks(a), average_ranks(b))[0, 1])}


def average_ranks(values: Floats) -> list[float]:
    return [sum(y < x for y in values) + (values.count(x) + 1) / 2 for x in values]


def auroc(good: Floats, bad: Floats) -> float | None:
    """Count the pairs in which the good answer scores above the bad one, ties half."""
    pairs = [(g > b) + (g == b) / 2 for g in good for b in bad]
    return sum(pairs) / len(pairs) if pairs else None


def prf(truth: Sequence[bool], pred: Sequence[bool]) -> Values:
    pairs = list(zip(truth, pred, strict=True))
    hits = pairs.count((True, True))
    extra, missed = pairs.count((False, True)), pairs.count((True, False))
    return {
        "precision": hits / (hits + extra) if hits + extra else None,
        "recall": hits / (hits + missed) if hits + missed else None,
        "precision_interval": wilson(hits, hits + extra),
        "recall_interval": wilson(hits, hits + missed),
        "f1": 2 * hits / (2 * hits + extra + missed) if hits + extra + missed else None,
    }


# --- a judge beside people ------------------------------------------------------------------------


def exact_variance(values: Sequence[Fraction]) -> Fraction:
    return exact_squares(values) / (len(values) - 1) if len(values) > 1 else Fraction(0)


def judge_weight(ys: Sequence[Fraction], fs: Sequence[Fraction], fus: Sequence[Fraction]) -> float:
    centre_y, centre_f = exact_mean(ys), exact_mean(fs)
    products = [(y - centre_y) * (f - centre_f) for y, f in zip(ys, fs, strict=True)]
    together = exact_variance([*fs, *fus])
    if not together:
        return 0.0
    return float(exact_mean(products) / ((1 + Fraction(len(ys), len(fus))) * together))


def ppi_mean(
    y: Floats, f: Floats, fu: Floats, conf: float = 0.95, lo: float = 0, hi: float = 1
) -> Values:
    """Bias-corrected mean of two or more labels, its interval written out from the squares."""
    ys, judged, only = np.array(y), np.array(f), np.array(fu)
    n, more = len(ys), len(only)
    weight = min(1.0, max(0.0, judge_weight(exact(y), exact(f), exact(fu))))
    theta = weight * float(only.mean()) + float((ys - weight * judged).mean())
    variance = weight**2 * float(exact_variance(exact(fu))) / more
    variance += float(np.var(ys - weight * judged, ddof=1)) / n
    found: Values = {"estimate": theta, "lambda": weight, "human_only": float(ys.mean())}
    found |= {"se": math.sqrt(variance)}
    centre = (n * theta + lo + hi) / (n + 2)
    squares = variance * n * (n - 1) + n * (theta - centre) ** 2
    squares += (lo - centre) ** 2 + (hi - centre) ** 2
    half = float(stats.t.ppf((1 + conf) / 2, n - 1)) * math.sqrt(n / (n - 1) * squares) / (n + 2)
    return found | {"low": max(lo, centre - half), "high": min(hi, centre + half)}


def canary(
    ref: Floats, new: Floats, lo: float = 0, hi: float = 5, pass_line: float | None = None
) -> Values:
    line = lo + 0.8 * (hi - lo) if pass_line is None else pass_line
    shifts = [(n - r) / (hi - lo) for r, n in zip(ref, new, strict=True)]
    if not shifts:
        return {"mean_shift": None, "p": None, "flip_rate": None, "max_abs": None}
    shift = math.fsum(shifts) / len(shifts)
    sides = [(r >= line - SLACK) != (n >= line - SLACK) for r, n in zip(ref, new, strict=True)]
    flips, p = sum(sides) / len(sides), sign_flip(shifts)["p_two_sided"]
    moved = p < 0.01 and abs(shift) > 0.05 + SLACK
    return {
        "mean_shift": shift,
        "max_abs": max(map(abs, shifts)),
        "flip_rate": flips,
        "p": p,
        "drift": moved or flips > 0.10 + SLACK,
    }
