"""The parameters and the goal of a sweep, as a user describes them in sweep.toml."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Final, Literal

from pytest_rageval.values.declared import Count, Finite, Flag, Natural, Positive
from pytest_rageval.values.gate import Check
from pytest_rageval.values.limits import Limits

Method = Literal["auto", "grid", "halving", "optuna"]
Builder = Literal["embedded", "command", "fixture"]
Value = str | int | float | bool
"""Value of one parameter."""

SWEEP_SCORE: Final = "sweep_score"
"""Objective: weighted sum of means, by default ``SWEEP_WEIGHTS``."""
SWEEP_WEIGHTS: Final[Mapping[str, float]] = MappingProxyType(
    {"recall_at_k": 0.5, "negative_accuracy": 0.3, "mrr": 0.2}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Continuous values of one parameter, which only Optuna searches."""

    min: Finite
    max: Finite
    step: Positive | None = None
    """Distance of neighbouring values; None: any value in between."""
    log: Flag = False
    """Whether values are spread evenly on a logarithmic scale."""

    @property
    def whole(self) -> bool:
        """Whether its values are integers."""
        return all(type(v) is int for v in (self.min, self.max, self.step) if v is not None)

    @property
    def n_values(self) -> float:
        """Number of its values; infinite: any in between."""
        step = self.step or float(self.whole)
        return math.floor((self.max - self.min) / step + 1e-9) + 1 if step else math.inf


Axis = tuple[Value, ...] | Range


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepFile:
    """A sweep as a user describes it."""

    objectives: tuple[str, ...] = ("recall_at_k",)
    """Metric keys, or ``sweep_score``; the first one decides."""
    weights: Mapping[str, float] | None = None
    """Of ``sweep_score``; None: ``SWEEP_WEIGHTS``."""
    constraints: tuple[Check, ...] = ()
    baseline: Mapping[str, Value] | None = None
    """One value of every parameter; None: the first of each."""
    query: Mapping[str, Axis] = field(default_factory=dict)
    """Values sent with each question."""
    index: Mapping[str, Axis] = field(default_factory=dict)
    """Values that an index is built with."""
    build: str | None = None
    """Command that builds an index of the values in its environment; None: the embedded server."""
    build_embedded: bool = False
    """Whether the embedded server builds it."""
    build_fixture: str | None = None
    """Name of the fixture that builds it."""
    method: Method = "auto"
    budget: Count | None = None
    """Questions in all; None: no limit."""
    holdout: Annotated[
        float, Limits("a number from 0 to below 1", strict=True, ge=0, lt=1, allow_inf_nan=False)
    ] = 0.0
    """Share of the cases that only the verdict uses."""
    seed: Natural = 7
    path: str | None = None
    """Path as shown to the user; None: there is no file."""

    @property
    def builder(self) -> Builder | None:
        """Builder of an index; None: nothing to build."""
        if self.build_embedded:
            return "embedded"
        return "command" if self.build else "fixture" if self.build_fixture else None

    @property
    def continuous(self) -> bool:
        """Whether any parameter has a range instead of a list of values."""
        return any(isinstance(axis, Range) for axis in (*self.query.values(), *self.index.values()))


QUICK: Final = SweepFile(
    objectives=(SWEEP_SCORE,),
    query={"k": (5, 3, 10), "min_score": (0.0, 0.5)},
    index={"chunk_tokens": (400, 200), "chunk_overlap": (50, 0)},
    build_embedded=True,
)
"""Grid of ``--quick``: cutoff, least score, and the size and overlap of chunks.

Each has the default of the embedded server first, so that the baseline is what it does anyway.
"""
