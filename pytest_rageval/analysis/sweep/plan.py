"""The plan of a sweep: configurations, cases and rungs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from pytest_rageval.analysis.sweep.configurations import Configuration, expand_grid
from pytest_rageval.analysis.sweep.goal import Goal
from pytest_rageval.analysis.sweep.halving import MOST_FINALISTS, Rung, plan_rungs, questions
from pytest_rageval.analysis.sweep.subsets import SweepCase, case_order, split_holdout
from pytest_rageval.analysis.sweep.verdict import Sensitivity, sensitivity
from pytest_rageval.project.sweep_file import Builder, Method, Range, SweepFile
from pytest_rageval.values.dataclass import dataclass
from pytest_rageval.values.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPlan:
    """Questions of a sweep and their order."""

    goal: Goal
    configurations: tuple[Configuration, ...]
    """In the order in which they are asked: those of one index are neighbours."""
    baseline: str
    """Key of the configuration to beat."""
    rungs: tuple[Rung, ...]
    held: tuple[str, ...] = ()
    """Ids of the cases that only the finalists are asked, for the verdict."""
    n_cases: int
    """Cases to search with and held out."""
    method: Method = "grid"
    builder: Builder | None = None
    """Builder of an index; None: there is none to build."""
    seed: int = 7
    notes: tuple[str, ...] = field(default=())

    @property
    def by_key(self) -> dict[str, Configuration]:
        """The configurations by key."""
        return {one.key: one for one in self.configurations}

    @property
    def finalists(self) -> int:
        """Number of configurations that the verdict compares."""
        last = self.rungs[-1].configurations
        return min(last, MOST_FINALISTS) if self.held else last

    @property
    def questions(self) -> int:
        """Questions in all, of one repeat each."""
        rungs = [(rung.configurations, len(rung.cases)) for rung in self.rungs]
        return questions(rungs) + self.finalists * len(self.held)

    @property
    def grid_questions(self) -> int:
        """Questions if every configuration were asked every case."""
        return len(self.configurations) * self.n_cases

    @property
    def n_indexes(self) -> int:
        """Different indexes."""
        return len({tuple(sorted(one.index.items())) for one in self.configurations})

    @property
    def deciding(self) -> tuple[str, ...]:
        """Ids of the cases of the verdict."""
        return self.held or self.rungs[-1].cases

    @property
    def sensitivity(self) -> Sensitivity:
        """The smallest differences that the verdict can show."""
        return sensitivity(len(self.deciding), self.goal.confidence)

    def judged_at(self, rung: int) -> bool:
        """Whether answers are judged at a rung, from 0: those of finalists are.

        Earlier ones are only where the main objective needs it.
        """
        return self.goal.judged or rung == len(self.rungs) - 1


def plan_sweep(sweep: SweepFile, cases: Sequence[SweepCase], goal: Goal) -> SweepPlan:
    """Plan a sweep over a grid.

    Args:
        sweep: as described by the user, without ranges.
        cases: that count, in any order.
        goal: from ``sweep_goal``.

    Raises:
        ConfigError: there are too few cases for the holdout, budget or method, there is one
            configuration only, or a parameter has a range.
    """
    if sweep.continuous or sweep.method == "optuna":
        raise ConfigError(
            'ranges and method = "optuna" are not searched yet; expected lists of values, such as '
            "vector_weight = [0.2, 0.5, 0.8]"
        )
    query = {k: axis for k, axis in sweep.query.items() if not isinstance(axis, Range)}
    index = {k: axis for k, axis in sweep.index.items() if not isinstance(axis, Range)}
    configurations = expand_grid(query, index)
    if len(configurations) < 2:
        raise ConfigError("one configuration, expected a parameter with two values or more")
    if not cases:
        raise ConfigError("no case to ask, expected at least one that a person has reviewed")
    base = configurations[0].key
    if sweep.baseline is not None:
        chosen = Configuration(
            query={name: sweep.baseline[name] for name in query},
            index={name: sweep.baseline[name] for name in index},
        )
        base = chosen.key
    search, held = split_holdout(case_order(cases, sweep.seed), sweep.holdout)
    budget = sweep.budget
    if budget is not None:
        budget -= min(len(configurations), MOST_FINALISTS) * len(held)
    rungs = plan_rungs(len(configurations), search, sweep.method, budget)
    return SweepPlan(
        goal=goal,
        configurations=configurations,
        baseline=base,
        rungs=rungs,
        held=held,
        n_cases=len(cases),
        method="grid" if len(rungs) == 1 else "halving",
        builder=sweep.builder,
        seed=sweep.seed,
    )
