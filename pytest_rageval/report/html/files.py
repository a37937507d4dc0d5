"""Reads what ``report.html`` is made from, and writes it beside the other files of a run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_rageval.report.html.page import render_report
from pytest_rageval.report.html.values import BaselineRun, ReportOptions, RunFiles
from pytest_rageval.report.html.view import view_report
from pytest_rageval.runs.read import StoredRun
from pytest_rageval.runs.store import read_json, write_text_document
from pytest_rageval.values.errors import StorageError

if TYPE_CHECKING:
    from pytest_rageval.analysis.two_runs import RunComparison

REPORT: Final = "report.html"
_HISTORY: Final = 12
"""Runs of the trend: more are neither read at a glance nor loaded at no cost."""


def stored_files(run: StoredRun) -> RunFiles:
    """Return what a stored run holds; metrics that were never written are computed anew."""
    config, metrics = _document(run.folder, "config.json"), _document(run.folder, "metrics.json")
    return RunFiles(
        run_id=run.run_id,
        records=run.records,
        scoring=run.scoring,
        metrics=metrics or _computed(run, config),
        gate=_document(run.folder, "gate.json"),
        config=config,
        notes=run.notes,
    )


def _document(folder: Path, name: str) -> dict[str, Any]:
    try:
        return read_json(folder / name)
    except StorageError:  # a run that was killed, or of foreign origin, may have none
        return {}


def _computed(run: StoredRun, config: Mapping[str, Any]) -> dict[str, Any]:
    from pytest_rageval.analysis.aggregate.run import aggregate
    from pytest_rageval.runs.metrics_document import metrics_document

    return metrics_document(
        aggregate(run.records, path_case=run.settings.path_case),
        run_id=run.run_id,
        timestamp=str(config.get("timestamp", "")),
    )


def read_history(folder: Path, *, limit: int = _HISTORY) -> tuple[RunFiles, ...]:
    """Return the documents of a run and of those before it in its results folder, oldest first.

    Args:
        folder: of the run.
        limit: how many at most.
    """
    # The small config.json tells the time: a folder of many runs is not read whole.
    begun = {path.parent: _begun(path) for path in folder.parent.glob("*/config.json")}
    own = begun.get(folder)
    if own is None:
        return ()
    found: list[RunFiles] = []
    latest_first = sorted(begun.items(), key=lambda one: (one[1] or 0.0, one[0].name), reverse=True)
    for other, time in latest_first:
        if time is None or (time, other.name) > (own, folder.name) or len(found) == limit:
            continue
        metrics = _document(other, "metrics.json")
        if metrics:
            config = _document(other, "config.json")
            found.append(RunFiles(run_id=other.name, metrics=metrics, config=config))
    return tuple(reversed(found))


def _begun(config: Path) -> float | None:
    try:
        stamp = datetime.fromisoformat(read_json(config)["timestamp"])
    except (StorageError, KeyError, TypeError, ValueError):
        return None
    return (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp()


def report_page(
    run: RunFiles,
    folder: Path,
    *,
    baseline: RunFiles | None = None,
    options: ReportOptions | None = None,
) -> str:
    """Return the page of a run, with the trend of its results folder.

    Args:
        run: what the page is about.
        folder: where the run is kept.
        baseline: the run that it is held against.
        options: how much is shown.
    """
    view = view_report(
        run,
        baseline=None if baseline is None else _held_against(run, baseline),
        history=read_history(folder),
        options=options,
    )
    return render_report(view)


def _held_against(run: RunFiles, baseline: RunFiles) -> BaselineRun:
    from pytest_rageval.analysis.two_runs import RunSide, compare_runs

    sides = (
        RunSide(run_id=one.run_id, records=one.records, config=one.config)
        for one in (baseline, run)
    )
    return _as_baseline(compare_runs(*sides))


def _as_baseline(found: RunComparison) -> BaselineRun:
    base = found.base
    return BaselineRun(
        run=RunFiles(run_id=base.run_id, records=base.records, config=base.config),
        comparability=found.comparability,
        comparison=found.comparison,
    )


def write_report(run: RunFiles, folder: Path, baseline: RunComparison | None = None) -> Path:
    """Write ``report.html`` of a run that has just ended, and return its path.

    Args:
        run: what it holds.
        folder: where its other files are written already.
        baseline: the run held against its baseline; None: there is none.

    Raises:
        StorageError: it cannot be written.
    """
    held = None if baseline is None else _as_baseline(baseline)
    view = view_report(run, baseline=held, history=read_history(folder))
    return write_text_document(folder, REPORT, render_report(view))
