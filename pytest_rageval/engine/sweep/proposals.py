"""Configurations that Optuna proposes from the figures of earlier ones (extra ``sweep``)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from pytest_rageval.analysis.sweep.goal import Goal
from pytest_rageval.analysis.sweep.plan import Configuration
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.sweep import Axis, Range, SweepFile

if TYPE_CHECKING:
    from pytest_rageval.analysis.sweep.goal import Measures

BATCH: Final = 8
"""Configurations that are proposed, and asked, together."""
_ATTEMPTS: Final = 20
"""Proposals in a row that were made before, after which a small space is taken as exhausted."""


class Proposals:
    """Configurations in the order in which they were proposed, the baseline first.

    The same seed and the same figures give the same proposals, so that a sweep that was stopped
    goes on as it would have.

    Raises:
        ConfigError: Optuna is not installed.
    """

    def __init__(self, sweep: SweepFile, baseline: Configuration, goal: Goal) -> None:
        try:
            import optuna
        except ImportError as error:
            raise ConfigError.of(
                'ranges and method = "optuna"', "needs_extra", extra="sweep", reason=error
            ) from None
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        samplers = optuna.samplers
        sampler = samplers.NSGAIISampler if goal.objectives[1:] else samplers.TPESampler
        self._study = optuna.create_study(
            sampler=sampler(seed=sweep.seed),
            directions=["maximize" if one.sign > 0 else "minimize" for one in goal.objectives],
        )
        self._failed = optuna.trial.TrialState.FAIL
        self._sweep = sweep
        self._keys = [one.info.key for one in goal.objectives]
        self._space = dict(_distributions({**sweep.query, **sweep.index}))
        self._open: defaultdict[str, list[Any]] = defaultdict(list)
        self._told: dict[str, Sequence[float] | None] = {}
        self.configurations: dict[str, Configuration] = {}
        """By key."""
        self._study.enqueue_trial(baseline.parameters)

    def ask(self, n: int) -> list[Configuration]:
        """Return up to ``n`` new configurations; fewer where hardly any other is left."""
        found: list[Configuration] = []
        repeated = 0
        while len(found) < n and repeated < _ATTEMPTS:
            trial = self._study.ask(self._space)
            one = Configuration(
                query={name: trial.params[name] for name in self._sweep.query},
                index={name: trial.params[name] for name in self._sweep.index},
            )
            if one.key in self._told:
                self._finish(trial, self._told[one.key])
                repeated += 1
                continue
            repeated = repeated + 1 if one.key in self.configurations else 0
            self._open[one.key].append(trial)
            if one.key not in self.configurations:
                self.configurations[one.key] = one
                found.append(one)
        return found

    def tell(self, measures: Mapping[str, Measures]) -> None:
        """Report the figures of configurations; those asked and not measured have failed."""
        for key, trials in self._open.items():
            one = measures.get(key)
            figures = [None if one is None else one.figures.get(name) for name in self._keys]
            known = [value for value in figures if value is not None]
            self._told[key] = known if len(known) == len(figures) else None
            for trial in trials:
                self._finish(trial, self._told[key])
        self._open.clear()

    def _finish(self, trial: Any, values: Sequence[float] | None) -> None:
        if values is None:
            self._study.tell(trial, state=self._failed)
        else:
            self._study.tell(trial, values)


def _distributions(axes: Mapping[str, Axis]) -> Iterator[tuple[str, Any]]:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    for name, axis in axes.items():
        if not isinstance(axis, Range):
            yield name, CategoricalDistribution(axis)
            continue
        low, high = Decimal(str(axis.min)), Decimal(str(axis.max))
        if axis.step:  # Optuna warns of one that does not end at the highest value
            high -= (high - low) % Decimal(str(axis.step))
        if axis.whole:
            yield name, IntDistribution(int(low), int(high), axis.log, int(axis.step or 1))
        else:
            yield name, FloatDistribution(axis.min, float(high), axis.log, axis.step)
