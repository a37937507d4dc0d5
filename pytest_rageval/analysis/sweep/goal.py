"""The goal of a sweep, and the figures of one configuration that it ranks by."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import CaseGroup, group_repeats
from pytest_rageval.analysis.gate.figures import (
    CheckFigure,
    LimitOutcome,
    decide_limit,
    find_figure,
)
from pytest_rageval.analysis.stats.distributions import cluster_sums
from pytest_rageval.analysis.stats.intervals import MetricScale, fmean, mean_interval
from pytest_rageval.analysis.sweep.subsets import SweepCase
from pytest_rageval.analysis.two_runs import with_numbers
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.registry import MetricInfo, Registry, unit_of
from pytest_rageval.support.text import format_limit_pair, shown
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.gate import Check, Decide
from pytest_rageval.values.numbers import Aggregate, MetricSummary
from pytest_rageval.values.run import StoredRun
from pytest_rageval.values.sweep import SWEEP_SCORE, SWEEP_WEIGHTS, SweepFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """One figure to improve."""

    info: MetricInfo
    weights: Mapping[str, float] | None = None
    """Of the metrics that ``sweep_score`` is the weighted sum of; None: a metric itself."""

    @property
    def sign(self) -> int:
        """1 where more is better, -1 where less is."""
        return -1 if self.info.direction == "lower" else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """Measures of success of a configuration."""

    objectives: tuple[Objective, ...]
    """The first one decides, by paired tests; all of them make the Pareto front."""
    constraints: tuple[Check, ...] = ()
    confidence: float = 0.95
    registry: Registry = BUILT_IN

    @property
    def main(self) -> Objective:
        """The objective that ranks and decides."""
        return self.objectives[0]

    def point(self, figures: Mapping[str, float | None]) -> list[float | None]:
        """Return the figure of each objective, the more the better; None: not measured."""
        found = [(figures.get(one.info.key), one.sign) for one in self.objectives]
        return [None if figure is None else sign * figure for figure, sign in found]

    @property
    def order(self) -> tuple[tuple[str, int], ...]:
        """Figures that rank configurations, the deciding one first, and 1 where more is better."""
        found = tuple((one.info.key, one.sign) for one in self.objectives)
        return found if self.main.weights is None else (*found, *SWEEP_TIES)

    @property
    def deciding(self) -> tuple[str, ...]:
        """Metrics of cases that the main objective is made of."""
        return tuple(self.main.weights or (self.main.info.key,))

    @property
    def judged(self) -> bool:
        """Whether the main objective needs answers to be judged, so that every rung is."""
        return any(self.registry.cases[key].answer_side for key in self.deciding)


def sweep_goal(
    sweep: SweepFile,
    cases: Sequence[SweepCase],
    registry: Registry = BUILT_IN,
    confidence: float = 0.95,
) -> Goal:
    """Return the goal of a sweep.

    Args:
        sweep: with its objectives and constraints checked.
        cases: of the sweep.
        registry: the one that they were checked with.
        confidence: of intervals and tests, 0 to 1.

    Raises:
        ConfigError: ``sweep_score`` has its usual weights and no case is unanswerable; a constraint
            is about a category or tag that no case has, or a metric that its cases cannot have.
    """
    for check in sweep.constraints:
        _check_constraint(check, cases, registry)
    goal = Goal(
        objectives=tuple(_objective(name, sweep.weights, registry) for name in sweep.objectives),
        constraints=sweep.constraints,
        confidence=confidence,
        registry=registry,
    )
    weights = goal.main.weights or {}
    if "negative_accuracy" in weights and all(case.answerable for case in cases):
        others = answerable_weights(weights)
        example = ", ".join(f"{key} = {weight:g}" for key, weight in others.items())
        raise ConfigError.of(SWEEP_SCORE, "no_unanswerable", write=example)
    return goal


def answerable_weights(weights: Mapping[str, float] = SWEEP_WEIGHTS) -> dict[str, float]:
    """Return the weights without ``negative_accuracy``, which needs unanswerable cases.

    >>> answerable_weights()
    {'recall_at_k': 0.71, 'mrr': 0.29}
    """
    others = {key: weight for key, weight in weights.items() if key != "negative_accuracy"}
    total = sum(others.values()) or 1.0
    return {key: round(weight / total, 2) for key, weight in others.items()}


def _check_constraint(check: Check, cases: Sequence[SweepCase], registry: Registry) -> None:
    groups = {one.id: one.tags if check.table == "tag" else (one.category,) for one in cases}
    inside = [one for one in cases if check.table == "overall" or check.group in groups[one.id]]
    if not inside and check.table != "overall":
        found = sorted({name for names in groups.values() for name in names})
        raise ConfigError.of(
            f"constraint on {check.name}",
            "no_group",
            what=check.table,
            found=shown(check.group),
            names=", ".join(map(shown, found)) or "none",
        )
    info = registry.info(check.metric)
    if info and inside and all(info.key in one.without for one in inside):
        raise no_value(f"constraint on {check.name}", info)


def no_value(what: str, info: MetricInfo) -> ConfigError:
    """Return the error of a figure that no case can have, whatever is replied."""
    return ConfigError.of(what, "no_population", group=info.population)


SWEEP_TIES: Final = (("recall_at_k", 1), ("mrr", 1), ("latency_ms.p95", -1))
"""Figures that decide between equal ``sweep_score``."""


def _objective(name: str, weights: Mapping[str, float] | None, registry: Registry) -> Objective:
    if name != SWEEP_SCORE:
        info = registry.info(name)
        if info is None:  # a phase of latency, of which only percentiles are known
            info = replace(registry.runs["latency_ms.p95"], key=name, title=name)
        return Objective(info=info)
    chosen = dict(weights or SWEEP_WEIGHTS)
    return Objective(
        info=MetricInfo(
            key=SWEEP_SCORE,
            title="Weighted sum of " + ", ".join(chosen),
            scale=(0.0, None),  # the values of cases, which depend on how many there are
            population="cases with any of these metrics",
            level="run",
        ),
        weights=chosen,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """Figures of one configuration."""

    values: Mapping[str, float]
    """The main objective of every scored case, by node id; its mean is ``objective``."""
    clusters: Mapping[str, str | None] = field(default_factory=dict)
    """By the same ids; a case without one is a cluster of its own."""
    objective: float | None = None
    """None: it is not measured."""
    low: float | None = None
    """Two-sided interval of the objective."""
    high: float | None = None
    n_error: int = 0
    """Cases without an answer."""
    error: str = ""
    """Reason of the first of them."""
    figures: Mapping[str, float | None] = field(default_factory=dict)
    """All objectives by key, and the limited figures by name of the constraint."""
    broken: tuple[str, ...] = ()
    """The constraints that the figures break or that have no figure, in words."""
    proven: tuple[str, ...] = ()
    """Those of them that are broken with confidence."""


def measure(run: StoredRun, goal: Goal, cases: Collection[str] | None = None) -> Measures:
    """Measure one configuration.

    Args:
        run: of it, with its records; its end may be to come.
        goal: objectives and constraints.
        cases: node ids of the cases that count; None: all.
    """
    wanted = None if cases is None else set(cases)
    kept = [r for r in run.records if r.counted and (wanted is None or r.nodeid in wanted)]
    groups, sure = group_repeats(kept), goal.confidence
    run = with_numbers(replace(run, records=kept), confidence=sure)

    def figure(name: str) -> float | None:
        return find_figure(Check(metric=name, kind="min", limit=0.0), run).estimate

    values = _case_values(groups, goal.main)
    low, high = _interval(run.numbers, groups, values, goal)
    figures = {
        one.info.key: figure(one.info.key)
        if one.weights is None
        else fmean([*_case_values(groups, one).values()])
        for one in goal.objectives
    }
    figures |= {name: figure(name) for name, _ in goal.order if name not in figures}
    limits = [(check, find_figure(check, run, confidence=sure)) for check in goal.constraints]
    figures |= {constraint_name(check): found.estimate for check, found in limits}
    return Measures(
        values=values,
        clusters={group.first.nodeid: group.first.cluster for group in groups},
        objective=figures[goal.main.info.key],
        low=low,
        high=high,
        n_error=sum(group.outcome == "error" for group in groups),
        error=next((one.error.message for one in kept if one.error is not None), ""),
        figures=figures,
        broken=tuple(_broken(*one) for one in limits if _outcome(*one, "estimate") != "pass"),
        proven=tuple(_broken(*one) for one in limits if _outcome(*one, "prove_fail") == "fail"),
    )


def constraint_name(check: Check) -> str:
    """Name a constraint: ``over_abstention_rate [work] <= 0.1``."""
    sign = ">=" if check.kind == "min" else "<="
    return f"{check.metric}{check.where} {sign} {check.limit:g}"


def _outcome(check: Check, found: CheckFigure, decide: Decide) -> LimitOutcome:
    low, high = found.low_one_sided, found.high_one_sided
    return decide_limit(
        check.kind, check.limit, decide=decide, estimate=found.estimate, low=low, high=high
    ).outcome


def _broken(check: Check, found: CheckFigure) -> str:
    if found.estimate is None:
        return f"{constraint_name(check)} cannot be checked: {found.no_data}"
    came, limit = format_limit_pair(found.estimate, check.limit, unit_of(check.metric))
    side = "below" if check.kind == "min" else "above"
    return f"{check.metric}{check.where} {came} is {side} {limit}"


def _case_values(
    groups: Sequence[CaseGroup], objective: Objective, *, centred: bool = False
) -> dict[str, float]:
    """Return values by case whose mean is the objective; empty: it has no data.

    Those of a weighted sum of means weigh each case by its part in each mean. ``centred`` takes
    each metric's mean from its values, so that only their spread within the metrics remains.
    """
    if objective.weights is None:
        found = {g.first.nodeid: g.mean(objective.info.key) for g in groups}
        return {id: value for id, value in found.items() if value is not None}
    columns = {
        key: {g.first.nodeid: v for g in groups if (v := g.mean(key)) is not None}
        for key, weight in objective.weights.items()
        if weight
    }
    if not all(columns.values()):
        return {}
    means = {key: fmean([*c.values()]) or 0.0 if centred else 0.0 for key, c in columns.items()}
    scored = [g.first.nodeid for g in groups if any(g.first.nodeid in c for c in columns.values())]
    return {
        id: len(scored)
        * fsum(
            objective.weights[key] * (column[id] - means[key]) / len(column)
            for key, column in columns.items()
            if id in column
        )
        for id in scored
    }


def _interval(
    numbers: Aggregate, groups: Sequence[CaseGroup], values: Mapping[str, float], goal: Goal
) -> tuple[float | None, float | None]:
    objective = goal.main
    if objective.weights is None:
        summary = numbers.metrics.get(objective.info.key, MetricSummary(n=0))
        return summary.low, summary.high
    spread = _case_values(groups, objective, centred=True)
    middle = fmean([*values.values()]) or 0.0
    clusters = [group.first.cluster for group in groups if group.first.nodeid in spread]
    sample = cluster_sums([middle + one for one in spread.values()], clusters)
    interval = mean_interval(sample, MetricScale(None, None), confidence=goal.confidence)
    return interval.low, interval.high
