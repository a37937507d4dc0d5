"""The list of all runs: its rows and columns, and the trend above them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import CASE_OUTCOMES
from pytest_rageval.metrics.definitions import stored_registry
from pytest_rageval.metrics.registry import unit_of
from pytest_rageval.report.html.markup import Element
from pytest_rageval.report.html.run.links import report_beside
from pytest_rageval.report.html.run.trend import breaks_of_runs, view_trend
from pytest_rageval.report.view.summary import HEADLINE, change_text, interval_text
from pytest_rageval.runs.list import is_partial, run_entry
from pytest_rageval.runs.store import RESULTS
from pytest_rageval.support.text import format_value
from pytest_rageval.values.numbers import MetricSummary
from pytest_rageval.values.run import StoredRun

_COLUMNS: Final = 5
_TIME: Final = "latency_ms.p95"
_COST: Final = "cost_usd"
_NOISE: Final = 0.1
"""Share of a time below which its change is neither better nor worse."""
_TREND: Final = 20
"""Maximum runs of the trend: more points than a panel of it has room for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricCell:
    """One figure of a run; the fields are empty where it has none."""

    value: str = "-"
    interval: str = ""
    delta: str = ""
    """Difference to the baseline of the run's gate, or else to the complete run before."""
    change: str = ""
    """``better`` or ``worse``; empty: neither."""
    breaks: str = ""
    """Names of what makes the two not comparable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run of the list."""

    run_id: str
    tags: tuple[str, ...]
    when: str
    verdict: str
    """``pass``, ``fail``, ``not_evaluated`` or ``unknown``."""
    sentence: str
    failed: tuple[str, ...]
    """Names of the checks that failed."""
    n_cases: str
    outcomes: tuple[tuple[str, int], ...]
    """Name and number of the outcomes that any case has."""
    facts: str
    """Judge and commit."""
    partial: bool
    problems: tuple[str, ...]
    comparable: bool
    """Whether its records are stored."""
    cells: tuple[MetricCell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunList:
    """Content of the list, newest run first."""

    columns: tuple[str, ...]
    """Metrics, then the time of a case and the cost of the run."""
    rows: tuple[RunRow, ...]
    charts: tuple[Element, ...]
    n_trend: int
    unusable: Mapping[str, str]
    """Reason by folder."""
    tags: tuple[str, ...]
    verdicts: tuple[str, ...]


def view_runs(
    runs: Sequence[StoredRun],
    unusable: Mapping[str, str],
    address: Callable[[str], str] = report_beside,
) -> RunList:
    """Compute everything that the list shows.

    Args:
        runs: their documents, oldest first.
        unusable: reason by name of a folder that is not shown.
        address: returns the address of a run's page.
    """
    unusable = {**unusable, **_broken(runs)}
    runs = [run for run in runs if run.run_id not in unusable]
    complete = [run for run in runs if run.aggregate and not is_partial(run)]
    trend = view_trend(complete[-_TREND:], "", address)
    known = {key for run in runs if run.aggregate for key in run.aggregate.metrics}
    columns = (trend.columns if trend else tuple(k for k in HEADLINE if k in known))[:_COLUMNS]
    columns = (*columns, _TIME, _COST)
    earlier = dict(zip((run.run_id for run in complete), [None, *complete], strict=False))
    known_runs = {run.run_id: run for run in complete}
    rows = []
    for run in reversed(runs):
        base = earlier.get(run.run_id)
        if (named := run.baseline.run_id) in known_runs and named != run.run_id:
            base = base and known_runs[named]
        breaks = breaks_of_runs([base, run], columns)[1] if base else {}
        rows.append(_row(run, [_cell(run, key, base, breaks) for key in columns]))
    return RunList(
        columns=columns,
        rows=tuple(rows),
        charts=trend.charts if trend else (),
        n_trend=len(trend.runs) if trend else 0,
        unusable=unusable,
        tags=tuple(sorted({tag for row in rows for tag in row.tags})),
        verdicts=tuple(dict.fromkeys(row.verdict for row in rows)),
    )


def _broken(runs: Sequence[StoredRun]) -> dict[str, str]:
    """Return the reason for each run of which neither figures nor records can be read."""
    return {
        run.run_id: "; ".join(_faults(run)) or "holds neither records nor figures"
        for run in runs
        if run.aggregate is None and not (run.folder / RESULTS).is_file()
    }


def _faults(run: StoredRun) -> list[str]:
    return [f"{name}: {reason}" for name, reason in run.unreadable.items()]


def _row(run: StoredRun, cells: Sequence[MetricCell]) -> RunRow:
    entry = run_entry(run)
    facts = [f"judge {entry.judge}" if entry.judge else "", (entry.commit or "")[:7]]
    return RunRow(
        run_id=run.run_id,
        tags=run.tags,
        when=(entry.timestamp or "-")[:16].replace("T", " "),
        verdict=run.verdict or "unknown",
        sentence=run.sentence,
        failed=tuple(one.name for one in run.checks if one.status == "fail"),
        n_cases="-" if entry.n_cases is None else str(entry.n_cases),
        outcomes=tuple(
            (n, c) for n in CASE_OUTCOMES.values() if (c := getattr(run.aggregate, n, 0))
        ),
        facts=", ".join(filter(None, facts)),
        partial=is_partial(run),
        problems=tuple(_problems(run, has_records=entry.has_records)),
        comparable=entry.has_records,
        cells=tuple(cells),
    )


def _problems(run: StoredRun, *, has_records: bool) -> list[str]:
    found = _faults(run)
    if run.aggregate is None and "metrics.json" not in run.unreadable:
        found.append("no metrics.json: the session is under way or was cut short")
    if not has_records:
        found.append("numbers alone: its records are not here")
    return found


def _cell(
    run: StoredRun, key: str, before: StoredRun | None, breaks: Mapping[str, tuple[str, ...]]
) -> MetricCell:
    """Show a figure of a run beside that of the run that it is compared with."""
    found = _figure(run, key)
    if found is None or found.mean is None:
        return MetricCell()
    broken = breaks.get(key, ())
    earlier = None if broken or not before else _figure(before, key)
    delta = None if earlier is None or earlier.mean is None else found.mean - earlier.mean
    shown = "" if delta is None else change_text(key, delta)
    info = stored_registry(run.config).info(key)
    direction = "lower" if info is None else info.direction
    change = ""
    # Times of a few calls vary by some percent.
    small = key == _TIME and abs(delta or 0.0) < _NOISE * found.mean
    if delta and direction != "neutral" and shown[0] in "+-" and not small:
        change = "better" if (delta > 0) == (direction == "higher") else "worse"
    return MetricCell(
        value=format_value(found.mean, unit_of(key)),
        interval=interval_text(found.low, found.high),
        delta=shown,
        change=change,
        breaks=", ".join(broken),
    )


def _figure(run: StoredRun, key: str) -> MetricSummary | None:
    numbers = run.aggregate
    if numbers is None or key not in {_TIME, _COST}:
        return None if numbers is None else numbers.metrics.get(key)
    if key == _TIME:
        return MetricSummary(n=numbers.latency.n, mean=numbers.latency.p95_ms)
    target = numbers.usage.get("cost_usd")
    costs = [numbers.cost_usd, None if target is None else target.total]
    known = [cost for cost in costs if cost is not None]
    return MetricSummary(n=numbers.total, mean=sum(known) if known else None)


def row_words(row: RunRow) -> str:
    """Return the words of a row that a search looks in."""
    words = row.run_id, *row.tags, row.when, row.verdict, row.facts, row.sentence, *row.failed
    return " ".join([*words, "partial" if row.partial else ""])
