"""Main effect of each value of each parameter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pytest_rageval.analysis.stats.intervals import fmean
from pytest_rageval.analysis.sweep.configurations import Configuration
from pytest_rageval.analysis.sweep.measures import Measures
from pytest_rageval.values.sweep import Value

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
