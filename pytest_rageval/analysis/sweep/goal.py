"""The objectives and constraints of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pytest_rageval.analysis.sweep.subsets import SweepCase
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.registry import MetricInfo, Registry
from pytest_rageval.support.text import shown
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.gate import Check
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
