"""Error rates of the admission of judges and of limits on corrected means, over simulated labels.

People label the answers of a judge whose true rates are known; ``judge_rates`` measures it on the
part ``test`` and decides whether it is admitted. For limits, people and judge score the cases of
runs whose true mean is known, and the package decides limits on the plain and the corrected mean.

Prints Markdown tables. Exits with 1 if a rate breaks its promise beyond Monte-Carlo error: a judge
below the bar, a sound judge under ``--strict`` or a mean at its limit may pass for another one in
at most 5 % of runs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.gate_error_rates import MC_CONFIDENCE, SEED, Rate
from pytest_rageval.analysis.gate.figures import decide_limit
from pytest_rageval.analysis.stats.distributions import cluster_sums
from pytest_rageval.analysis.stats.intervals import MetricScale, mean_interval
from pytest_rageval.analysis.trust.admission import (
    DEV_SHARE,
    fewest_labels,
    group_biases,
    judge_rates,
)
from pytest_rageval.analysis.trust.reliability import corrected_mean
from pytest_rageval.values.gate import Decide
from pytest_rageval.values.settings import ADMIT_AT
from pytest_rageval.values.verdict import turned

RUNS: Final = 1000
STATED: Final = 0.05
LABELS: Final = (fewest_labels(ADMIT_AT) or 0, 50, 100, 200)
"""Of each class, the part ``dev`` included."""
RATES: Final = (0.80, 0.90, 0.95, 1.00)
OTHER: Final = 1.00
"""Rate in the other class, which then refuses as rarely as can be."""
CASES: Final = 200
LABELLED: Final = (20, 40, 80)
MEAN: Final = 4.0
"""True mean, of 5."""
FAR: Final = 0.4
"""Distance of the other limits from it."""
SCALE: Final = MetricScale(0.0, 5.0)

Floats = npt.NDArray[np.float64]


# --- admission -------------------------------------------------------------------------------


class Judge(NamedTuple):
    """Rates of a simulated judge, and its shift between questions."""

    tpr: float
    tnr: float
    together: int = 1
    """Answers to one question, all of which it judges alike."""


def label(
    rng: np.random.Generator, judge: Judge, n: int
) -> tuple[list[bool], list[bool], list[int]]:
    """Draw ``n`` labels of each class in ``test``: truth, verdict, question."""
    truth, said, asked = [], [], []
    for bad, rate in ((True, judge.tpr), (False, judge.tnr)):
        questions = np.repeat(np.arange(n), judge.together)[:n]
        right = rng.random(n) < rate
        for question in questions.tolist():
            truth.append(bad)
            said.append(bool(right[question]) == bad)
            asked.append(2 * question + bad)
    return truth, said, asked


def admitted(judge: Judge, n: int, runs: int) -> Rate:
    """Return how often a judge is admitted by ``n`` labels of each class, of which some are dev."""
    rng = np.random.default_rng([SEED, n, *(round(1000 * one) for one in judge)])
    found = 0
    for _ in range(runs):
        tested = int(rng.binomial(n, 1 - DEV_SHARE))
        found += judge_rates(*label(rng, judge, tested)).reach(ADMIT_AT)
    return Rate.of(found, runs)


def refused(biases: Sequence[float], n: int, runs: int) -> Rate:
    """Return how often ``--strict`` refuses a judge, by the true bias in each source.

    Args:
        biases: above 0, so many of the bad answers pass, of which half are; below, of the good ones
            fail.
        n: labels of each source in ``test``.
        runs: simulated.
    """
    rng = np.random.default_rng([SEED, n, *(round(1000 * (1 + one)) for one in biases)])
    found = 0
    for _ in range(runs):
        groups, truth, said = [], [], []
        for name, bias in enumerate(biases):
            bad = rng.random(n) < 0.5
            # It errs in a tenth of both classes, and besides by its bias.
            err = rng.random(n) < 0.1 + 2 * abs(bias) * (bad == (bias > 0))
            groups += [str(name)] * n
            truth += bad.tolist()
            said += (bad ^ err).tolist()
        found += turned(group_biases(groups, truth, said, range(len(groups)))) is not None
    return Rate.of(found, runs)


# --- corrected means -------------------------------------------------------------------------


class Scoring(NamedTuple):
    """A judge of scores from 0 to 5."""

    name: str
    shift: float
    """Points by which it is too lenient, on half of the answers that are not perfect."""
    noise: float
    """Standard deviation of its error."""


SCORINGS: Final = (
    Scoring("exact", 0.0, 0.2),
    Scoring("lenient", 2.0, 0.5),
    Scoring("useless", 0.5, 4.0),
)


def score(rng: np.random.Generator, judge: Scoring) -> tuple[Floats, Floats]:
    """Draw the scores of people and of the judge of one run's cases, whole points; mean 4."""
    people = rng.choice(np.arange(6.0), size=CASES, p=(0.04, 0.04, 0.08, 0.10, 0.20, 0.54))
    lenient = judge.shift * (rng.random(CASES) < 0.5) * (people < 5)
    said = people + lenient + rng.normal(0, judge.noise, CASES)
    return people, np.clip(np.round(said), 0, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limited:
    """Rates of a limit on the mean."""

    fails_at: Rate
    """``prove_fail`` fails at the true mean."""
    passes_at: Rate
    """``prove_pass`` passes at the true mean."""
    fails_below: Rate
    """``prove_fail`` fails where the mean is ``FAR`` below the limit."""
    passes_above: Rate
    """``prove_pass`` passes where it is ``FAR`` above."""


class Bounds(NamedTuple):
    """An estimate and its one-sided bounds."""

    estimate: float | None
    low: float | None
    high: float | None


def limited(found: Sequence[Bounds]) -> Limited:
    """Decide the limits of many runs."""

    def share(limit: float, decide: Decide, outcome: str) -> Rate:
        decided = (
            decide_limit("min", limit, decide=decide, estimate=one.estimate, low=one.low,
                high=one.high).outcome
            for one in found
        )  # fmt: skip
        return Rate.of(sum(one == outcome for one in decided), len(found))

    return Limited(
        fails_at=share(MEAN, "prove_fail", "fail"),
        passes_at=share(MEAN, "prove_pass", "pass"),
        fails_below=share(MEAN + FAR, "prove_fail", "fail"),
        passes_above=share(MEAN - FAR, "prove_pass", "pass"),
    )


def simulate_limits(judge: Scoring, n: int, runs: int) -> tuple[Limited, Limited]:
    """Return the rates of limits on the judge's mean, and on the one that ``n`` labels correct."""
    rng = np.random.default_rng([SEED, n, round(1000 * judge.noise)])
    plain, corrected = list[Bounds](), list[Bounds]()
    for _ in range(runs):
        people, said = (one.tolist() for one in score(rng, judge))
        one = mean_interval(cluster_sums(said), SCALE, sided=1)
        plain.append(Bounds(sum(said) / CASES, one.low, one.high))
        labels = {int(i): people[i] for i in rng.choice(CASES, n, replace=False)}
        found = corrected_mean(labels, dict(enumerate(said)))
        corrected.append(Bounds(found.estimate, found.low_one_sided, found.high_one_sided))
    return limited(plain), limited(corrected)


# --- promises and output ---------------------------------------------------------------------

ROWS: Final = (
    *((f"finds {rate:.2f} of the bad, passes all good", Judge(rate, OTHER)) for rate in RATES),
    ("finds 0.90, passes 0.90", Judge(0.90, 0.90)),
    ("finds 0.80, answers to a question in threes", Judge(0.80, OTHER, together=3)),
)
SIGNS: Final = (
    ("no bias in 5 sources", (0.0,) * 5, True),
    ("too lenient with 1 of 5", (0.1, 0.0, 0.0, 0.0, 0.0), True),
    ("too lenient with 1, too strict with 1", (0.1, -0.1, 0.0, 0.0, 0.0), False),
)


def tables(runs: int) -> Iterator[tuple[str, list[str]]]:
    """Yield Markdown tables, each with the promises that it breaks."""

    def beyond(name: str, rate: Rate) -> list[str]:
        return [f"{name}: {rate}"] if rate.low > STATED else []

    broken, lines = list[str](), list[str]()
    for name, judge in ROWS:
        rates = [admitted(judge, n, runs) for n in LABELS]
        lines.append(f"| {name} | {' | '.join(map(str, rates))} |")
        if min(judge[:2]) <= ADMIT_AT:
            broken += [one for rate in rates for one in beyond(name, rate)]
    yield _table(("judge", *(f"{n} of each class" for n in LABELS)), lines), broken
    sizes, broken, lines = (50, 100, 200), [], []
    for name, biases, sound in SIGNS:
        rates = [refused(biases, n, runs) for n in sizes]
        lines.append(f"| {name} | {' | '.join(map(str, rates))} |")
        broken += [one for rate in rates for one in beyond(name, rate) if sound]
    yield _table(("bias 0.10", *(f"{n} of each source" for n in sizes)), lines), broken
    broken, lines = [], []
    for judge_of, n in ((one, n) for one in SCORINGS for n in LABELLED):
        plain, corrected = simulate_limits(judge_of, n, runs)
        for use, one in (("plain", plain), ("corrected", corrected)):
            if use == "plain" and n != LABELLED[0]:
                continue  # the same whatever was labelled
            cells = (one.fails_at, one.passes_at, one.fails_below, one.passes_above)
            shown = n if use == "corrected" else "-"
            lines.append(f"| {judge_of.name} | {use} | {shown} | {' | '.join(map(str, cells))} |")
            if use == "corrected":
                name = f"{judge_of.name} judge, {n} labels"
                broken += beyond(f"{name}: fails at its limit", one.fails_at)
                broken += beyond(f"{name}: passes at its limit", one.passes_at)
    heads = ("judge", "use", "labels", "`prove_fail` fails: mean at the limit",
        "`prove_pass` passes: at the limit", f"`prove_fail` fails: {FAR} below",
        f"`prove_pass` passes: {FAR} above")  # fmt: skip
    yield _table(heads, lines), broken


def _table(heads: Sequence[str], lines: Sequence[str]) -> str:
    return "\n".join((f"| {' | '.join(heads)} |", f"|{'|'.join('---' for _ in heads)}|", *lines))


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate, print, and say whether every promise was kept."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=RUNS, help="simulated runs a cell")
    options = parser.parse_args(argv)
    if options.runs < 1:
        parser.error(f"--runs: {options.runs} runs, expected at least 1")
    print(
        f"seed {SEED}, {options.runs} runs a cell, in brackets the {MC_CONFIDENCE:.0%} interval\n"
    )
    broken = []
    for table, found in tables(options.runs):
        print(f"{table}\n")
        broken += found
    print(f"{len(broken)} broken promises" + "".join(f"\n- {line}" for line in broken))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
