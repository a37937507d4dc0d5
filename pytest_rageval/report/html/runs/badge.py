"""``badge.json``: the newest complete run as a badge, in the endpoint schema of shields.io.

The schema: https://shields.io/badges/endpoint-badge
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pytest_rageval.analysis.trend import run_figures
from pytest_rageval.metrics.registry import unit_of
from pytest_rageval.runs.list import is_partial
from pytest_rageval.support.reading import hint
from pytest_rageval.support.text import format_value
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.run import StoredRun

_COLOURS: Final = {"pass": "brightgreen", "fail": "red"}
_OTHER: Final = "lightgrey"


def badge_document(runs: Sequence[StoredRun], metric: str | None = None) -> dict[str, Any]:
    """Return the badge, coloured by the gate's verdict.

    Args:
        runs: documents of all runs, oldest first.
        metric: key of the figure to show; None: the verdict.

    Raises:
        ConfigError: no run has the metric.
    """
    known = {
        figure.metric
        for run in runs
        if run.aggregate
        for figure in run_figures(run.aggregate, run.config)
    }
    if metric is not None and metric not in known and known:
        raise ConfigError.of(
            "--badge", "unknown", what=f"metric {metric!r}", **hint(metric, sorted(known))
        )
    complete = [run for run in runs if run.aggregate and not is_partial(run)]
    numbers = complete[-1].aggregate if complete else None
    if numbers is None:
        return _badge(metric or "rageval", "no run", "")
    verdict = complete[-1].verdict or ""
    if metric is None:
        return _badge("rageval", verdict.replace("_", " ") or "unknown", verdict)
    figures = run_figures(numbers, complete[-1].config)
    value = next((f.value for f in figures if f.scope == "overall" and f.metric == metric), None)
    return _badge(
        metric, "no data" if value is None else format_value(value, unit_of(metric)), verdict
    )


def _badge(label: str, message: str, verdict: str) -> dict[str, Any]:
    colour = _COLOURS.get(verdict, _OTHER)
    return {"schemaVersion": 1, "label": label, "message": message, "color": colour}
