"""The trend over the last runs of a results folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from pytest_rageval.metrics.registry import METRICS
from pytest_rageval.report.numbers import format_value
from pytest_rageval.report.summary import HEADLINE
from pytest_rageval.report_html.charts import TrendPoint, trend_panel
from pytest_rageval.report_html.documents import number, text
from pytest_rageval.report_html.figures import known_metrics, place_on_scale
from pytest_rageval.report_html.values import RunFiles, Trend, TrendRun

_PANELS: Final = 6
_FIRST: Final = (
    "recall_at_k",
    "recall_all_at_k",
    "mrr",
    "abstention_accuracy",
    "groundedness",
    "correctness",
)
"""One of each side of a system: what was found, where, when it refuses, what it says."""
_INVARIANTS: Final = (
    ("dataset", ("dataset_hash",)),
    ("configuration", ("config_hash",)),
    ("judge", ("judge",)),
    ("k", ("settings", "k")),
    ("metric definitions", ("metric_definitions_version",)),
)
"""What must agree for figures of two runs to mean the same, as config.json names it."""


def view_trend(runs: Sequence[RunFiles], current: str) -> Trend | None:
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
    changes = [(), *(changed(a.config, b.config) for a, b in pairwise(shown))]
    return Trend(
        columns=tuple(keys),
        runs=tuple(
            TrendRun(
                run_id=run.run_id,
                when=text(run.metrics, "timestamp")[:16].replace("T", " "),
                current=run.run_id == current,
                changed=change,
                cells=tuple(format_value(_mean(run.metrics, key)) for key in keys),
            )
            for run, change in zip(shown, changes, strict=True)
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
                        breaks=bool(change),
                        current=run.run_id == current,
                    )
                    for run, change in zip(shown, changes, strict=True)
                ],
            )
            for number, key in enumerate(keys)
        ),
    )


def changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    """Name what two configurations differ in that figures depend on."""
    return tuple(name for name, path in _INVARIANTS if text(before, *path) != text(now, *path))


def _mean(metrics: Mapping[str, Any], key: str) -> float | None:
    return number(metrics, "statistics", key, "mean")
