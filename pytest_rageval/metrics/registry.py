"""The registry of metrics as a value: title, direction, scale and population of every key.

Aggregation, thresholds.toml, comparison and reports are given the same one, so a key exists
everywhere or nowhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from pytest_rageval.support.text import Unit
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.own_code import BUILT_IN_SOURCE, MetricDefinition, Section

STAGE_PREFIX: Final = "stage."
"""Of the figures that count the cases of a failure stage."""
_OWN_KEY: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)+", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricInfo(MetricDefinition):
    """Definition of one metric key."""

    key: str
    """Plain key of records, thresholds, comparison and ``statistics``."""
    compute: Callable[..., object] | None = field(default=None, compare=False, repr=False)
    """Function of the project that scores a case or a run; None: the metric is built in or of a
    rubric, or only its definition is known, as in a stored run."""

    @property
    def built_in(self) -> bool:
        """Whether it is a metric of the package."""
        return self.source == BUILT_IN_SOURCE

    @property
    def meaning(self) -> tuple[object, ...]:
        """The parts without which two numbers are not comparable."""
        return self.version, self.direction, self.scale, self.binary

    @property
    def judged(self) -> bool:
        """Whether it is based on a judge's score."""
        return self.level == "judged"

    @property
    def answer_side(self) -> bool:
        """Whether it judges the answer, which ``--retrieval-only`` leaves out."""
        return self.level in {"answer", "judged"}

    @property
    def bounds(self) -> tuple[float, float]:
        """Both ends of the scale; infinity: unbounded above."""
        low, high = self.scale
        return low, math.inf if high is None else high

    @property
    def width(self) -> float:
        """Distance between both ends of the scale; infinity: unbounded above."""
        low, high = self.bounds
        return high - low

    @property
    def worst(self) -> float | None:
        """The value of an error in ``mean_errors_as_worst``; None: the scale has no worst end."""
        low, high = self.scale
        return high if self.direction == "lower" else low


@dataclass(frozen=True, kw_only=True)
class Registry:
    """Every metric known to a session, a command or a stored run."""

    cases: Mapping[str, MetricInfo]
    """Metrics that a single case can have, in the order of display: built-in ones first."""
    runs: Mapping[str, MetricInfo]
    """Figures of a whole run that thresholds can limit; no case has them."""
    aliases: Mapping[str, str]
    """Other names accepted on input."""
    sections: tuple[Section, ...] = ()
    """Sections of the report from the project's own code."""

    @cached_property
    def own_cases(self) -> Mapping[str, MetricInfo]:
        """Metrics of a case that are not built in."""
        return {key: info for key, info in self.cases.items() if not info.built_in}

    @cached_property
    def own(self) -> Mapping[str, MetricInfo]:
        """Metrics that are not built in, of cases and of runs."""
        of_runs = {key: info for key, info in self.runs.items() if not info.built_in}
        return {**self.own_cases, **of_runs}

    @property
    def reads_records(self) -> bool:
        """Whether code of a project gets all records of a run, with their texts."""
        return bool(self.sections) or any(info.compute is not None for info in self.runs.values())

    def of(self, source: str) -> tuple[str, ...]:
        """Return the keys of the metrics of a case that a source defines."""
        return tuple(key for key, info in self.cases.items() if info.source == source)

    def resolve(self, name: str) -> str | None:
        """Return the key of a name or alias, for metrics of cases and runs; None if unknown."""
        key = self.aliases.get(name, name)
        return key if key in self.cases or key in self.runs else None

    def info(self, name: str) -> MetricInfo | None:
        """Return the definition of a metric of a case or a run, by key or alias."""
        key = self.aliases.get(name, name)
        return self.cases.get(key) or self.runs.get(key)

    def with_(self, definitions: Iterable[MetricInfo]) -> Registry:
        """Return a registry that has further metrics, after those it has.

        Raises:
            ConfigError: a key has no dot or another sign than letters, digits, _ and -, or its
                first word is that of a built-in metric, or it is taken.
        """
        cases, runs = dict(self.cases), dict(self.runs)
        for info in definitions:
            taken = (
                self._by_word.get(info.key.split(".")[0])
                or cases.get(info.key)
                or runs.get(info.key)
            )
            if taken is not None:
                raise ConfigError.of(
                    info.source,
                    "duplicate",
                    found=f"metric {info.key!r}",
                    owner=f"{taken.key!r} of {taken.source}",
                )
            if not _OWN_KEY.fullmatch(info.key):
                raise ConfigError.of(
                    info.source,
                    "value",
                    found=f"metric {info.key!r}",
                    expected="two names or more of letters, digits, _ and - with a dot between "
                    "them, such as 'acme.pii_free'",
                )
            (runs if info.level == "run" else cases)[info.key] = info
        return replace(self, cases=cases, runs=runs)

    @cached_property
    def _by_word(self) -> Mapping[str, MetricInfo]:
        """Built-in metrics by the first word of each of their names."""
        found: dict[str, MetricInfo] = {}
        for name in (*self.cases, *self.runs, *self.aliases):
            info = self.info(name)
            if info is not None and info.built_in:
                found.setdefault(name.split(".")[0], info)
        return found


def unit_of(metric: str) -> Unit:
    """Return the unit of a metric key of a case or of a run."""
    if metric.startswith("latency_ms"):
        return "ms"
    if metric.startswith("cost_usd"):
        return "usd"
    counts = metric in {"newly_missed", "judge_tokens"} or metric.startswith(STAGE_PREFIX)
    return "count" if counts else "score"
