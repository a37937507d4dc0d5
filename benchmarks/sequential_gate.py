"""Cases that an always-valid sequential test would save, compared with the regression check.

Cases are asked in a random order and two tests look at each new pair with the baseline. The mixture
SPRT (Robbins 1970; Johari et al. 2022) says *worse*: of the pairs that flipped, q are losses, and
the likelihood ratio of q uniform on (1/2, 1) to q = 1/2 reaches 20. A betting test (Waudby-Smith
and Ramdas 2024) says *not worse*: no drop as large as the one that the regression check catches in
80 % of runs, at odds of 5. Asking stops at the first of the two; without either, all cases are
asked and the run passes.

*Saved at equal errors* compares the cases asked with the size of the check that has the same chance
of seeing that drop. Prints a Markdown table, or JSON with ``--json``.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from pytest_rageval.analysis.stats.difference_test import difference_test
from pytest_rageval.analysis.stats.intervals import MetricScale

SEED: Final = 20261130
RUNS: Final = 4000
ALPHA: Final = 0.05
POWER: Final = 0.8
SIZES: Final = (60, 150, 500)
FLIPS: Final = (0.04, 0.15)
"""Shares of the cases that flip between two equal systems."""
WORTH: Final = 0.3
"""Share of the cases that has to be saved."""
_STAKES: Final = np.linspace(0.05, 0.95, 19)
_HALVINGS: Final = 9
_STEPS: Final = 24
"""Sizes of the check among which that of equal power is found."""

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def flipped(seed: int, n: int, flips: float, drop: float, runs: int) -> tuple[Counts, Counts]:
    """Return the cases lost and gained after each pair, (runs, n)."""
    rng = np.random.default_rng([SEED, seed, n, round(flips * 1000), round(drop * 1e6)])
    drawn, gained = rng.random((runs, n)), flips / 2
    lost = drawn < gained + drop
    return lost.cumsum(1), ((drawn < 2 * gained + drop) & ~lost).cumsum(1)


# --- the check that asks all ---------------------------------------------------------------------


@cache
def fails(n: int, lost: int, gained: int) -> bool:
    """Return whether the regression check fails a run."""
    same = [1] * (n - lost - gained)
    base, cand = [1] * lost + [0] * gained + same, [0] * lost + [1] * gained + same
    found = difference_test(base, cand, MetricScale(binary=True))
    return found is not None and found.p_below() < ALPHA


def failed(lost: Counts, gained: Counts, n: int) -> float:
    """Return the share of runs that the check fails after ``n`` cases."""
    pairs = np.stack([lost[:, n - 1], gained[:, n - 1]], axis=1)
    found, counts = np.unique(pairs, axis=0, return_counts=True)
    return sum(
        int(count)
        for (one, other), count in zip(found.tolist(), counts, strict=True)
        if fails(n, one, other)
    ) / len(lost)


def detectable(n: int, flips: float, runs: int) -> float:
    """Return the drop that the check sees with its power, by bisection."""
    low, high = 0.0, 0.6
    for _ in range(_HALVINGS):
        drop = (low + high) / 2
        seen = failed(*flipped(1, n, flips, drop, runs), n)
        low, high = (drop, high) if seen < POWER else (low, drop)
    return (low + high) / 2


# --- the tests that look at each pair ------------------------------------------------------------


def mixture_ratio(most: int) -> Floats:
    """Return the logarithm of the mixture's likelihood ratio by losses and gains up to ``most``."""
    log_factorial = np.array([math.lgamma(k + 1) for k in range(2 * most + 2)])
    found = np.zeros((most + 1, most + 1))
    for lost in range(most + 1):
        for gained in range(most + 1):
            n = lost + gained + 1
            k = np.arange(lost + 1)
            # The beta distribution above 1/2 is a binomial tail.
            terms = log_factorial[n] - log_factorial[k] - log_factorial[n - k]
            beta = log_factorial[lost] + log_factorial[gained] - log_factorial[n]
            found[lost, gained] = beta + np.logaddexp.reduce(terms)
    return found


def not_worse(lost: Counts, gained: Counts, drop: float) -> Floats:
    """Return the logarithm of the capital of bets that the true drop is below ``drop``."""
    same = np.arange(1, lost.shape[1] + 1) - lost - gained
    bets = [
        np.log1p(stake * (1 + drop)) * gained
        + np.log1p(-stake * (1 - drop)) * lost
        + np.log1p(stake * drop) * same
        for stake in _STAKES / (1 - drop)
    ]
    found: Floats = np.logaddexp.reduce(bets, axis=0) - math.log(len(bets))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The sequential test at one number of cases."""

    n: int
    flips: float
    drop: float
    """Drop that the check sees in 80 % of runs."""
    false_alarms: float
    caught: float
    """Share of runs with that drop that fail."""
    asked_equal: float
    """Mean number of cases asked if nothing changed."""
    asked_worse: float
    """Mean number asked with the drop."""
    n_check: float
    """Size of the check that has the same power."""

    @property
    def saved(self) -> tuple[float, float]:
        """Shares of the cases saved at equal errors, without and with the drop."""
        return 1 - self.asked_equal / self.n_check, 1 - self.asked_worse / self.n_check


def simulate(n: int, flips: float, runs: int) -> Row:
    """Simulate runs without a change, and with the drop that the check can detect."""
    drop = detectable(n, flips, runs)
    most = min(n, math.ceil(n * (flips + 2 * drop)) + 10)
    ratio = mixture_ratio(most)
    found = []
    for seed, true_drop in enumerate((0.0, drop), start=2):
        lost, gained = flipped(seed, n, flips, true_drop, runs)
        worse = ratio[np.minimum(lost, most), np.minimum(gained, most)] >= math.log(1 / ALPHA)
        ends = worse | (not_worse(lost, gained, drop) >= math.log(1 / (1 - POWER)))
        last = np.where(ends.any(1), ends.argmax(1), n - 1)
        found.append((float(worse[np.arange(runs), last].mean()), float(last.mean()) + 1))
    (alarms, asked_equal), (caught, asked_worse) = found
    lost, gained = flipped(4, n, flips, drop, runs)
    sizes = [max(2, n * step // _STEPS) for step in range(1, _STEPS + 1)]
    powers = np.maximum.accumulate([failed(lost, gained, size) for size in sizes])
    return Row(
        n=n,
        flips=flips,
        drop=drop,
        false_alarms=alarms,
        caught=caught,
        asked_equal=asked_equal,
        asked_worse=asked_worse,
        n_check=float(np.interp(caught, powers, sizes)),
    )


def render(rows: Sequence[Row]) -> str:
    """Return the figures as a Markdown table."""
    heads = (
        "cases | flips | drop | false alarms | caught | asked: no change | asked: drop | "
        "check of equal power | saved: no change | saved: drop"
    )
    lines = [
        f"{r.n} | {r.flips:.0%} | {r.drop:.3f} | {r.false_alarms:.1%} | {r.caught:.0%} | "
        f"{r.asked_equal:.0f} | {r.asked_worse:.0f} | {r.n_check:.0f} | "
        f"{r.saved[0]:.0%} | {r.saved[1]:.0%}"
        for r in rows
    ]
    ruler = "|".join(["---"] * (heads.count("|") + 1))
    table = [f"| {heads} |", f"|{ruler}|", *(f"| {line} |" for line in lines)]
    return "\n".join(table).replace("%", " %")


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate, print, and say whether it would be worth it anywhere."""
    parser = argparse.ArgumentParser(description="Cases saved by stopping when it is decided.")
    parser.add_argument("--runs", type=int, default=RUNS, help="simulated runs a figure")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(argv)
    if options.runs < 1:
        parser.error(f"--runs: {options.runs} runs, expected at least 1")
    rows = [simulate(n, flips, options.runs) for n in SIZES for flips in FLIPS]
    if options.json:
        figures = [asdict(row) | {"saved": row.saved} for row in rows]
        print(json.dumps({"schema_version": 1, "seed": SEED, "rows": figures}, indent=2))
    else:
        print(f"seed {SEED}, {options.runs} runs a figure\n\n{render(rows)}")
        n_worth = sum(min(row.saved) >= WORTH for row in rows)
        print(f"\n{n_worth} of {len(rows)} rows save {WORTH:.0%} with and without the drop")
    return 0


if __name__ == "__main__":
    sys.exit(main())
