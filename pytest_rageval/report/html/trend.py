"""The trend over the last runs of a results folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final

from pytest_rageval.analysis.compare.settings import compared_config
from pytest_rageval.analysis.trend import TrendRun, differences
from pytest_rageval.metrics.registry import METRICS
from pytest_rageval.report.html.charts import TrendPoint, trend_panel
from pytest_rageval.report.html.figures import known_metrics, place_on_scale
from pytest_rageval.report.html.values import Trend, TrendRow
from pytest_rageval.report.text.summary import HEADLINE
from pytest_rageval.support.numbers import format_value
from pytest_rageval.values.documents import number, text
from pytest_rageval.values.run import StoredRun

_PANELS: Final = 6
_UNTOLD: Final = datetime.min.replace(tzinfo=UTC)
"""Runs come in their order, so when each ran need not be known."""
_FIRST: Final = (
    "recall_at_k",
    "recall_all_at_k",
    "mrr",
    "abstention_accuracy",
    "groundedness",
    "correctness",
)
"""One of each side of a system: what was found, where, when it refuses, what it says."""


def view_trend(runs: Sequence[StoredRun], current: str) -> Trend | None:
    """Show the headline means of several runs; None: there is nothing before this one.

    Args:
        runs: with metrics.json and config.json, oldest first.
        current: id of the run that the page is about.
    """
    shown = [run for run in runs if run.metrics]
    if len(shown) < 2:
        return None
    present = {key for run in shown for key in known_metrics(run.metrics)}
    keys = [key for key in dict.fromkeys([*_FIRST, *HEADLINE]) if key in present][:_PANELS]
    breaks = {key: _breaks(shown, key) for key in keys}
    return Trend(
        columns=tuple(keys),
        runs=tuple(
            TrendRow(
                run_id=run.run_id,
                when=text(run.metrics, "timestamp")[:16].replace("T", " "),
                current=run.run_id == current,
                changed=tuple(dict.fromkeys(n for key in keys for n in breaks[key][place])),
                cells=tuple(format_value(_mean(run.metrics, key)) for key in keys),
            )
            for place, run in enumerate(shown)
        ),
        charts=tuple(
            trend_panel(
                f"trend-{number}",
                key,
                [
                    TrendPoint(
                        run_id=run.run_id,
                        place=place_on_scale(_mean(run.metrics, key), METRICS[key]),
                        text=format_value(_mean(run.metrics, key)),
                        breaks=bool(names),
                        current=run.run_id == current,
                    )
                    for run, names in zip(shown, breaks[key], strict=True)
                ],
            )
            for number, key in enumerate(keys)
        ),
    )


def _breaks(runs: Sequence[StoredRun], key: str) -> list[tuple[str, ...]]:
    """Name, for each run, what keeps a metric from being compared with that of the run before."""
    points = [_point(run) for run in runs]
    found = (differences(one, other, key)[0] for one, other in pairwise(points))
    return [(), *(tuple(one.name for one in breaks) for breaks in found)]


def _point(run: StoredRun) -> TrendRun:
    return TrendRun(
        run_id=run.run_id,
        ran_at=_UNTOLD,
        figure=None,
        dataset_hash=text(run.config, "dataset_hash") or None,
        config=compared_config(run.config),
    )


def _mean(metrics: Mapping[str, Any], key: str) -> float | None:
    return number(metrics, "statistics", key, "mean")
