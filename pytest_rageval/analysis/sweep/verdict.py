"""The verdict of a sweep: paired tests of the best configuration over the same cases."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_rageval.analysis.compare.pairs import PairedValues
from pytest_rageval.analysis.stats.distributions import cluster_indices, is_binary
from pytest_rageval.analysis.stats.intervals import MetricScale
from pytest_rageval.analysis.stats.paired import (
    holm,
    mcnemar,
    minimum_detectable_effect,
    paired_difference,
    sign_flip,
)
from pytest_rageval.analysis.sweep.goal import Goal, Measures

SweepVerdict = Literal["better", "no_clear_winner", "worse"]
Role = Literal["baseline", "runner_up"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest:
    """One configuration against another over the cases that both have scores of."""

    candidate: str
    """Key of a configuration."""
    against: str
    role: Role
    n: int
    difference: float | None
    """Mean of candidate - against; None: no case in common."""
    low: float | None
    high: float | None
    p: float | None
    """Two-sided; None: no case in common."""
    p_adjusted: float | None
    """For the tests of the verdict."""
    proven: bool
    """Whether the candidate is better and the adjusted p small enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The verdict with its reasons."""

    verdict: SweepVerdict
    winner: str | None = None
    """Key of the winner; None unless the verdict is ``better``."""
    best: str | None = None
    """Key of the best configuration that may win; None: only the baseline."""
    runner_up: str | None = None
    tests: tuple[PairedTest, ...] = ()


def decide(
    measures: Mapping[str, Measures],
    baseline: str,
    goal: Goal,
    *,
    chosen: Sequence[str] | None = None,
) -> Decision:
    """Decide whether one configuration is better than the baseline and than every other.

    The best is tested against the baseline and against the runner-up, both adjusted by Holm's
    method; it wins if both tests prove it better. Though the same cases choose the best of many
    and decide about it, it is seldom better than the runner-up by luck: for the claim to be the
    best of any number, a two-sided test against the runner-up needs no further adjustment (Hung
    and Fithian 2019, arXiv 1610.03944).

    Args:
        measures: of the finalists, over the same cases.
        baseline: key of the configuration to beat, one of them.
        goal: of the sweep.
        chosen: finalists in the order of other cases than these, the best first; None: these
            cases rank them.
    """
    order = chosen or ranked(measures, goal)
    allowed = [key for key in order if key == baseline or not measures[key].broken]
    others = [key for key in allowed if key != baseline]
    if not others:
        return Decision(verdict="no_clear_winner")
    best = allowed[0]
    if best == baseline:
        # The next best: if the baseline beats it, it beats those behind it all the more.
        (test,) = _tests(measures, baseline, {"runner_up": others[0]}, goal)
        verdict: SweepVerdict = "worse" if test.proven else "no_clear_winner"
        return Decision(verdict=verdict, best=best, runner_up=others[0], tests=(test,))
    runner_up = allowed[1]
    against: dict[Role, str] = {"baseline": baseline}
    if runner_up != baseline:
        against["runner_up"] = runner_up
    tests = _tests(measures, best, against, goal)
    won = all(test.proven for test in tests)
    return Decision(
        verdict="better" if won else "no_clear_winner",
        winner=best if won else None,
        best=best,
        runner_up=runner_up,
        tests=tests,
    )


def ranked(measures: Mapping[str, Measures], goal: Goal) -> tuple[str, ...]:
    """Return the keys, the best main objective first.

    Configurations that break a constraint come after those that do not, and those without a value
    last. Equal values are decided by the other objectives, and those of ``sweep_score`` by recall,
    reciprocal rank, and latency, then by the given order.
    """

    def place(key: str) -> tuple[bool, bool, tuple[float, ...]]:
        one = measures[key]
        figures = [(one.figures.get(name), sign) for name, sign in goal.order]
        badness = (math.inf if value is None else -sign * value for value, sign in figures)
        return one.objective is None, bool(one.broken), tuple(badness)

    return tuple(sorted(measures, key=place))


def paired_values(one: Measures, other: Measures) -> PairedValues:
    """Pair two configurations by case, over the cases that both have values of."""
    ids = [id for id in one.values if id in other.values]
    return PairedValues(
        base=tuple(other.values[id] for id in ids),
        new=tuple(one.values[id] for id in ids),
        clusters=tuple(one.clusters.get(id) for id in ids),
        nodeids=tuple(ids),
    )


def paired_p(values: PairedValues, goal: Goal) -> float | None:
    """Return the two-sided p of a difference (McNemar or sign flips); None: no pair."""
    if not values.n:
        return None
    differences = [n - b for b, n in zip(values.base, values.new, strict=True)]
    alone = len(cluster_indices(values.n, values.clusters)) == values.n
    if alone and goal.main.info.binary and is_binary((*values.base, *values.new)):
        gained, lost = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
        return mcnemar(gained, lost).p_two_sided
    return sign_flip(differences, clusters=values.clusters).p_two_sided


def _tests(
    measures: Mapping[str, Measures], candidate: str, against: Mapping[Role, str], goal: Goal
) -> tuple[PairedTest, ...]:
    pairs = [paired_values(measures[candidate], measures[other]) for other in against.values()]
    ps = [paired_p(values, goal) for values in pairs]
    adjusted = holm([1.0 if p is None else p for p in ps])
    found = []
    for (role, other), values, p, p_adjusted in zip(
        against.items(), pairs, ps, adjusted, strict=True
    ):
        gap = paired_difference(
            values.base,
            values.new,
            MetricScale(*goal.main.info.scale, binary=goal.main.info.binary),
            clusters=values.clusters,
            confidence=goal.confidence,
        )
        better = goal.main.sign * (gap.diff or 0.0) > 0
        found.append(
            PairedTest(
                candidate=candidate,
                against=other,
                role=role,
                n=values.n,
                difference=gap.diff,
                low=gap.interval.low,
                high=gap.interval.high,
                p=p,
                p_adjusted=None if p is None else p_adjusted,
                proven=p is not None and better and p_adjusted <= 1 - goal.confidence,
            )
        )
    return tuple(found)


# --- before the first question ---------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """The smallest differences that a number of cases can show."""

    n: int
    """Independent cases of the verdict: those of a conversation or about a document are one."""
    n_cases: int
    """All cases of the verdict."""
    least_cases: int
    """Of the ``n``, those in which a 0/1 metric must get better to differ significantly."""
    least: float | None
    """Their share; None: more than there are."""
    typical: float
    """Difference that is found with 80 % power if those of single cases spread as usual."""


def sensitivity(n: int, confidence: float = 0.95, *, n_cases: int | None = None) -> Sensitivity:
    """Return the smallest differences that the stricter of the two tests can show.

    Args:
        n: independent cases of the verdict, at least 1.
        confidence: of the verdict.
        n_cases: all cases of the verdict; None: each is independent.

    >>> found = sensitivity(100)
    >>> found.least_cases, found.least, round(found.typical, 3)
    (7, 0.07, 0.108)
    """
    alpha = (1 - confidence) / 2
    cases = math.ceil(math.log2(2 / alpha))
    # The standard deviation that docs/statistics.md#how-many-cases assumes.
    typical = minimum_detectable_effect(0.35 / math.sqrt(n), confidence=1 - alpha / 2)
    assert typical is not None
    return Sensitivity(
        n=n,
        n_cases=n if n_cases is None else n_cases,
        least_cases=cases,
        least=cases / n if cases <= n else None,
        typical=typical,
    )
