"""The list of all runs: the headline of the newest one, the trend, and a row for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from pytest_rageval.analysis.aggregate.case_groups import CASE_OUTCOMES
from pytest_rageval.metrics.built_in import stored_registry
from pytest_rageval.metrics.registry import unit_of
from pytest_rageval.report.html.links import report_beside
from pytest_rageval.report.html.parts import CellPiece, Part, cells_of, parts
from pytest_rageval.report.html.run.figures import COST, LATENCY, figure_of
from pytest_rageval.report.html.run.overview import news_blocks
from pytest_rageval.report.html.run.trend import TrendView, breaks_of_runs, view_trend
from pytest_rageval.report.view.blocks import Cell, Line, Status
from pytest_rageval.report.view.summary import HEADLINE, change_text, interval_text
from pytest_rageval.runs.list import is_partial, run_entry
from pytest_rageval.runs.store import RESULTS
from pytest_rageval.support.text import counted, part
from pytest_rageval.values.run import StoredRun

_COLUMNS: Final = 5
_NAMED: Final = 3
_VERDICTS: Final[Mapping[str, tuple[str, Status]]] = {
    "pass": ("pass", "good"),
    "fail": ("FAIL", "bad"),
}
_SIGNS: Final = {True: "\u25b2", False: "\u25bc"}
_NOISE: Final = 0.1
_ROUNDING: Final = 0.002
"""Share of a time, as those of few calls vary, and of another figure, below which a change is
neither better nor worse."""
_TREND: Final = 20
"""Maximum runs of the trend: more points than a panel of it has room for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run of the list."""

    run_id: str
    tags: tuple[str, ...]
    verdict: str
    """``pass``, ``fail``, ``not_evaluated`` or ``unknown``."""
    reason: str
    """Text of the gate after the verdict."""
    facts: Sequence[str]
    """When it was made, of how many cases, with which judge and commit."""
    partial: bool
    problems: Sequence[str]
    comparable: bool
    """Whether its records are stored."""
    cells: Sequence[Sequence[CellPiece]]
    """Gate with the checks that failed, outcomes with what is new, and each figure."""
    words: str
    """Words that a search looks in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunList:
    """Content of the list, newest run first."""

    columns: Sequence[tuple[str, bool]]
    """Name of each cell of a row, and whether it is aligned at the right."""
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
    keys = (*metrics, LATENCY, COST)
    rows = []
    for run in reversed(runs):
        before = base_of(run)
        breaks = breaks_of_runs([before, run], keys)[1] if before else {}
        rows.append(_row(run, [_cell(run, key, before, breaks) for key in keys]))
    names = (*metrics, "p95, ms", "cost, USD")
    return RunList(
        columns=[("Gate", False), ("Outcome", False), *((name, True) for name in names)],
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


def _row(run: StoredRun, figures: Sequence[Cell]) -> RunRow:
    entry, gate = run_entry(run), run.gate
    when = (entry.timestamp or "-")[:16].replace("T", " ")
    cases = "-" if entry.n_cases is None else counted(entry.n_cases, "case")
    facts = [when, cases, part("judge {}", entry.judge), (entry.commit or "")[:7]]
    since = None if gate is None else gate.headline.since
    failed = [one.name for one in run.checks if one.status == "fail"]
    verdict, partial = run.verdict or "unknown", is_partial(run)
    outcomes = [f"{n} {o}" for o in CASE_OUTCOMES.values() if (n := getattr(run.aggregate, o, 0))]
    word, status = _VERDICTS.get(verdict, (verdict.replace("_", " "), "warn"))
    cells = (
        Cell(word, status=status, note=_lines(failed)),
        Cell(
            ", ".join(outcomes) or None,
            note="" if since is None or not since.changed else since.counts,
        ),
        *figures,
    )
    words = run.run_id, *run.tags, *facts, verdict, run.sentence, *failed, "partial" * partial
    return RunRow(
        run_id=run.run_id,
        tags=run.tags,
        verdict=verdict,
        reason="" if gate is None else gate.reason or gate.sentence,
        facts=[*filter(None, facts)],
        partial=partial,
        problems=[*_problems(run, has_records=entry.has_records)],
        comparable=entry.has_records,
        cells=cells_of(cells),
        words=" ".join(words),
    )


def _lines(names: Sequence[str]) -> Line:
    """Return the first names, each on a line of its own."""
    more = len(names) - _NAMED
    shown = [*names[:_NAMED], *([f"{more} more"] if more > 0 else [])]
    return tuple(segment for name in shown for segment in ((name, ""), ("\n", "")))


def _problems(run: StoredRun, *, has_records: bool) -> list[str]:
    found = _faults(run)
    if run.aggregate is None and "metrics.json" not in run.unreadable:
        found.append("no metrics.json: the session is under way or was cut short")
    if not has_records:
        found.append("numbers alone: its records are not here")
    return found


def _cell(
    run: StoredRun, key: str, before: StoredRun | None, breaks: Mapping[str, tuple[str, ...]]
) -> Cell:
    """Show a figure of a run beside that of the run that it is compared with."""
    found = figure_of(run.aggregate, key) if run.aggregate else None
    if found is None or found.mean is None:
        return Cell(None)
    broken = breaks.get(key, ())
    earlier = None if broken or before is None else figure_of(before.numbers, key)
    delta = None if earlier is None or earlier.mean is None else found.mean - earlier.mean
    change = "" if delta is None else change_text(key, delta)
    info = stored_registry(run.config).info(key)
    direction = "lower" if info is None else info.direction
    status: Status = ""
    small = abs(delta or 0.0) < (_NOISE if key == LATENCY else _ROUNDING) * abs(found.mean)
    if delta and direction != "neutral" and change[0] in "+-" and not small:
        better = (delta > 0) == (direction == "higher")
        change, status = f"{change} {_SIGNS[better]}", "good" if better else "bad"
    interval = interval_text(found.low, found.high).removeprefix("-")
    new = part("new {}", ", ".join(broken))
    notes: Line = ((change, status), ("\n", ""), (interval, ""), ("\n", ""), (new, ""))
    return Cell(found.mean, unit_of(key), note=notes)
