"""Figures of the page from metrics.json and gate.json: means, groups, times and costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from pytest_rageval.analysis.two_runs import RunComparison
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
from pytest_rageval.report.view.summary import HEADLINE, change_text, interval_text
from pytest_rageval.support.text import format_limit_pair, format_value
from pytest_rageval.values.gate import CheckResult
from pytest_rageval.values.numbers import Aggregate, LatencySummary, MetricSummary
from pytest_rageval.values.run import StoredRun

_SIGNS: Final = {"min": ">=", "max": "<=", "max_drop": "drop <=", "max_rise": "rise <="}
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
    checks: Iterable[CheckResult],
    anchors: Mapping[str, str],
    filters: Collection[str] = (),
    erred: Mapping[str, int] = MappingProxyType({}),
) -> tuple[tuple[CheckView, ...], tuple[CheckView, ...]]:
    """Return the failed checks, and the others, warnings first.

    Args:
        checks: of the gate.
        anchors: of the cases, by their shortest name.
        filters: names of the checks that any case lowers.
        erred: number of cases that ended in an error and are in no figure, by name of a check.
    """
    order = {"fail": 0, "warn": 1, "skip": 2, "pass": 3}
    # Those with a figure before those without data, as the gate names them.
    told = sorted(checks, key=lambda result: (order[result.status], result.estimate is None))
    shown = [_check(result, anchors, filters, erred) for result in told]
    n_failed = sum(check.status == "fail" for check in shown)
    return tuple(shown[:n_failed]), tuple(shown[n_failed:])


def _check(
    result: CheckResult,
    anchors: Mapping[str, str],
    filters: Collection[str],
    erred: Mapping[str, int],
) -> CheckView:
    return CheckView(
        name=result.name,
        status=result.status,
        message=result.message,
        erred=erred.get(result.name, 0),
        interval=_check_interval(result),
        n="-" if result.n is None else str(result.n),
        cases=tuple((case, anchors.get(case, "")) for case in result.missed_cases[:_CASES_NAMED]),
        link=cases_link(check=result.name) if result.name in filters else "",
    )


def _check_interval(result: CheckResult) -> str:
    low, high, kind = result.low, result.high, result.check.kind
    if kind not in {"max_drop", "max_rise"} or low is None or high is None:
        return interval_text(low, high)
    # The message reports a drop, which is the negated difference.
    low, high = (-high, -low) if kind == "max_drop" else (low, high)
    return f"{low:+.2f} to {high:+.2f}"


# --- times and costs ---------------------------------------------------------------------------


def view_latency(
    numbers: Aggregate, baseline: RunComparison | None = None
) -> tuple[LatencyView, ...]:
    """Show the percentiles of each phase with non-zero time; a censored one is a lower bound.

    Args:
        numbers: of the run.
        baseline: the comparison with it, if there is one; times that are not comparable, such as
            of another concurrency, have no change.
    """
    before: dict[str, LatencySummary] = {}
    if baseline is not None and not baseline.latency_problem:
        base = numbers_of(baseline.base)
        before = {"total": base.latency, **base.latency_by_phase}
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
                    change=_ms_change(p95, before.get(name)),
                )
            )
    return tuple(rows)


def _ms_change(p95: float, before: LatencySummary | None) -> str:
    if before is None or before.p95_ms is None:
        return ""
    return change_text("latency_ms.p95", p95 - before.p95_ms)


def view_cost(run: StoredRun, base: StoredRun | None) -> tuple[tuple[str, str, str, str], ...]:
    """Show what a run cost, with the figures of a baseline and the changes.

    An unknown price stays unknown.
    """
    now, before = costs(run), {} if base is None else costs(base)
    rows = []
    for name, (value, show) in now.items():
        was = before[name][0] if name in before else None
        change = None if was is None or value is None else value - was
        sign = "" if change is None else "+" if change > 0 else "-" if change < 0 else ""
        signed = "" if change is None else f"{sign}{show(abs(change))}"
        rows.append((name, show(value), "" if was is None else show(was), signed))
    return tuple(rows)


def costs(run: StoredRun) -> dict[str, tuple[float | None, Callable[[float | None], str]]]:
    """Return each figure of the cost of a run by name, with the function that shows it."""
    numbers, usage = numbers_of(run), numbers_of(run).usage
    found: dict[str, tuple[float | None, Callable[[float | None], str]]] = {
        "Judge, this run": (numbers.cost_usd, money),
        "Judge, without its cache": (numbers.cost_usd_uncached, money),
        "Judge tokens": (numbers.judge_tokens, _whole),
    }
    for name, label in (("input_tokens", "input tokens"), ("output_tokens", "output tokens")):
        if name in usage:
            found[f"Target, {label} an answer"] = (usage[name].mean, _whole)
    if "cost_usd" in usage:
        found["Target, as reported"] = (usage["cost_usd"].total, money)
    if run.config.wall_s is not None:
        found["Wall time"] = (run.config.wall_s, lambda s: f"{s:.1f} s")
    return found


def _whole(number: float | None) -> str:
    return "-" if number is None else f"{number:,.0f}"


def money(usd: float | None) -> str:
    """Show an amount; None: the price is unknown."""
    return "price unknown" if usd is None else f"${format_value(usd, unit_of('cost_usd'))}"
