"""The page of a run, written as ``report.html`` beside its other files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final

from pytest_rageval.analysis.two_runs import RunComparison, compare_runs
from pytest_rageval.report.html.run.figures import numbers_of
from pytest_rageval.report.html.run.frame import PageFrame
from pytest_rageval.report.html.run.page import render_report
from pytest_rageval.report.html.run.values import ReportOptions
from pytest_rageval.report.html.run.view import view_report
from pytest_rageval.runs.list import is_partial
from pytest_rageval.runs.notes import readable_notes
from pytest_rageval.runs.read import read_documents
from pytest_rageval.runs.reviews import findings_of_run
from pytest_rageval.runs.store import REPORT, stored_time, write_text_document
from pytest_rageval.runs.tags import tags_by_run
from pytest_rageval.values.run import StoredRun

_HISTORY: Final = 12
"""Maximum runs of the trend: more are hard to read and slow to load."""


def with_metrics(run: StoredRun) -> StoredRun:
    """Return a stored run with metrics, computed anew where they were never written."""
    return replace(run, aggregate=numbers_of(run))


def read_history(folder: Path) -> tuple[StoredRun, ...]:
    """Return the documents of a run and of those before it in its results folder, oldest first.

    Runs over a part of their set are left out, as by `rageval runs trend`.
    """
    # The small config.json has the time, so that a folder of many runs is not read completely.
    begun = {path.parent: stored_time(path) for path in folder.parent.glob("*/config.json")}
    own = begun.get(folder)
    if own is None:
        return ()
    order = {other: (time, other.name) for other, time in begun.items() if time is not None}
    until = [other for other, place in order.items() if place <= (own, folder.name)]
    latest_first = sorted(until, key=order.__getitem__, reverse=True)
    tags = tags_by_run(folder.parent)
    runs = (
        read_documents(other, tags=tags.get(other.name, ()), groups=False) for other in latest_first
    )
    whole = (run for run in runs if run.aggregate and not is_partial(run))
    return tuple(islice(whole, _HISTORY))[::-1]


def report_page(
    run: StoredRun,
    *,
    baseline: StoredRun | None = None,
    options: ReportOptions | None = None,
    frame: PageFrame | None = None,
) -> Iterator[str]:
    """Yield the page of a run in pieces, with the trend of its results folder and its notes."""
    compared = None if baseline is None else compare_runs(baseline, run)
    history = read_history(run.folder)
    view = view_report(
        with_metrics(run),
        baseline=compared,
        history=history,
        options=options,
        reviews=findings_of_run(run),
    )
    redact = options is not None and options.redact
    frame = replace(frame or PageFrame(), notes=() if redact else readable_notes(run.folder))
    return render_report(view, frame)


def write_report(run: StoredRun, baseline: RunComparison | None = None) -> Path:
    """Write ``report.html`` of a run that has just ended, and return its path.

    Raises:
        StorageError: it cannot be written.
    """
    view = view_report(
        with_metrics(run),
        baseline=baseline,
        history=read_history(run.folder),
        reviews=findings_of_run(run),
    )
    page = render_report(view, PageFrame(notes=readable_notes(run.folder)))
    return write_text_document(run.folder, REPORT, page)
