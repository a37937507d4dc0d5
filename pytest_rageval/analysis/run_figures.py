"""The figures of a whole run, as its ``metrics.json`` holds them, in one flat list. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

Scope = Literal["overall", "category", "tag", "difficulty", "answerable", "vault"]
"""Which cases a figure is about."""

SCOPES: Final[tuple[Scope, ...]] = (
    "overall",
    "category",
    "tag",
    "difficulty",
    "answerable",
    "vault",
)
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
_LARGEST: Final = 2**63 - 1
"""Of an integer in a database."""


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
    """Yield every figure of a run; documents of foreign origin may lack any part.

    Args:
        metrics: its ``metrics.json``.
        config: its ``config.json``.
    """
    yield from _means("overall", "", metrics)
    for scope in SCOPES[1:]:
        for group, document in mapping(metrics.get(f"by_{scope}")).items():
            yield from _means(scope, str(group), mapping(document))
    for name, value in _totals(mapping(metrics.get("aggregate_metrics"))):
        yield RunFigure(scope="overall", group="", metric=name, value=number(value))
    if "wall_s" in config:
        wall_s = number(config["wall_s"])
        yield RunFigure(scope="overall", group="", metric="suite_wall_s", value=wall_s)


def _means(scope: Scope, group: str, document: Mapping[str, Any]) -> Iterator[RunFigure]:
    for key, entry in mapping(document.get("statistics")).items():
        found = mapping(entry)
        yield RunFigure(
            scope=scope,
            group=group,
            metric=str(key),
            value=number(found.get("mean")),
            n=whole(found.get("n")),
            n_not_applicable=whole(found.get("n_not_applicable")),
            n_error=whole(found.get("n_error")),
            median=number(found.get("median")),
            low=number(found.get("low")),
            high=number(found.get("high")),
            se=number(found.get("se")),
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
        found = mapping(aggregate.get(place))
        yield from ((key, found[key]) for key in keys if key in found)
    reliability = mapping(aggregate.get("judge_reliability"))
    if "disagreement_rate" in reliability:
        yield "judge_disagreement_rate", reliability["disagreement_rate"]
    latency = mapping(aggregate.get("latency"))
    yield from _percentiles("latency_ms", latency)
    for phase, found in mapping(latency.get("by_phase")).items():
        if phase != "total":
            yield from _percentiles(f"latency_ms.{phase}", mapping(found))
    cost = mapping(aggregate.get("cost"))
    yield from ((name, cost[key]) for name, key in _COST.items() if key in cost)


def _percentiles(name: str, latency: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    yield from (
        (f"{name}.{what}", latency[key]) for what, key in _LATENCY.items() if key in latency
    )


def mapping(value: object) -> Mapping[str, Any]:
    """Return what should be an object, empty where it is none."""
    return value if isinstance(value, Mapping) else {}


def number(value: object) -> float | None:
    """Return what should be a number, None where it is none or not finite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:  # an integer of hundreds of digits
        return None
    return found if math.isfinite(found) else None


def whole(value: object) -> int | None:
    """Return what should be a count, None where it is none or larger than a database keeps."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if abs(value) <= _LARGEST else None
