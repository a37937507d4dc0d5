"""Metrics over the last runs of a results folder."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

from pytest_rageval.analysis.compare.settings import compared_config
from pytest_rageval.analysis.trend import TrendRun, differences
from pytest_rageval.metrics.built_in import ASPECT_KEYS
from pytest_rageval.metrics.definitions import stored_registry
from pytest_rageval.report.html.markup import Element
from pytest_rageval.report.html.run.figures import known_metrics
from pytest_rageval.report.html.run.links import report_beside
from pytest_rageval.report.html.run.overview_values import Trend, TrendRow
from pytest_rageval.report.html.run.trend_charts import TrendPoint, sparkline, trend_panel
from pytest_rageval.report.view.summary import HEADLINE, interval_text
from pytest_rageval.support.text import format_value
from pytest_rageval.values.run import StoredRun

_PANELS: Final = 6
_UNKNOWN_TIME: Final = datetime.min.replace(tzinfo=UTC)
"""Placeholder: runs are already in order, so their times are not needed."""
_OPEN: Final = (0.0, math.inf)
"""Scale of a metric that is not known."""


def view_trend(
    runs: Sequence[StoredRun], current: str, address: Callable[[str], str] = report_beside
) -> Trend | None:
    """Show the headline means of several runs; None: there is no earlier run.

    Args:
        runs: with metrics.json and config.json, oldest first.
        current: id of the run on the page, which has no link.
        address: returns the address of a run's page.
    """
    shown = [run for run in runs if run.aggregate]
    if len(shown) < 2:
        return None
    registry = stored_registry(*(run.config for run in shown))
    present = {k for run in shown if run.aggregate for k in known_metrics(run.aggregate, registry)}
    own = [key for key in registry.own_cases if key in present]
    ours = [key for key in dict.fromkeys([*ASPECT_KEYS, *HEADLINE]) if key in present]
    keys = [*ours[:_PANELS], *own[:_PANELS]]
    places = ["" if run.run_id == current else address(run.run_id) for run in shown]
    breaks = breaks_of_runs(shown, keys)
    points = {key: _points(shown, key, breaks, current, places) for key in keys}
    return Trend(
        columns=tuple(keys),
        runs=tuple(
            TrendRow(
                run_id=run.run_id,
                link=places[place],
                when=(run.config.timestamp or "")[:16].replace("T", " "),
                current=run.run_id == current,
                changed=tuple(dict.fromkeys(n for key in keys for n in points[key][place].breaks)),
                cells=tuple((points[key][place].text, points[key][place].interval) for key in keys),
            )
            for place, run in enumerate(shown)
        ),
        charts=tuple(
            trend_panel(f"trend-{place}", key, points[key], info.bounds if info else _OPEN)
            for place, key in enumerate(keys)
            for info in (registry.info(key),)
        ),
    )


def trend_spark(runs: Sequence[StoredRun], key: str) -> Element | None:
    """Draw a metric, or the 95th percentile of the time, over the runs without axes.

    None: no two runs that compare have it.
    """
    shown = [run for run in runs if run.aggregate]
    return sparkline(_points(shown, key, breaks_of_runs(shown, [key]), "", [""] * len(shown)))


def _points(
    runs: Sequence[StoredRun],
    key: str,
    breaks: Sequence[Mapping[str, tuple[str, ...]]],
    current: str,
    places: Sequence[str],
) -> list[TrendPoint]:
    """Return the mean of a metric in each run, with what makes it incomparable with the last."""
    points = []
    for run, of_run, place in zip(runs, breaks, places, strict=True):
        found = None if run.aggregate is None else run.aggregate.metrics.get(key)
        mean, low, high = (None,) * 3 if found is None else (found.mean, found.low, found.high)
        if key == "latency_ms.p95" and run.aggregate is not None:
            mean = run.aggregate.latency.p95_ms
        points.append(
            TrendPoint(
                run_id=run.run_id,
                link=place,
                value=mean,
                low=low,
                high=high,
                text=format_value(mean),
                interval=interval_text(low, high),
                breaks=of_run.get(key, ()),
                current=run.run_id == current,
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
