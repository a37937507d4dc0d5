"""Successive halving: few cases for many configurations, all cases for few.

Subsets are nested, so a configuration that goes on is asked only the cases that it has not been.
Source: Karnin, Koren, Somekh 2013, with a baseline that is never cut.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Final

from pytest_rageval.analysis.sweep.goal import Goal, Measures
from pytest_rageval.analysis.sweep.verdict import paired_p, paired_values, ranked
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.sweep import Method

LEAST_CASES: Final = 25
"""Cases of the first rung, below which a cut is a matter of luck."""
SHARE: Final = 0.45
"""Share of the grid's requests that halving may spend."""
GRID_REQUESTS: Final = 2000
"""Requests up to which ``auto`` asks the whole grid, if no budget is given."""
MOST_FINALISTS: Final = 4
"""The baseline included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """Cases that some configurations are asked."""

    cases: tuple[str, ...]
    """All cases, those of earlier rungs first."""
    configurations: int
    """Number of them that are asked."""


def plan_rungs(
    configurations: int, cases: Sequence[str], method: Method = "auto", budget: int | None = None
) -> tuple[Rung, ...]:
    """Plan the rungs; a grid has a single one.

    Halving takes the gentlest of several cuts that stay within 45 % of the grid's requests and
    within the budget, and then the largest first rung.

    Args:
        configurations: number of them, the baseline included.
        cases: in the order of ``case_order``.
        method: ``auto`` takes the grid if the budget allows it, and halving otherwise.
        budget: questions of one repeat; None: no limit, and 2000 for ``auto``.

    Raises:
        ConfigError: the budget is too small, or halving would save nothing.
    """
    limit = int(SHARE * configurations * len(cases))
    if method == "grid" or (
        method == "auto" and configurations * len(cases) <= (budget or GRID_REQUESTS)
    ):
        return _grid(configurations, cases, budget)
    few = budget is not None and budget < limit
    if halved := _halved(configurations, cases, min(limit, budget or limit), few=few):
        return halved
    if method == "auto":
        return _grid(configurations, cases, budget)
    raise ConfigError.of(
        "halving",
        "few_questions",
        n=configurations,
        n_cases=len(cases),
        least=budget if few else limit,
    )


def _halved(
    configurations: int, cases: Sequence[str], limit: int, *, few: bool
) -> tuple[Rung, ...]:
    """Return the rungs of halving, over fewer cases where the budget is too small for all."""
    last = len(cases)
    if few:
        lasts = range(LEAST_CASES + 1, len(cases) + 1)
        fits = bisect_right(lasts, 0, key=lambda m: not _ladder(configurations, m, limit))
        last = lasts[fits - 1] if fits else 0
    ladder = _ladder(configurations, last, limit)
    return tuple(Rung(cases=tuple(cases[:m]), configurations=n) for n, m in ladder)


def _grid(configurations: int, cases: Sequence[str], budget: int | None) -> tuple[Rung, ...]:
    n = len(cases) if budget is None else min(len(cases), budget // configurations)
    least = min(LEAST_CASES, len(cases))
    if n < least:
        raise ConfigError.of(
            "budget",
            "bound",
            found=f"{budget} questions of one repeat to search with",
            expected=f"at least {configurations * least}, {least} for each configuration",
        )
    return (Rung(cases=tuple(cases[:n]), configurations=configurations),)


_Ladder = list[tuple[int, int]]
"""Configurations and cases by rung."""


def _ladder(configurations: int, cases: int, limit: int) -> _Ladder:
    """Return the gentlest ladder within a limit of questions; empty if absent."""
    firsts = range(LEAST_CASES, cases)
    for eta in (2, 3, 4, 6, 8, 16, 32, 64, 128):
        for finalists in (MOST_FINALISTS, 3):
            shape = configurations, cases, eta, finalists
            fitting = bisect_right(
                firsts, limit, key=lambda asked: questions(_rungs(*shape, asked))
            )
            if fitting and len(found := _rungs(*shape, firsts[fitting - 1])) > 1:
                return found
    return []


def _rungs(n: int, cases: int, eta: int, finalists: int, asked: int) -> _Ladder:
    rungs = [(n, asked)]
    while n > finalists and asked < cases:
        n = max(finalists, ceil(n / eta))
        asked = cases if n == finalists else min(cases, asked * eta)
        rungs.append((n, asked))
    return rungs


def questions(rungs: Sequence[tuple[int, int]]) -> int:
    """Count the questions of configurations and cases by rung, each case asked once."""
    before = [0, *(cases for _, cases in rungs)]
    return sum(n * (cases - asked) for (n, cases), asked in zip(rungs, before, strict=False))


# --- cuts ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A configuration that did not go on."""

    key: str
    reason: str
    tie: bool
    """Whether the cases could not tell it from one that went on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The end of a rung: configurations that go on, and others."""

    kept: tuple[str, ...]
    """Keys, the best first."""
    dropped: tuple[Dropped, ...] = ()
    unearned: tuple[str, ...] = ()
    """The baseline, if it went on only to be compared with."""


def keep(measures: Mapping[str, Measures], n: int, baseline: str, goal: Goal) -> Cut:
    """Choose the configurations that go on to the next rung.

    Those with proven breaks of constraints go first; of several objectives, the fronts are taken
    one after the other.

    Args:
        measures: of the rung, over the same cases, in the order of the configurations.
        n: number of those that go on, at least 2.
        baseline: key of the one that always does.
        goal: of the sweep.
    """
    order = merit_order(measures, goal)
    kept = order[:n]
    if baseline not in kept:
        kept = [*order[: n - 1], baseline]
    last = [key for key in kept if key != baseline][-1]
    fronts = _fronts(measures, goal)
    return Cut(
        kept=tuple(kept),
        dropped=tuple(
            Dropped(key=key, reason="another is at least as good in every objective", tie=False)
            if len(goal.objectives) > 1 and fronts[key] > fronts[last] and not measures[key].proven
            else _dropped(measures, key, last, goal)
            for key in order
            if key not in kept
        ),
        unearned=() if baseline in order[:n] else (baseline,),
    )


def merit_order(measures: Mapping[str, Measures], goal: Goal) -> list[str]:
    """Return the keys, the one to keep first."""
    fronts = _fronts(measures, goal)
    plain = {key: replace(one, broken=one.proven) for key, one in measures.items()}
    return sorted(ranked(plain, goal), key=lambda key: (bool(measures[key].proven), fronts[key]))


def _fronts(measures: Mapping[str, Measures], goal: Goal) -> dict[str, int]:
    return pareto_ranks({key: goal.point(one.figures) for key, one in measures.items()})


def _dropped(measures: Mapping[str, Measures], key: str, last: str, goal: Goal) -> Dropped:
    one = measures[key]
    if one.objective is None:
        return Dropped(key=key, reason="no case was scored", tie=False)
    if one.proven:
        return Dropped(key=key, reason="; ".join(one.proven), tie=False)
    p = paired_p(paired_values(one, measures[last]), goal)
    tie = p is None or p > 1 - goal.confidence
    known = "cannot be told from" if tie else "is worse than"
    return Dropped(key=key, reason=f"{known} the last that went on", tie=tie)


Point = Sequence[float | None]
"""One figure by objective, the more the better; None: not measured."""


def pareto_front(points: Mapping[str, Point]) -> tuple[str, ...]:
    """Return the keys of the points that no other one dominates, in their order.

    A point dominates another if it is at least as good in every objective and better in one. A
    point without a figure neither dominates nor is on the front.
    """
    known = {
        key: [value for value in point if value is not None]
        for key, point in points.items()
        if None not in point
    }

    def dominates(one: list[float], other: list[float]) -> bool:
        return one != other and all(a >= b for a, b in zip(one, other, strict=True))

    return tuple(
        key for key, one in known.items() if not any(dominates(b, one) for b in known.values())
    )


def pareto_ranks(points: Mapping[str, Point]) -> dict[str, int]:
    """Return the number of the front of each point: 0 on the front, 1 on that of the rest.

    Points without a figure share the last one.
    """
    left, ranks, rank = dict(points), dict[str, int](), 0
    while front := pareto_front(left):
        ranks |= dict.fromkeys(front, rank)
        left = {key: point for key, point in left.items() if key not in ranks}
        rank += 1
    return ranks | dict.fromkeys(left, rank)
