"""One figure over many runs, and where its line breaks: figures on both sides do not compare. Pure.

Where the runs are read from, their folders or an index of them, makes no difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from pytest_rageval.analysis.compare.settings import (
    ConfigDifference,
    Invariant,
    compare_configs,
    judge_dependent_keys,
    shown,
)
from pytest_rageval.analysis.run_figures import RunFigure, Scope
from pytest_rageval.metrics.registry import METRICS

_OF_THE_TARGET: Final = ("latency_ms", "error_rate", "timeout_rate", "empty_response_rate")
"""Figures of a whole run that no judge has a part in, by how they begin."""
_JUDGE_DEPENDENT: Final = judge_dependent_keys(abstention=True, conflict=True)
"""Without its records a run does not tell whether a judge had to say what is an abstention."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendRun:
    """One run as a trend shows it."""

    run_id: str
    ran_at: datetime
    """Aware, in UTC."""
    figure: RunFigure | None
    """None: the run does not have it."""
    tags: tuple[str, ...] = ()
    verdict: str | None = None
    """Of its gate; None: not told."""
    config_hash: str | None = None
    dataset_hash: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    """``compared_config`` of its ``config.json``."""
    partial: bool = False
    """Whether it asked only some cases of its set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendQuery:
    """The figure and the runs that are asked for."""

    metric: str
    """Key of a metric, or of a figure of a run such as ``latency_ms.p95``."""
    scope: Scope = "overall"
    group: str = ""
    """The category or tag; empty: all cases."""
    run_tags: tuple[str, ...] = ()
    """Only runs with one of these tags; empty: all."""
    config: str | None = None
    """Only runs whose configuration hash begins so."""
    last: int | None = None
    """Only the last so many of them; None: all."""
    partial: bool = False
    """Runs over a part of the set too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPoint:
    """One run of a trend."""

    run: TrendRun
    breaks: tuple[ConfigDifference, ...] = ()
    """What keeps the figure from being compared with that of the run before."""
    changed: tuple[str, ...] = ()
    """What else differs from the run before: what a trend is there to show the effect of."""
    delta: float | None = None
    """Difference to the run before; None: a break, no run before, or no data in one of them."""

    @property
    def value(self) -> float | None:
        """The figure; None: no data."""
        return None if self.run.figure is None else self.run.figure.value

    def document(self) -> dict[str, Any]:
        """Return it as JSON values."""
        run, figure = self.run, self.run.figure
        return {
            "run_id": run.run_id,
            "ran_at": run.ran_at.isoformat(),
            "tags": list(run.tags),
            "verdict": run.verdict,
            "config_hash": run.config_hash,
            "dataset_hash": run.dataset_hash,
            "partial": run.partial,
            "value": self.value,
            "low": figure.low if figure else None,
            "high": figure.high if figure else None,
            "n": figure.n if figure else None,
            "n_not_applicable": figure.n_not_applicable if figure else None,
            "n_error": figure.n_error if figure else None,
            "delta": self.delta,
            "breaks": [
                {"name": one.name, "before": shown(one.base), "now": shown(one.new)}
                for one in self.breaks
            ],
            "changed": list(self.changed),
        }


def make_trend(runs: Iterable[TrendRun], query: TrendQuery) -> list[TrendPoint]:
    """Return the runs that are asked for, oldest first, each compared with the one before it.

    Args:
        runs: in any order, with the figure that the query names.
        query: what is asked for.
    """
    chosen = (run for run in runs if _is_chosen(run, query) and (query.partial or not run.partial))
    wanted = sorted(chosen, key=_order)
    if query.last is not None:
        wanted = wanted[max(len(wanted) - query.last, 0) :]
    return list(_points(wanted, query.metric))


def count_left_out(
    runs: Iterable[TrendRun], query: TrendQuery, points: Sequence[TrendPoint]
) -> int:
    """Count the partial runs that a trend leaves out.

    Args:
        runs: as for ``make_trend``.
        query: what was asked for.
        points: what ``make_trend`` returned; runs before the first one are not counted where only
            the last were asked for.
    """
    if query.partial:
        return 0
    left_out = [run for run in runs if run.partial and _is_chosen(run, query)]
    if query.last is not None and points:
        first = _order(points[0].run)
        left_out = [run for run in left_out if _order(run) > first]
    return len(left_out)


def _order(run: TrendRun) -> tuple[datetime, str]:
    return run.ran_at, run.run_id


def _is_chosen(run: TrendRun, query: TrendQuery) -> bool:
    if query.run_tags and not set(query.run_tags) & set(run.tags):
        return False
    return query.config is None or (run.config_hash or "").startswith(query.config)


def _points(runs: Sequence[TrendRun], metric: str) -> Iterator[TrendPoint]:
    before: TrendRun | None = None
    for run in runs:
        if before is None:
            yield TrendPoint(run=run)
        else:
            breaks, changed = differences(before, run, metric)
            delta = None if breaks else _delta(before.figure, run.figure)
            yield TrendPoint(run=run, breaks=breaks, changed=changed, delta=delta)
        before = run


def _delta(before: RunFigure | None, now: RunFigure | None) -> float | None:
    if before is None or now is None or before.value is None or now.value is None:
        return None
    return now.value - before.value


def differences(
    before: TrendRun, now: TrendRun, metric: str
) -> tuple[tuple[ConfigDifference, ...], tuple[str, ...]]:
    """Return what keeps a figure of two runs from being compared, and what else differs."""
    found = compare_configs(before.config, now.config)
    breaks: list[ConfigDifference] = []
    if before.dataset_hash != now.dataset_hash:
        name = "selection" if before.partial or now.partial else "dataset"
        base, new = before.dataset_hash, now.dataset_hash
        breaks.append(ConfigDifference(name=name, base=base, new=new))
    breaks += [one for one in found.invariants if _affects(one, metric)]
    # The version of the set is its hash unless somebody named it.
    known = {"dataset_version"} if before.dataset_hash != now.dataset_hash else set()
    changed = [one.name for one in (*found.versions, *found.config) if one.name not in known]
    return tuple(breaks), tuple(dict.fromkeys(changed))


def _affects(one: Invariant, metric: str) -> bool:
    if one.affects == "everything":
        return True
    info = METRICS.get(metric)
    if info is None:
        return not metric.startswith(_OF_THE_TARGET)
    return info.answer_side if one.affects == "answers" else metric in _JUDGE_DEPENDENT
