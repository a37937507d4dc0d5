"""The outcome of a sweep, which is what ``sweep.json`` holds, with the effect of each parameter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pytest_rageval.analysis.stats.intervals import fmean
from pytest_rageval.analysis.sweep.goal import Measures
from pytest_rageval.analysis.sweep.plan import Configuration
from pytest_rageval.analysis.sweep.verdict import PairedTest, Sensitivity, SweepVerdict
from pytest_rageval.values.sweep import Builder, Method, Value

MOST_VALUES: Final = 12
"""Number of values above which each must have two configurations on average, unlike those of a
range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One value of one parameter over the configurations that have it."""

    kind: Literal["query", "index"]
    parameter: str
    value: Value
    n: int
    """Configurations."""
    mean: float
    """Mean of their main objective."""
    difference: float
    """From the mean of all configurations."""


def main_effects(
    configurations: Sequence[Configuration], measures: Mapping[str, Measures]
) -> tuple[Effect, ...]:
    """Return the effects in the order of parameters and values.

    A parameter with one value is left out, and one with more than ``MOST_VALUES`` and fewer
    than two configurations a value on average.

    Args:
        configurations: of the sweep.
        measures: by key, over the same cases, such as those of the first rung.
    """
    known = {c.key: m.objective for c in configurations if (m := measures.get(c.key)) is not None}
    points = [(c, v) for c in configurations if (v := known.get(c.key)) is not None]
    middle = fmean([value for _, value in points])
    if middle is None:
        return ()
    groups: dict[tuple[Any, ...], list[float]] = {}
    for configuration, value in points:
        for kind, axes in (("query", configuration.query), ("index", configuration.index)):
            for name, setting in axes.items():
                # The type, too, as 1 equals True.
                groups.setdefault((kind, name, type(setting), setting), []).append(value)
    n_values = Counter(key[:2] for key in groups)
    found = []
    for (kind, name, _, setting), values in groups.items():
        mean, n = fmean(values), n_values[kind, name]
        many = n > MOST_VALUES and 2 * n > len(points)
        if mean is not None and len(values) < len(points) and not many:
            found.append(
                Effect(
                    kind=kind,
                    parameter=name,
                    value=setting,
                    n=len(values),
                    mean=mean,
                    difference=mean - middle,
                )
            )
    places = {name: i for i, name in enumerate(dict.fromkeys(key[:2] for key in groups))}
    return tuple(sorted(found, key=lambda one: places[one.kind, one.parameter]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """One configuration in the ranking."""

    key: str
    name: str
    parameters: Mapping[str, Value]
    query: Mapping[str, Value]
    index: Mapping[str, Value]
    objective: float | None
    """Main objective over the cases of its last rung; None: not measured."""
    interval: tuple[float | None, float | None]
    """Two-sided, of the objective."""
    held: float | None
    """Main objective over the cases held out; None: it was not asked them."""
    n: int
    """Cases that the objective is the mean of."""
    n_error: int
    error: str
    """Reason of the first case without an answer; empty if absent."""
    figures: Mapping[str, float | None]
    """All objectives and limited figures, by name."""
    requests: int
    rung: int
    """Last rung that it was asked, from 1."""
    cut: str
    """Reason why it did not go on; empty: it was in the last rung."""
    tie: bool
    """Whether it was cut although the cases could not tell it from one that went on."""
    broken: tuple[str, ...]
    """Constraints that it breaks, for which it cannot win."""
    on_front: bool
    baseline: bool
    run: str
    """Id of its run, a folder beside the outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveRow:
    """One objective."""

    key: str
    title: str
    direction: Literal["higher", "lower", "neutral"]
    weights: Mapping[str, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RungRow:
    """One rung as it was asked."""

    configurations: int
    cases: int
    judged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOutcome:
    """The outcome of a sweep."""

    verdict: SweepVerdict
    sentence: str
    """The verdict with its reasons, in plain ASCII but for names of the user."""
    winner: Mapping[str, Value] | None
    """Parameters of the winner; None unless the verdict is ``better``."""
    winner_key: str | None
    baseline: str
    """Key of the configuration to beat."""
    objectives: tuple[ObjectiveRow, ...]
    """The first one ranks and decides."""
    constraints: tuple[str, ...]
    ranking: tuple[Ranked, ...]
    """The best first; those that were cut follow, the last rung first."""
    tests: tuple[PairedTest, ...]
    """Tests of the verdict."""
    front: tuple[str, ...]
    """Keys of the finalists that no other one beats in every objective."""
    effects: tuple[Effect, ...]
    """Over the cases of the first rung, which all configurations were asked."""
    rungs: tuple[RungRow, ...]
    method: Method
    requests_spent: int
    requests_grid: int
    """Requests if every configuration had been asked every case."""
    builder: Builder | None
    """Builder of an index; None: nothing to build."""
    index_builds: int
    holdout: int
    """Cases held out for the verdict; 0: none."""
    n_cases: int
    sensitivity: Sensitivity
    confidence: float
    seed: int
    notes: tuple[str, ...] = ()
