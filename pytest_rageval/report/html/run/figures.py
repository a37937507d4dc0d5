"""Figures of a run as rows: metrics, checks, times and costs, each with its change."""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.analysis.compare.metrics import MetricChange, UnpairedChange
from pytest_rageval.analysis.two_runs import RunComparison, past_limits, verdict_word
from pytest_rageval.metrics.built_in import BUILT_IN, stored_registry
from pytest_rageval.metrics.registry import MetricInfo, Registry, unit_of
from pytest_rageval.report.html.links import cases_link, worst_first
from pytest_rageval.report.view.blocks import BAD, Cell, Cells, CellValue, Row, Scale, Status, Table
from pytest_rageval.report.view.gate import VERDICTS
from pytest_rageval.report.view.summary import HEADLINE, change_text, interval_text
from pytest_rageval.report.wording import of_scale
from pytest_rageval.support.text import counted, format_limit_pair, format_value, part
from pytest_rageval.values.gate import CheckResult
from pytest_rageval.values.numbers import Aggregate, LatencySummary, MetricSummary
from pytest_rageval.values.run import StoredRun
from pytest_rageval.values.words import SIGN

Change = MetricChange | UnpairedChange
LATENCY: Final = "latency_ms.p95"
COST: Final = "cost_usd"
_SIGNS: Final = {"min": ">=", "max": "<=", "max_drop": "drop <=", "max_rise": "rise <="}
_CASES_NAMED: Final = 3
CHANGE_STATUS: Final[Mapping[str, Status]] = {"better": "good", "worse": "bad", "beyond": "bad"}
"""Of the verdicts of changes; the others leave a question open."""


def numbers_of(run: StoredRun) -> Aggregate:
    """Return the numbers of a stored run, computed anew where they were never written."""
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


def figure_of(numbers: Aggregate, key: str) -> MetricSummary | None:
    """Return a metric, the 95th percentile of the time, or the whole cost; None: not known."""
    if key == LATENCY:
        return MetricSummary(n=numbers.latency.n, mean=numbers.latency.p95_ms)
    if key == COST:
        target = numbers.usage.get("cost_usd")
        costs = [numbers.cost_usd, None if target is None else target.total]
        known = [cost for cost in costs if cost is not None]
        return MetricSummary(n=numbers.total, mean=math.fsum(known) if known else None)
    return numbers.metrics.get(key)


# --- metrics -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One mean with its limits and its change since the baseline."""

    key: str
    info: MetricInfo | None
    found: MetricSummary
    checks: Sequence[CheckResult]
    """On the whole set, those to look at first."""
    change: Change | None
    """None: there is no baseline, or it cannot be compared."""
    verdict: str
    """Of the change; empty: none, or it is a figure of the whole run."""

    @property
    def headline(self) -> bool:
        """Whether it is shown at first."""
        own = self.info is not None and not self.info.built_in
        return self.key in HEADLINE or bool(self.checks) or own

    @property
    def value(self) -> str:
        """Mean with enough decimals to distinguish it from its limit."""
        if self.found.mean is None:
            return "no data"
        limits = [one.check.limit for one in self.checks if one.check.kind in {"min", "max"}]
        if limits:
            return format_limit_pair(self.found.mean, limits[0])[0]
        return format_value(self.found.mean)

    @property
    def scale(self) -> str:
        """End of its scale, such as ``of 5``; empty: it ends at 1, or has no end."""
        return of_scale(self.info).lstrip()

    @property
    def interval(self) -> str:
        """Interval of the mean."""
        return interval_text(self.found.low, self.found.high)

    @property
    def link(self) -> str:
        """Address of the cases, sorted by it."""
        return cases_link(**(worst_first(self.info) if self.info else {"sort": self.key}))


def figures_of(
    numbers: Aggregate,
    checks: Iterable[CheckResult] = (),
    baseline: RunComparison | None = None,
    registry: Registry = BUILT_IN,
    past: Container[str] = frozenset(),
) -> tuple[Figure, ...]:
    """Return every mean, in order.

    Args:
        numbers: of the run.
        checks: of its gate.
        baseline: the comparison with it.
        registry: the metrics of the run.
        past: metrics whose change is past a limit.
    """
    limits: dict[str, list[CheckResult]] = {}
    for result in checks:
        if result.check.table == "overall":
            limits.setdefault(result.check.metric, []).append(result)
    changes: dict[str, Change] = {}
    if baseline is not None:
        found = baseline.comparison
        changes = {**found.run_metrics}
        changes |= {k: one for k, one in found.metrics.items() if one.delta is not None}
    order = [*VERDICTS]
    return tuple(
        Figure(
            key=key,
            info=registry.info(key),
            found=found_one,
            checks=sorted(limits.get(key, ()), key=lambda one: order.index(one.status)),
            change=(change := changes.get(key)),
            verdict=verdict_word(change, past) if isinstance(change, MetricChange) else "",
        )
        for key, found_one in known_metrics(numbers, registry).items()
    )


def beyond_limits(run: StoredRun, baseline: RunComparison | None) -> frozenset[str]:
    """Return the metrics whose change to this baseline is past a limit, by the stored gate."""
    if baseline is None or run.baseline.run_id != baseline.base.run_id:
        return frozenset()
    return past_limits(run.checks)


def metrics_table(figures: Sequence[Figure], *, compared: bool) -> Table:
    """Return the table of metrics; folded is what is less important, or equal without a limit."""
    erred = any(one.found.n_error for one in figures)
    change = (">baseline", "change") if compared else ()
    columns = (
        "metric",
        ">mean",
        "scale",
        "interval",
        "limit",
        *change,
        ">n",
        *([">errors"] if erred else []),
    )
    rows: list[Row] = []
    more: list[Row] = []
    for one in figures:
        # What did not change says little beside what did.
        quiet = compared and one.verdict == "equal" and not one.checks
        row = _metric_row(one, compared=compared, erred=erred)
        (rows if one.headline and not quiet else more).append(row)
    return Table(columns, rows, more=more) if rows else Table(columns, more)


def _metric_row(one: Figure, *, compared: bool, erred: bool) -> Row:
    info = one.info
    lower = info is not None and info.direction == "lower"
    title = info.title if info is not None and info.title.lower() != one.key else ""
    notes = [*filter(None, [title]), *["lower is better"] * lower]
    failed = any(r.status == "fail" and r.check.kind in {"min", "max"} for r in one.checks)
    mean = Cell(one.value, status=BAD[bool(failed)], note=one.scale)
    about_mean, about_change = (
        [limit_cell(r) for r in one.checks if (r.check.kind in {"min", "max"}) == mean_limits]
        for mean_limits in (True, False)
    )
    cells = [Cell(one.key, note="; ".join(notes), link=one.link), mean, scale_of(one)]
    change: list[CellValue] = []
    if compared:
        base = None if one.change is None else one.change.base
        change = [Cell(base, unit_of(one.key)), Cells([*_change_cells(one), *about_change])]
    errors = [one.found.n_error] if erred else []
    return (*cells, one.interval, Cells(about_mean), *change, one.found.n, *errors)


def _change_cells(one: Figure) -> Iterator[Cell]:
    change = one.change
    if change is None:
        yield Cell("-")
        return
    delta = change_text(one.key, change.delta)
    note = ""
    if isinstance(change, MetricChange):
        if change.low is not None and change.high is not None and not change.equal:
            note = f"{change.low:+.2f} to {change.high:+.2f}"
        if change.n != one.found.n:
            note = f"{note}, n {change.n}".removeprefix(", ")
    words = f"{one.verdict} {delta}" if one.verdict else delta
    yield Cell(words, status=CHANGE_STATUS.get(one.verdict, ""), note=note)


def limit_cell(result: CheckResult) -> Cell:
    """Return the limit of a check with its result."""
    word, status = VERDICTS[result.status]
    return Cell(f"{word} {limit_text(result)}", status=status)


def limit_text(result: CheckResult) -> str:
    """Show the limit of a check."""
    return f"{_SIGNS[result.check.kind]} {result.check.limit:g}"


def place_on_scale(value: float | None, info: MetricInfo | None) -> float | None:
    """Return the position of a value on the scale of its metric, 0 to 1; None: unbounded."""
    low, high = (0.0, None) if info is None else info.scale
    if value is None or high is None:
        return None
    return min(max((value - low) / (high - low), 0.0), 1.0)


def scale_of(one: Figure) -> Scale | str:
    """Return a mean on its scale; empty: that has no end."""
    info, found = one.info, one.found
    mean = place_on_scale(found.mean, info)
    if mean is None:
        return ""
    low, high = place_on_scale(found.low, info), place_on_scale(found.high, info)
    limits = [r for r in one.checks if r.check.kind in {"min", "max"}]
    places = [place_on_scale(r.check.limit, info) for r in limits]
    return Scale(
        value=mean,
        interval=None if low is None or high is None else (low, high),
        limits=[place for place in places if place is not None],
        base=None if one.change is None else place_on_scale(one.change.base, info),
        failed=any(r.status == "fail" for r in limits),
    )


# --- checks ------------------------------------------------------------------------------------

CHECK_COLUMNS: Final = ("", "what", "finding", "cases")


def check_rows(
    checks: Iterable[CheckResult],
    anchors: Mapping[str, str] = MappingProxyType({}),
    filters: Collection[str] = (),
    erred: Mapping[str, int] = MappingProxyType({}),
) -> tuple[list[Row], list[Row]]:
    """Return the rows of failed checks, and of the others, warnings first.

    Args:
        checks: of the gate.
        anchors: of the cases, by their shortest name.
        filters: names of the checks that any case lowers.
        erred: number of cases that ended in an error and are in no figure, by name of a check.
    """
    order = [*VERDICTS]
    # Those with a figure before those without data, as the gate names them.
    told = sorted(checks, key=lambda one: (order.index(one.status), one.estimate is None))
    rows: list[Row] = [_check_row(one, anchors, filters, erred.get(one.name, 0)) for one in told]
    n_failed = sum(one.status == "fail" for one in told)
    return rows[:n_failed], rows[n_failed:]


def _check_row(
    result: CheckResult, anchors: Mapping[str, str], filters: Collection[str], erred: int
) -> Row:
    word, status = VERDICTS[result.status]
    interval = _check_interval(result)
    notes = [
        *([] if result.n is None else [f"n {result.n}"]),
        *([] if interval == "-" else [f"interval {interval}"]),
        *([f"without {counted(erred, 'case')} that ended in an error"] if erred else []),
    ]
    named = [case_cell(name, anchors) for name in result.missed_cases[:_CASES_NAMED]]
    everything = (
        [Cell("all its cases", link=cases_link(check=result.name))]
        if result.name in filters
        else []
    )
    finding = Cell(result.message, note=", ".join(notes))
    return Cell(word, status=status), result.name, finding, Cells([*named, *everything])


def case_cell(name: str, anchors: Mapping[str, str]) -> Cell:
    """Return the name of a case, which leads to it if it is on the page."""
    return Cell(name, link=part("#{}", anchors.get(name)))


def _check_interval(result: CheckResult) -> str:
    low, high, kind = result.low, result.high, result.check.kind
    if kind not in {"max_drop", "max_rise"} or low is None or high is None:
        return interval_text(low, high)
    # The message reports a drop, which is the negated difference.
    low, high = (-high, -low) if kind == "max_drop" else (low, high)
    return f"{low:+.2f} to {high:+.2f}"


# --- times and costs ---------------------------------------------------------------------------


def phases_of(numbers: Aggregate) -> dict[str, LatencySummary]:
    """Return the times of the whole and of each phase that took any."""
    found = {"total": numbers.latency, **numbers.latency_by_phase}
    return {
        name: one
        for name, one in found.items()
        if one.p50_ms is not None and one.p95_ms is not None and (one.p95_ms > 0 or name == "total")
    }


def times_table(numbers: Aggregate, baseline: RunComparison | None) -> Table:
    """Return the percentiles of each phase; a censored one is a lower bound.

    Times that are not comparable with those of the baseline have no change.
    """
    before: dict[str, LatencySummary] = {}
    if baseline is not None and not baseline.latency_problem:
        before = phases_of(numbers_of(baseline.base))
    change = [">change of p95"] if before else []
    rows: list[Row] = []
    for name, one in phases_of(numbers).items():
        changes = [p95_change(one, before.get(name)) or "-"] if before else []
        rows.append((name, one.n, *percentiles(one), *changes))
    return Table(("phase", ">n", ">p50, ms", ">p95, ms", *change), rows)


def percentiles(one: LatencySummary) -> tuple[str, str]:
    """Return median and 95th percentile for display."""
    p50, p95 = format_value(one.p50_ms, "ms"), format_value(one.p95_ms, "ms")
    return ">= " * one.p50_censored + p50, ">= " * one.p95_censored + p95


def p95_change(one: LatencySummary, before: LatencySummary | None) -> str:
    """Return the difference of two 95th percentiles; empty: one is not known."""
    if before is None or before.p95_ms is None or one.p95_ms is None:
        return ""
    return change_text(LATENCY, one.p95_ms - before.p95_ms)


def costs_table(run: StoredRun, base: StoredRun | None) -> Table:
    """Return what a run cost, beside a baseline; an unknown price stays unknown."""
    before = {} if base is None else _costs(base)
    rows: list[Row] = []
    for name, value in _costs(run).items():
        was = before.get(name)
        delta = None if was is None or value is None else value - was
        sign = "" if not delta else SIGN[delta > 0]
        signed = "-" if delta is None else f"{sign}{_cost_text(name, abs(delta))}"
        shown = _cost_text(name, was) if name in before else "-"
        rows.append((name, _cost_text(name, value), *([] if base is None else [shown, signed])))
    change = [] if base is None else [">baseline", ">change"]
    return Table(("cost", ">this run", *change), rows)


def _costs(run: StoredRun) -> dict[str, float | None]:
    numbers, usage = numbers_of(run), numbers_of(run).usage
    found: dict[str, float | None] = {
        _JUDGED: numbers.cost_usd,
        _UNCACHED: numbers.cost_usd_uncached,
        "Judge tokens": numbers.judge_tokens,
    }
    names = {"input_tokens": "input tokens", "output_tokens": "output tokens"}
    found |= {f"Target, {w} an answer": usage[key].mean for key, w in names.items() if key in usage}
    if "cost_usd" in usage:
        found[_REPORTED] = usage["cost_usd"].total
    if run.config.wall_s is not None:
        found[_WALL] = run.config.wall_s
    return found


_JUDGED, _UNCACHED = "Judge, this run", "Judge, without its cache"
_REPORTED, _WALL = "Target, as reported", "Wall time"


def _cost_text(name: str, value: float | None) -> str:
    if name in {_JUDGED, _UNCACHED, _REPORTED}:
        return "price unknown" if value is None else f"${format_value(value, unit_of(COST))}"
    if value is None:
        return "-"
    return f"{value:.1f} s" if name == _WALL else f"{value:,.0f}"
