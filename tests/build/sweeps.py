"""Sweeps with made-up scores, for tests of plans, cuts, verdicts and reports."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import fsum
from typing import Final

from pytest_rageval.analysis.stats.intervals import wilson
from pytest_rageval.analysis.sweep.concluding import RungResult, close_rung, conclude
from pytest_rageval.analysis.sweep.goal import Goal, Measures, sweep_goal
from pytest_rageval.analysis.sweep.halving import questions
from pytest_rageval.analysis.sweep.outcome import SweepOutcome
from pytest_rageval.analysis.sweep.plan import Configuration, SweepPlan, plan_sweep
from pytest_rageval.analysis.sweep.subsets import SweepCase
from pytest_rageval.values.sweep import SweepFile

Scores = Callable[[Configuration, str], float]
"""Score of a configuration in a case."""

TWELVE = SweepFile(
    objectives=("hit_at_k",),
    query={"k": (3, 5, 10), "fusion": ("weighted", "rrf")},
    index={"chunk_tokens": (200, 400)},
    build_embedded=True,
    method="halving",
)
"""A grid of twelve points, halved."""


def some_cases(n: int, categories: Sequence[str] = ("work", "home")) -> list[SweepCase]:
    """Cases of several categories in turn; every tenth is unanswerable."""
    return [
        SweepCase(
            id=f"evals/set.jsonl::c{i}",
            category=categories[i % len(categories)],
            answerable=i % 10 != 9,
        )
        for i in range(n)
    ]


def measured(values: Mapping[str, float], goal: Goal | None = None, **fields: object) -> Measures:
    """Measures of a configuration with these scores."""
    mean = fsum(values.values()) / len(values) if values else None
    key = "hit_at_k" if goal is None else goal.main.info.key
    interval = wilson(fsum(values.values()), len(values))
    given: dict[str, object] = {
        "low": interval.low,
        "high": interval.high,
        "values": dict(values),
        "objective": mean,
        "figures": {key: mean},
        **fields,
    }
    return Measures(**given)  # type: ignore[arg-type]


def planned(sweep: SweepFile = TWELVE, n_cases: int = 120) -> SweepPlan:
    """Plan of a sweep over made-up cases."""
    cases = some_cases(n_cases)
    return plan_sweep(sweep, cases, sweep_goal(sweep, cases))


def plan_questions(plan: SweepPlan) -> int:
    """Questions of a plan in all, of one repeat each."""
    rungs = [(rung.configurations, len(rung.cases)) for rung in plan.rungs]
    return questions(rungs) + plan.finalists * len(plan.held)


def swept(plan: SweepPlan, score: Scores) -> SweepOutcome:
    """Outcome of a sweep whose configurations have these scores."""
    alive = {one.key for one in plan.configurations}
    results: list[RungResult] = []
    asked: dict[str, int] = {}

    def all_measures(ids: Sequence[str]) -> dict[str, Measures]:
        return {
            one.key: measured({id: score(one, id) for id in ids}, plan.goal)
            for one in plan.configurations
            if one.key in alive
        }

    for number, rung in enumerate(plan.rungs):
        asked |= dict.fromkeys(alive, len(rung.cases))
        results.append(close_rung(plan, number, all_measures(rung.cases)))
        alive = set(results[-1].cut.kept)
    held = all_measures(plan.held) if plan.held else None
    for key in alive if held else ():
        asked[key] += len(plan.held)
    return conclude(plan, results, asked, held=held)


HOSTILE: Final = "<script>x()</script>\x1b[31m|`a`\u202e\"'{{7*7}}\\\n"
"""A text for names and values of parameters."""


def hostile() -> SweepOutcome:
    """Outcome of a sweep with a winner whose parameters have hostile texts, and two objectives."""
    sweep = replace(
        TWELVE,
        objectives=("hit_at_k", "context_tokens"),
        method="grid",
        query={HOSTILE: ("a", HOSTILE), "k": (3, 5)},
        index={"chunk_tokens": (200, 400)},
    )
    plan = planned(sweep, 150)
    found = swept(plan, noisy(3, rate=0.4, planted=plan.configurations[7].key, gain=0.5))
    ranking = [
        replace(row, figures={**row.figures, "context_tokens": 100.0 * i}, on_front=i < 2)
        for i, row in enumerate(found.ranking)
    ]
    front = tuple(row.key for row in ranking[:2])
    return replace(
        found, ranking=tuple(ranking), front=front, notes=(HOSTILE,), constraints=(HOSTILE,)
    )


def noisy(seed: int, rate: float = 0.7, planted: str = "", gain: float = 0.0) -> Scores:
    """0/1 scores at a rate; half of a case's luck is shared by all configurations.

    Args:
        seed: of all draws.
        rate: share of hits.
        planted: key of a configuration that has ``gain`` more.
        gain: from 0 to 1 - rate.
    """

    @cache
    def luck(id: str) -> tuple[bool, float]:
        draw = random.Random(f"{seed} {id}")
        return draw.random() < 0.5, draw.random()

    def score(one: Configuration, id: str) -> float:
        shared, level = luck(id)
        if not shared:
            level = random.Random(f"{seed} {id} {one.key}").random()
        return float(level < rate + (gain if one.key == planted else 0.0))

    return score
