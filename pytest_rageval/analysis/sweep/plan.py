"""The plan of a sweep: configurations, cases and rungs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import product
from typing import Final

from pytest_rageval.analysis.sweep.goal import Goal, no_value
from pytest_rageval.analysis.sweep.halving import GRID_REQUESTS, MOST_FINALISTS, Rung, plan_rungs
from pytest_rageval.analysis.sweep.subsets import SweepCase, case_order, split_holdout
from pytest_rageval.analysis.sweep.verdict import Sensitivity, sensitivity
from pytest_rageval.support.text import counted
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.sweep import Axis, Builder, Method, Range, SweepFile, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One point: values sent with each question, and values that an index is built with."""

    query: Mapping[str, Value] = field(default_factory=dict)
    index: Mapping[str, Value] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Hash of both, in 12 hex digits, whatever the order of the names."""
        text = json.dumps([dict(self.query), dict(self.index)], sort_keys=True)
        return sha256(text.encode()).hexdigest()[:12]

    @property
    def name(self) -> str:
        """The values as a user reads them: ``k=5 chunk_tokens=400``."""
        return " ".join(f"{name}={value_text(value)}" for name, value in self.parameters.items())

    @property
    def parameters(self) -> dict[str, Value]:
        """All values; no parameter of an index has the name of another."""
        return {**self.query, **self.index}


def value_text(value: Value) -> str:
    """Return a value as users and commands read it: a text as it is, anything else as JSON.

    >>> value_text(True), value_text(0.2), value_text("rrf")
    ('true', '0.2', 'rrf')
    """
    return value if isinstance(value, str) else json.dumps(value)


def expand_grid(
    query: Mapping[str, Sequence[Value]], index: Mapping[str, Sequence[Value]]
) -> tuple[Configuration, ...]:
    """Return every combination; those of one index are neighbours, so that it is built once.

    Args:
        query: values by parameter of the questions; the last one varies fastest.
        index: values by parameter of the index.
    """
    return tuple(
        Configuration(query=asked, index=built)
        for built in _points(index)
        for asked in _points(query)
    )


def _points(axes: Mapping[str, Sequence[Value]]) -> Iterable[dict[str, Value]]:
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


_MOST: Final = 10_000
"""Configurations that lists may span."""
TRIALS: Final = 40
"""Most configurations that Optuna proposes."""


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
    repeats: int = 1
    """Questions to each configuration about each case."""
    groups: Mapping[str, str]
    """By id of a case that may have a value of the main objective, the cases it is tested with."""
    method: Method = "grid"
    builder: Builder | None = None
    """Builder of an index; None: nothing to build."""
    seed: int = 7
    notes: tuple[str, ...] = ()

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
    def grid_questions(self) -> int:
        """Questions if every configuration were asked every case, with all repeats."""
        return self.rungs[0].configurations * self.n_cases * self.repeats

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
        groups = [self.groups[id] for id in self.deciding if id in self.groups]
        n = max(len(set(groups)), 1)
        return sensitivity(n, self.goal.confidence, n_cases=max(len(groups), 1))

    def judged_at(self, rung: int) -> bool:
        """Whether answers are judged at a rung, from 0: those of finalists are.

        Earlier ones are only where the main objective needs it.
        """
        return self.goal.judged or rung == len(self.rungs) - 1


def plan_sweep(
    sweep: SweepFile, cases: Sequence[SweepCase], goal: Goal, repeats: int = 1
) -> SweepPlan:
    """Plan a sweep; of one whose configurations Optuna proposes, only the baseline is known.

    Args:
        sweep: as described by the user.
        cases: that count, in any order.
        goal: from ``sweep_goal``.
        repeats: number of times that each case is asked.

    Raises:
        ConfigError: there are too few cases for the holdout, budget or method, there is one
            configuration only, or the main objective has no value of any case.
    """
    lists = {"query": _lists(sweep.query), "index": _lists(sweep.index)}
    proposed = sweep.continuous or sweep.method == "optuna"
    size = math.prod(len(values) for table in lists.values() for values in table.values())
    if size > _MOST:
        raise ConfigError.of("", "many_configurations", n=size, most=f"{_MOST:,}")
    configurations = expand_grid(lists["query"], lists["index"])
    axes = (*sweep.query.values(), *sweep.index.values())
    spanned = math.prod(one.n_values if isinstance(one, Range) else len(one) for one in axes)
    n = int(min(spanned, TRIALS if proposed else _MOST))
    if n < 2:
        raise ConfigError.of("", "one_configuration")
    if not cases:
        raise ConfigError.of("", "no_reviewed_case")
    groups = {c.id: c.group for c in cases if not c.without.issuperset(goal.deciding)}
    if not groups:
        raise no_value(f"objective {goal.main.info.key}", goal.main.info)
    base = configurations[0]
    if sweep.baseline is not None:
        base = Configuration(
            query={name: sweep.baseline[name] for name in sweep.query},
            index={name: sweep.baseline[name] for name in sweep.index},
        )
    if proposed:
        configurations = (base,)
    search, held = split_holdout(case_order(cases, sweep.seed), sweep.holdout)
    budget = sweep.budget
    if budget is not None:
        budget = budget // repeats - min(n, MOST_FINALISTS) * len(held)
    rungs = plan_rungs(n, search, "auto" if proposed else sweep.method, budget)
    return SweepPlan(
        goal=goal,
        configurations=configurations,
        baseline=base.key,
        rungs=rungs,
        held=held,
        n_cases=len(cases),
        repeats=repeats,
        groups=groups,
        method="optuna" if proposed else "grid" if len(rungs) == 1 else "halving",
        builder=sweep.builder,
        notes=tuple(_plan_notes(sweep, rungs, proposed=proposed)),
        seed=sweep.seed,
    )


def _plan_notes(sweep: SweepFile, rungs: Sequence[Rung], *, proposed: bool) -> Iterator[str]:
    if proposed:
        builds = ", and an index build for each new index" if sweep.index else ""
        yield f"configurations proposed by Optuna{builds}"
    asked = rungs[0].configurations * len(rungs[0].cases)
    if not proposed and sweep.method == "auto" and len(rungs) == 1 and asked > GRID_REQUESTS:
        yield (
            f"the whole grid, though it is more than {GRID_REQUESTS:,} questions: halving saves "
            f"nothing over {counted(len(rungs[0].cases), 'case')}"
        )


def _lists(axes: Mapping[str, Axis]) -> dict[str, Sequence[Value]]:
    """Return the values of each parameter; of a range its lowest one."""
    return {name: (axis.min,) if isinstance(axis, Range) else axis for name, axis in axes.items()}


def with_proposed(plan: SweepPlan, configurations: Iterable[Configuration]) -> SweepPlan:
    """Return the plan with the configurations that were proposed, those of one index together."""
    found = list(configurations)
    indexes = list(dict.fromkeys(tuple(sorted(one.index.items())) for one in found))
    found.sort(key=lambda one: indexes.index(tuple(sorted(one.index.items()))))
    return replace(plan, configurations=tuple(found))
