"""Figures over the last runs of a results folder."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

from pytest_rageval.analysis.compare.settings import compared_config
from pytest_rageval.analysis.trend import TrendRun, differences
from pytest_rageval.metrics.built_in import ASPECT_KEYS, stored_registry
from pytest_rageval.metrics.registry import unit_of
from pytest_rageval.report.html.charts import ChartPoint, Trend, sparkline, trend_chart
from pytest_rageval.report.html.links import report_beside
from pytest_rageval.report.html.markup import Element
from pytest_rageval.report.html.run.figures import COST, LATENCY, figure_of, known_metrics
from pytest_rageval.report.view.blocks import Cell, Row, Table
from pytest_rageval.report.view.summary import HEADLINE, interval_text
from pytest_rageval.support.text import format_value
from pytest_rageval.values.run import StoredRun

_PANELS: Final = 6
_UNKNOWN_TIME: Final = datetime.min.replace(tzinfo=UTC)
"""Placeholder: runs are already in order, so their times are not needed."""
_OPEN: Final = (0.0, math.inf)
"""Scale of a time, a cost, or a metric that is not known."""
TITLES: Final = {LATENCY: "p95, ms", COST: "cost, USD"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendView:
    """Figures over the last runs, oldest first."""

    columns: Sequence[str]
    """Keys of the metrics, then of time and cost."""
    n: int
    """Runs that it shows."""
    charts: Sequence[Element]
    """Time and cost after the first two."""
    table: Table


def view_trend(
    runs: Sequence[StoredRun],
    current: str,
    address: Callable[[str], str] = report_beside,
    base: str = "",
) -> TrendView | None:
    """Show the main figures of several runs; None: there is no earlier run.

    Args:
        runs: with metrics.json and config.json, oldest first.
        current: id of the run on the page, which has no link.
        address: returns the address of a run's page.
        base: id of the run that the newest one is compared with.
    """
    shown = [run for run in runs if run.aggregate]
    if len(shown) < 2:
        return None
    registry = stored_registry(*(run.config for run in shown))
    present = {k for run in shown for k in known_metrics(run.numbers, registry)}
    own = [key for key in registry.own_cases if key in present]
    ours = [key for key in dict.fromkeys([*ASPECT_KEYS, *HEADLINE]) if key in present]
    more = [k for k in (LATENCY, COST) if any(_value(run, k) for run in shown)]
    keys = [*ours[:_PANELS], *own[:_PANELS], *more]
    order = [*keys[:2], *more, *keys[2:]]
    breaks = breaks_of_runs(shown, keys)
    points = {key: _points(shown, key, breaks, current, address, base) for key in keys}
    infos = {key: registry.info(key) for key in keys}
    charts = [
        trend_chart(
            f"trend-{place}",
            Trend(
                key=key,
                title=TITLES.get(key, key),
                points=points[key],
                scale=info.bounds if (info := infos[key]) else _OPEN,
                limits=_limits(shown[-1], key),
            ),
        )
        for place, key in enumerate(dict.fromkeys(order))
    ]
    rows = [_row(run, [points[key][at] for key in keys]) for at, run in enumerate(shown)]
    head = ("run", "started", *(f">{TITLES.get(key, key)}" for key in keys), "changed")
    return TrendView(columns=keys, n=len(shown), charts=charts, table=Table(head, rows))


def _row(run: StoredRun, points: Sequence[ChartPoint]) -> Row:
    one = points[0]
    names = dict.fromkeys(name for point in points for name in point.breaks)
    cells = [Cell(p.text, note="" if p.interval == "-" else p.interval) for p in points]
    this = "this run" if one.current else ""
    when = (run.config.timestamp or "")[:16].replace("T", " ")
    return Cell(run.run_id, link=one.link, note=this), when, *cells, ", ".join(names)


def _limits(run: StoredRun, key: str) -> list[float]:
    """Return the limits of the newest run on a figure of the whole set."""
    checks = [one.check for one in run.checks if one.check.table == "overall"]
    return [c.limit for c in checks if c.metric == key and c.kind in {"min", "max"}]


def trend_spark(runs: Sequence[StoredRun], key: str) -> Element | None:
    """Draw a figure over the runs without axes; None: no two runs that compare have it."""
    shown = [run for run in runs if run.aggregate]
    return sparkline(_points(shown, key, breaks_of_runs(shown, [key])))


def _value(run: StoredRun, key: str) -> float | None:
    found = figure_of(run.numbers, key)
    return None if found is None else found.mean


def _points(
    runs: Sequence[StoredRun],
    key: str,
    breaks: Sequence[Mapping[str, tuple[str, ...]]],
    current: str = "",
    address: Callable[[str], str] = lambda run_id: "",
    base: str = "",
) -> list[ChartPoint]:
    """Return a figure of each run, with what makes it incomparable with the one before."""
    points = []
    for run, of_run in zip(runs, breaks, strict=True):
        found = figure_of(run.numbers, key)
        mean, low, high = (None,) * 3 if found is None else (found.mean, found.low, found.high)
        is_current = run.run_id == current
        points.append(
            ChartPoint(
                run_id=run.run_id,
                name=run.tags[0] if run.tags else run.run_id.rpartition("-")[2],
                link="" if is_current else address(run.run_id),
                value=mean,
                low=low,
                high=high,
                text=format_value(mean, unit_of(key)),
                interval=interval_text(low, high),
                breaks=of_run.get(key, ()),
                current=is_current,
                failed=run.verdict == "fail",
                base=run.run_id == base,
            )
        )
    return points


def breaks_of_runs(
    runs: Sequence[StoredRun], keys: Sequence[str]
) -> list[dict[str, tuple[str, ...]]]:
    """Name, by metric, the differences that make each run incomparable with the previous one."""
    points = [
        TrendRun(
            run_id=run.run_id,
            ran_at=_UNKNOWN_TIME,
            figure=None,
            dataset_hash=run.config.dataset_hash,
            config=compared_config(run.config),
        )
        for run in runs
    ]
    found = (zip(keys, differences(*pair, keys), strict=True) for pair in pairwise(points))
    named = ({key: tuple(b.name for b in breaks) for key, (breaks, _) in one} for one in found)
    return [{}, *named][: len(points)]
