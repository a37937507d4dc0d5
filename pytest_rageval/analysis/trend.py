"""Figures of a run, and one of them over many runs with the breaks between them. Pure.

Runs may come from their folders or from an index of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal, get_args

from pytest_rageval.analysis.aggregate.operational import ERROR_KINDS
from pytest_rageval.analysis.compare.settings import (
    Comparability,
    ConfigDifference,
    Invariant,
    compare_configs,
    judge_dependent_keys,
    shown,
)
from pytest_rageval.analysis.gate.figures import BY_OUTCOME
from pytest_rageval.metrics.built_in import stored_registry
from pytest_rageval.metrics.registry import STAGE_PREFIX, Registry
from pytest_rageval.values.numbers import Aggregate, MetricSummary
from pytest_rageval.values.record import STAGES
from pytest_rageval.values.run import NO_CONFIG, TIMED, RunConfig, other_concurrency

Scope = Literal["overall", "category", "tag", "difficulty", "answerable", "vault", "turn"]
"""Cases that a figure covers."""

SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
_RATES: Final = (
    "pass_rate",
    *ERROR_KINDS,
    "judge_error_rate",
    "pass_hat_k",
    "flaky_rate",
    "clarify_rate",
)
_INDEXING: Final = (
    "no_chunks_generated_rate",
    "chunks_skipped_rate",
    "chunks_skipped_due_to_context_rate",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFigure:
    """One figure of a run, under the name that thresholds.toml has for it."""

    scope: Scope
    group: str
    """The category, tag, ...; empty: all cases."""
    metric: str
    value: float | None
    """A mean over cases, a rate, a percentile or a total; None: no data."""
    n: int | None = None
    """Scored cases; None, as below: the figure is not a mean."""
    n_not_applicable: int | None = None
    n_error: int | None = None
    median: float | None = None
    low: float | None = None
    """Two-sided interval at the run's confidence."""
    high: float | None = None
    se: float | None = None


def run_figures(numbers: Aggregate, config: RunConfig) -> Iterator[RunFigure]:
    """Yield every figure of a run."""
    yield from _means("overall", "", numbers.metrics)
    for scope in SCOPES[1:]:
        for group, found in getattr(numbers, f"by_{scope}").items():
            yield from _means(scope, group, found)
    for name, value in _of_the_run(numbers, config):
        yield RunFigure(scope="overall", group="", metric=name, value=value)


def _means(scope: Scope, group: str, found: Mapping[str, MetricSummary]) -> Iterator[RunFigure]:
    for key, one in found.items():
        yield RunFigure(
            scope=scope,
            group=group,
            metric=key,
            value=one.mean,
            n=one.n,
            n_not_applicable=one.n_not_applicable,
            n_error=one.n_error,
            median=one.median,
            low=one.low,
            high=one.high,
            se=one.se,
        )


def _of_the_run(numbers: Aggregate, config: RunConfig) -> Iterator[tuple[str, float | None]]:
    rates, indexing = numbers.rates, numbers.indexing
    yield from ((key, rates[key]) for key in _RATES if key in rates)
    yield "cross_lingual_consistency", numbers.cross_lingual.get("mean")
    yield from ((key, getattr(indexing, key)) for key in _INDEXING if indexing is not None)
    if numbers.judge_reliability is not None and numbers.judge_reliability.spot_check:
        yield "judge_disagreement_rate", numbers.judge_reliability.disagreement_rate
    phases = {f".{phase}": one for phase, one in numbers.latency_by_phase.items()}
    phases.pop(".total", None)
    for phase, one in {"": numbers.latency, **phases}.items():
        yield f"latency_ms{phase}.p50", one.p50_ms
        yield f"latency_ms{phase}.p95", one.p95_ms
        yield f"latency_ms{phase}.sum", one.sum_ms
    yield "cost_usd.total", numbers.cost_usd
    yield "cost_usd.uncached", numbers.cost_usd_uncached
    yield "judge_tokens", numbers.judge_tokens
    # The stages leave out those that no case has.
    yield from ((STAGE_PREFIX + stage, numbers.stages.get(stage, 0)) for stage in STAGES)
    yield from ((key, one.value) for key, one in numbers.run_metrics.items())
    if config.wall_s is not None:
        yield "suite_wall_s", config.wall_s


# --- over many runs ----------------------------------------------------------------------------

_OF_THE_TARGET: Final = ("latency_ms", *ERROR_KINDS)
"""Prefixes of run figures that do not depend on a judge."""


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
    """Of its gate; None: unknown."""
    config_hash: str | None = None
    dataset_hash: str | None = None
    config: RunConfig = NO_CONFIG
    """``compared_config`` of its ``config.json``."""
    partial: bool = False
    """Whether it asked only some cases of its set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendQuery:
    """The requested figure and runs."""

    metric: str
    """Key of a metric, or of a figure of a run such as ``latency_ms.p95``."""
    scope: Scope = "overall"
    group: str = ""
    """The category or tag; empty: all cases."""
    run_tags: tuple[str, ...] = ()
    """Only runs with one of these tags; empty: all."""
    config: str | None = None
    """Only runs whose configuration hash has this prefix."""
    last: int | None = None
    """Number of last runs; None: all."""
    partial: bool = False
    """Include runs over a part of the set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPoint:
    """One run of a trend."""

    run: TrendRun
    breaks: tuple[ConfigDifference, ...] = ()
    """Differences that make the figure not comparable with the run before."""
    changed: tuple[str, ...] = ()
    """Other settings that differ from the run before; their effect is what a trend shows."""
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
            **{
                name: getattr(figure, name, None)
                for name in ("low", "high", "n", "n_not_applicable", "n_error")
            },
            "delta": self.delta,
            "breaks": [
                {"name": one.name, "before": shown(one.base), "now": shown(one.new)}
                for one in self.breaks
            ],
            "changed": list(self.changed),
        }


def make_trend(runs: Iterable[TrendRun], query: TrendQuery) -> list[TrendPoint]:
    """Return the requested runs, oldest first, each compared with the one before it."""
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
        query: figure and selection of runs.
        points: result of ``make_trend``; if only the last runs were requested, earlier ones are
            not counted.
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
    before: TrendPoint | None = None
    for run in runs:
        point = TrendPoint(run=run)
        if before is not None:
            ((breaks, changed),) = differences(before.run, run, [metric])
            if not breaks and before.value is not None and point.value is not None:
                point = replace(point, delta=point.value - before.value)
            point = replace(point, breaks=breaks, changed=changed)
        yield point
        before = point


def differences(
    before: TrendRun, now: TrendRun, metrics: Iterable[str]
) -> list[tuple[tuple[ConfigDifference, ...], tuple[str, ...]]]:
    """Return, for each figure, the differences that make it not comparable, and the others."""
    found = compare_configs(before.config, now.config)
    registry = stored_registry(before.config, now.config)
    return [_differences(before, now, metric, found, registry) for metric in metrics]


def _differences(
    before: TrendRun, now: TrendRun, metric: str, found: Comparability, registry: Registry
) -> tuple[tuple[ConfigDifference, ...], tuple[str, ...]]:
    breaks: list[ConfigDifference] = []
    base, new = before.dataset_hash, now.dataset_hash
    if base == new:
        base, new = ("incomplete" if run.partial else "complete" for run in (before, now))
    if base != new:
        name = "selection" if before.partial or now.partial else "dataset"
        breaks.append(ConfigDifference(name=name, base=base, new=new))
    breaks += [one for one in found.invariants if _affects(one, metric, registry)]
    one, other = before.config.concurrency, now.config.concurrency
    if metric.startswith(TIMED) and other_concurrency(one, other):
        at = ["unknown" if n is None else n for n in (one, other)]
        breaks.append(ConfigDifference(name="concurrency", base=at[0], new=at[1]))
    asked = [run.config.settings.repeats_of(again=False) for run in (before, now)]
    if metric.startswith(BY_OUTCOME) and asked[0] != asked[1]:
        breaks.append(ConfigDifference(name="repeats", base=asked[0], new=asked[1]))
    known = {one.name for one in breaks}
    # The version of the set is its hash unless the user named it.
    known |= {"dataset_version"} if before.dataset_hash != now.dataset_hash else set()
    changed = [one.name for one in (*found.versions, *found.config) if one.name not in known]
    return tuple(breaks), tuple(dict.fromkeys(changed))


def _affects(one: Invariant, metric: str, registry: Registry) -> bool:
    info = registry.cases.get(metric)
    if info is not None:
        # Without records it is unknown whether a judge had to decide what is an abstention.
        judged = judge_dependent_keys(abstention=True, conflict=True, registry=registry)
        return one.concerns(info, judged)
    if one.only:
        return one.only == metric
    return one.affects == "everything" or not metric.startswith(_OF_THE_TARGET)
