"""The figures of a whole run, as its ``metrics.json`` holds them, in one flat list. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from pytest_rageval.values.documents import number, part, whole

Scope = Literal["overall", "category", "tag", "difficulty", "answerable", "vault"]
"""Which cases a figure is about."""

SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
_RATES: Final = (
    "error_rate",
    "timeout_rate",
    "empty_response_rate",
    "judge_error_rate",
    "flaky_rate",
)
_INDEXING: Final = (
    "no_chunks_generated_rate",
    "chunks_skipped_rate",
    "chunks_skipped_due_to_context_rate",
)
_LATENCY: Final = {"p50": "p50_ms", "p95": "p95_ms", "sum": "total_ms"}
_COST: Final = {
    "cost_usd.total": "total_usd",
    "cost_usd.uncached": "uncached_usd",
    "judge_tokens": "judge_tokens",
}


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
    """Scored cases; None, as below: a figure that is no mean."""
    n_not_applicable: int | None = None
    n_error: int | None = None
    median: float | None = None
    low: float | None = None
    """Two-sided interval at the run's confidence."""
    high: float | None = None
    se: float | None = None


def run_figures(metrics: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[RunFigure]:
    """Yield every figure of a run; documents of another tool may lack any part.

    Args:
        metrics: its ``metrics.json``.
        config: its ``config.json``.
    """
    yield from _means("overall", "", metrics)
    for scope in SCOPES[1:]:
        for group, document in part(metrics, f"by_{scope}").items():
            yield from _means(scope, str(group), part(document))
    for name, value in _totals(part(metrics, "aggregate_metrics")):
        yield RunFigure(scope="overall", group="", metric=name, value=number(value))
    if "wall_s" in config:
        wall_s = number(config["wall_s"])
        yield RunFigure(scope="overall", group="", metric="suite_wall_s", value=wall_s)


def _means(scope: Scope, group: str, document: Mapping[str, Any]) -> Iterator[RunFigure]:
    for key, entry in part(document, "statistics").items():
        found = part(entry)
        yield RunFigure(
            scope=scope,
            group=group,
            metric=str(key),
            value=number(found, "mean"),
            n=whole(found, "n"),
            n_not_applicable=whole(found, "n_not_applicable"),
            n_error=whole(found, "n_error"),
            median=number(found, "median"),
            low=number(found, "low"),
            high=number(found, "high"),
            se=number(found, "se"),
        )


def _totals(aggregate: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for key in ("pass_rate", "cross_lingual_consistency"):
        if key in aggregate:
            yield key, aggregate[key]
    places: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("operational_metrics", _RATES),
        ("indexing_coverage", _INDEXING),
    )
    for place, keys in places:
        found = part(aggregate.get(place))
        yield from ((key, found[key]) for key in keys if key in found)
    reliability = part(aggregate, "judge_reliability")
    if "disagreement_rate" in reliability:
        yield "judge_disagreement_rate", reliability["disagreement_rate"]
    latency = part(aggregate, "latency")
    yield from _percentiles("latency_ms", latency)
    for phase, found in part(latency, "by_phase").items():
        if phase != "total":
            yield from _percentiles(f"latency_ms.{phase}", part(found))
    cost = part(aggregate, "cost")
    yield from ((name, cost[key]) for name, key in _COST.items() if key in cost)


def _percentiles(name: str, latency: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    yield from (
        (f"{name}.{what}", latency[key]) for what, key in _LATENCY.items() if key in latency
    )
