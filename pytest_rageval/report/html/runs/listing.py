"""The list of all runs: the headline of the newest one, the trend, and a row for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from pytest_rageval.analysis.aggregate.case_groups import CASE_OUTCOMES
from pytest_rageval.metrics.definitions import stored_registry
from pytest_rageval.metrics.registry import unit_of
from pytest_rageval.report.html.links import report_beside
from pytest_rageval.report.html.parts import Part, parts
from pytest_rageval.report.html.run.figures import COST, LATENCY, figure_of
from pytest_rageval.report.html.run.overview import news_blocks
from pytest_rageval.report.html.run.trend import TrendView, breaks_of_runs, view_trend
from pytest_rageval.report.view.summary import HEADLINE, change_text, interval_text
from pytest_rageval.runs.list import is_partial, run_entry
from pytest_rageval.runs.store import RESULTS
from pytest_rageval.support.text import format_value, part
from pytest_rageval.values.run import StoredRun
from pytest_rageval.values.words import CHANGE

_COLUMNS: Final = 5
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
    reason: str
    """Its text after the verdict."""
    failed: tuple[str, ...]
    """Names of the checks that failed."""
    news: str
    """Numbers of cases that are new since the baseline; empty: none is compared."""
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
    news: Sequence[Part]
    """Headline of the newest run."""
    trend: TrendView | None
    unusable: Mapping[str, str]
    """Reason by folder."""
    tags: tuple[str, ...]
    verdicts: tuple[str, ...]


def view_runs(
    runs: Sequence[StoredRun],
    unusable: Mapping[str, str],
    address: Callable[[str], str] = report_beside,
    *,
    redact: bool = False,
) -> RunList:
    """Compute everything that the list shows.

    Args:
        runs: their documents, oldest first.
        unusable: reason by name of a folder that is not shown.
        address: returns the address of a run's page.
        redact: leave out text of the targets.
    """
    unusable = {**unusable, **_broken(runs)}
    runs = [run for run in runs if run.run_id not in unusable]
    complete = [run for run in runs if run.aggregate and not is_partial(run)]
    earlier = dict(zip((run.run_id for run in complete), [None, *complete], strict=False))
    whole = {run.run_id: run for run in complete}

    def base_of(run: StoredRun) -> StoredRun | None:
        named = run.baseline.run_id
        found = whole.get(named or "") if named != run.run_id else None
        return (found or earlier.get(run.run_id)) if run.run_id in whole else None

    newest = complete[-1] if complete else None
    base = base_of(newest) if newest else None
    trend = view_trend(complete[-_TREND:], "", address, base.run_id if base else "")
    known = {key for run in runs if run.aggregate for key in run.aggregate.metrics}
    metrics = (trend.columns if trend else tuple(k for k in HEADLINE if k in known))[:_COLUMNS]
    columns = (*metrics, LATENCY, COST)
    rows = []
    for run in reversed(runs):
        before = base_of(run)
        breaks = breaks_of_runs([before, run], columns)[1] if before else {}
        rows.append(_row(run, [_cell(run, key, before, breaks) for key in columns]))
    return RunList(
        columns=columns,
        rows=tuple(rows),
        news=[] if newest is None else [*_news(newest, address(newest.run_id), redact=redact)],
        trend=trend,
        unusable=unusable,
        tags=tuple(sorted({tag for row in rows for tag in row.tags})),
        verdicts=tuple(dict.fromkeys(row.verdict for row in rows)),
    )


def _news(run: StoredRun, page: str, *, redact: bool) -> Iterator[Part]:
    """Yield the headline of a run, whose cases lead to its page."""
    if run.gate is not None:
        headline, since = run.gate.headline, run.gate.headline.since
        groups = [since.broke, since.flaky, since.erred, since.fixed] if since and page else []
        names = [name for group in groups for name in group.names if "::" not in name]
        links = {name: f"{page}#case-{quote(name, safe='/')}" for name in names}
        yield from parts(news_blocks(headline, run.run_id, redact=redact), links)


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
    facts = [part("judge {}", entry.judge), (entry.commit or "")[:7]]
    since = None if run.gate is None else run.gate.headline.since
    return RunRow(
        run_id=run.run_id,
        tags=run.tags,
        when=(entry.timestamp or "-")[:16].replace("T", " "),
        verdict=run.verdict or "unknown",
        sentence=run.sentence,
        reason="" if run.gate is None else run.gate.reason or run.gate.sentence,
        failed=tuple(one.name for one in run.checks if one.status == "fail"),
        news="" if since is None or not since.changed else since.counts,
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
    found = figure_of(run.aggregate, key) if run.aggregate else None
    if found is None or found.mean is None:
        return MetricCell()
    broken = breaks.get(key, ())
    earlier = None if broken or before is None else figure_of(before.numbers, key)
    delta = None if earlier is None or earlier.mean is None else found.mean - earlier.mean
    shown = "" if delta is None else change_text(key, delta)
    info = stored_registry(run.config).info(key)
    direction = "lower" if info is None else info.direction
    change = ""
    # Times of a few calls vary by some percent.
    small = key == LATENCY and abs(delta or 0.0) < _NOISE * found.mean
    if delta and direction != "neutral" and shown[0] in "+-" and not small:
        change = CHANGE[(delta > 0) == (direction == "higher")]
    return MetricCell(
        value=format_value(found.mean, unit_of(key)),
        interval=interval_text(found.low, found.high),
        delta=shown,
        change=change,
        breaks=", ".join(broken),
    )


def row_words(row: RunRow) -> str:
    """Return the words of a row that a search looks in."""
    words = row.run_id, *row.tags, row.when, row.verdict, row.facts, row.sentence, *row.failed
    return " ".join([*words, "partial" if row.partial else ""])
