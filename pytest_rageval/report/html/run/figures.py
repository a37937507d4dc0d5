"""Figures of the page from metrics.json and gate.json: means, groups, times and costs."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.definitions import stored_registry
from pytest_rageval.metrics.registry import MetricInfo, Registry, unit_of
from pytest_rageval.report.html.run.links import cases_link, worst_first
from pytest_rageval.report.html.run.overview_values import (
    ChangeView,
    CheckView,
    LatencyView,
    LimitView,
    MetricView,
)
from pytest_rageval.report.view.summary import HEADLINE, interval_text
from pytest_rageval.support.text import format_limit_pair, format_value
from pytest_rageval.values.config import RunConfig
from pytest_rageval.values.gate import CheckResult
from pytest_rageval.values.numbers import Aggregate, MetricSummary
from pytest_rageval.values.run import StoredRun

_SIGNS: Final = {"min": ">=", "max": "<=", "max_drop": "drop <=", "max_rise": "rise <="}
_COMPARED: Final = re.compile(
    r"(.+?) is (?:at least|below|at most|above) (min|max|max_drop|max_rise) (-?[\d.]+)(.*)",
    re.DOTALL,
)
"""Sentence of a check: value, kind of limit, limit, and what else it says."""
_NEEDS: Final = {"min": "needs >=", "max": "needs <="}
_CASES_NAMED: Final = 3
_BETTER: Final = {"higher": "higher is better", "lower": "lower is better", "neutral": ""}


def numbers_of(run: StoredRun) -> Aggregate:
    """Return the numbers of a stored run, computed anew where they were never written."""
    from pytest_rageval.analysis.aggregate.run import aggregate

    registry, path_case = stored_registry(run.config), run.settings.path_case
    return run.aggregate or aggregate(run.records, registry=registry, path_case=path_case)


def known_metrics(numbers: Aggregate, registry: Registry = BUILT_IN) -> dict[str, MetricSummary]:
    """Return the means of the metrics that applied to any case, in order."""
    own = numbers.run_metrics.items()
    found = {
        **numbers.metrics,
        **{key: MetricSummary(mean=one.value, n=numbers.total) for key, one in own},
    }
    return {
        key: found[key]
        for key in dict.fromkeys((*registry.cases, *found))
        if key in found and (found[key].n or found[key].n_error)
    }


def view_metrics(
    numbers: Aggregate,
    checks: Iterable[CheckResult],
    changes: Mapping[str, ChangeView],
    registry: Registry = BUILT_IN,
) -> tuple[MetricView, ...]:
    """Show every mean with its interval, its limits and its change since the baseline."""
    limits: dict[str, list[CheckResult]] = {}
    for result in checks:
        if result.check.table == "overall":
            limits.setdefault(result.check.metric, []).append(result)
    return tuple(
        _metric(key, registry.info(key), found, limits.get(key, ()), changes.get(key))
        for key, found in known_metrics(numbers, registry).items()
    )


def _metric(
    key: str,
    info: MetricInfo | None,
    found: MetricSummary,
    checks: Iterable[CheckResult],
    change: ChangeView | None,
) -> MetricView:
    mean, low, high = found.mean, found.low, found.high
    limits = tuple(limit_view(result, info) for result in checks)
    return MetricView(
        key=key,
        title=info.title if info is not None else key,
        n=found.n,
        n_not_applicable=found.n_not_applicable,
        n_error=found.n_error,
        value=_shown(mean, checks),
        interval=interval_text(low, high),
        limits=limits,
        change=change,
        places=_places(low, mean, high, info),
        scale=_scale(info),
        better=_BETTER[info.direction] if info is not None else "",
        headline=key in HEADLINE or bool(limits) or (info is not None and not info.built_in),
        own=info is not None and not info.built_in,
        link=cases_link(**(worst_first(info) if info is not None else {"sort": key})),
    )


def _scale(info: MetricInfo | None) -> str:
    """Show where the scale of a metric ends, if not at 1."""
    end = 1.0 if info is None else info.bounds[1]
    return "" if end == 1 or math.isinf(end) else f"of {end:g}"


def _shown(mean: float | None, checks: Iterable[CheckResult]) -> str:
    """Show a mean with enough decimals to distinguish it from its limit."""
    if mean is None:
        return "no data"
    for result in checks:
        if result.check.kind in {"min", "max"}:
            return format_limit_pair(mean, result.check.limit)[0]
    return format_value(mean)


def limit_view(result: CheckResult, info: MetricInfo | None = None) -> LimitView:
    """Show the limit of a check."""
    kind, limit = result.check.kind, result.check.limit
    about_mean = kind in {"min", "max"}
    return LimitView(
        text=f"{_SIGNS[kind]} {limit:g}",
        status=result.status,
        place=place_on_scale(limit, info) if about_mean else None,
        about_change=not about_mean,
    )


def place_on_scale(value: float | None, info: MetricInfo | None) -> float | None:
    """Return the position of a value on the scale of its metric, 0 to 1; None: unbounded."""
    low, high = (0.0, None) if info is None else info.scale
    if value is None or high is None:
        return None
    return min(max((value - low) / (high - low), 0.0), 1.0)


def _places(
    low: float | None, mean: float | None, high: float | None, info: MetricInfo | None
) -> tuple[float, float, float] | None:
    middle = place_on_scale(mean, info)
    if middle is None:
        return None
    left, right = place_on_scale(low, info), place_on_scale(high, info)
    return middle if left is None else left, middle, middle if right is None else right


# --- checks ------------------------------------------------------------------------------------


def view_checks(
    checks: Iterable[CheckResult], anchors: Mapping[str, str], filters: Collection[str] = ()
) -> tuple[tuple[CheckView, ...], tuple[CheckView, ...]]:
    """Return the failed checks, and the others, warnings first; those in ``filters`` have cases."""
    order = {"fail": 0, "warn": 1, "skip": 2, "pass": 3}
    # Those with a figure before those without data, as the gate names them.
    told = sorted(checks, key=lambda result: (order[result.status], result.estimate is None))
    shown = [_check(result, anchors, filters) for result in told]
    n_failed = sum(check.status == "fail" for check in shown)
    return tuple(shown[:n_failed]), tuple(shown[n_failed:])


def _check(result: CheckResult, anchors: Mapping[str, str], filters: Collection[str]) -> CheckView:
    return CheckView(
        name=result.name,
        status=result.status,
        finding=_finding(result.message),
        message=result.message,
        interval=_check_interval(result),
        n="-" if result.n is None else str(result.n),
        cases=tuple((case, anchors.get(case, "")) for case in result.missed_cases[:_CASES_NAMED]),
        link=cases_link(check=result.name) if result.name in filters else "",
    )


def _finding(message: str) -> str:
    """Return a gate's sentence with the value beside its limit; another one as it is.

    >>> _finding("0.765 is below min 0.800"), _finding("drop 0.1 is above max_drop 0.05, proven")
    ('0.765 (needs >= 0.800)', 'drop 0.1 (allowed <= 0.05), proven')
    """
    found = _COMPARED.fullmatch(message)
    if found is None:
        return message
    value, kind, limit, rest = found.groups()
    return f"{value} ({_NEEDS.get(kind, 'allowed <=')} {limit}){rest}"


def _check_interval(result: CheckResult) -> str:
    low, high, kind = result.low, result.high, result.check.kind
    if kind not in {"max_drop", "max_rise"} or low is None or high is None:
        return interval_text(low, high)
    # The message reports a drop, which is the negated difference.
    low, high = (-high, -low) if kind == "max_drop" else (low, high)
    return f"{low:+.2f} to {high:+.2f}"


# --- times and costs ---------------------------------------------------------------------------


def view_latency(numbers: Aggregate) -> tuple[LatencyView, ...]:
    """Show the percentiles of each phase with non-zero time; a censored one is a lower bound."""
    rows = []
    for name, found in {"total": numbers.latency, **numbers.latency_by_phase}.items():
        p50, p95 = found.p50_ms, found.p95_ms
        if p50 is not None and p95 is not None and (p95 > 0 or name == "total"):
            at_least = [">= " * censored for censored in (found.p50_censored, found.p95_censored)]
            rows.append(
                LatencyView(
                    phase=name,
                    n=found.n,
                    p50_ms=p50,
                    p95_ms=p95,
                    p50=at_least[0] + format_value(p50, "ms"),
                    p95=at_least[1] + format_value(p95, "ms"),
                )
            )
    return tuple(rows)


def view_cost(numbers: Aggregate, config: RunConfig) -> tuple[tuple[str, str], ...]:
    """Show the cost of judging; an unknown price stays unknown."""
    wall = config.wall_s
    rows = [
        ("Judge, this run", _money(numbers.cost_usd)),
        ("Judge, without its cache", _money(numbers.cost_usd_uncached)),
        ("Judge tokens", f"{numbers.judge_tokens:,}"),
    ]
    usage = numbers.usage
    for name, label in (("input_tokens", "input tokens"), ("output_tokens", "output tokens")):
        if name in usage:
            rows.append((f"Target, {label} an answer", f"{usage[name].mean:,.0f}"))
    if "cost_usd" in usage:
        rows.append(("Target, as reported", _money(usage["cost_usd"].total)))
    if wall is not None:
        rows.append(("Wall time", f"{wall:.1f} s"))
    return tuple(rows)


def _money(usd: float | None) -> str:
    return "price unknown" if usd is None else f"${format_value(usd, unit_of('cost_usd'))}"
