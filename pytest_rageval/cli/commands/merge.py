"""``rageval merge``: merges the runs of several shards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pytest_rageval.cli.arguments import complete_run
from pytest_rageval.cli.output import (
    ExitCode,
    NotComparableError,
    add_to_step_summary,
    face_option,
    no_report_option,
    print_result,
)
from pytest_rageval.cli.target import project_settings
from pytest_rageval.report.view.summary import FinishedRun, session_view

if TYPE_CHECKING:
    from pytest_rageval.values.run import StoredRun


@click.command("merge")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", shell_complete=complete_run)
@click.option(
    "--run-id", metavar="ID", help="Name of the new run.  [default: UTC time and 4 hex digits]"
)
@no_report_option
@face_option
def command(
    runs: tuple[str, ...], run_id: str | None, no_report: bool, face: str | None
) -> ExitCode:
    """Merge runs over parts of the set into one.

    The gate is decided over the whole. RUN is an id, a prefix of one, a tag, last, last~N or a
    path. The new run has the figures of a single run over all cases; the parts are not changed.
    Exit code 3 if the runs differ in settings, cases or system, hold the same case twice, or are
    not comparable with the baseline; 1 if the gate fails, which it also does if cases of the set
    are missing.
    """
    from pytest_rageval.engine.merge import merge_parts
    from pytest_rageval.engine.parts import DifferentRunsError, read_part, refuse_different
    from pytest_rageval.runs.store import resolve_run

    project = project_settings({})
    folders = [resolve_run(Path(project.results_dir), run) for run in runs]
    parts = [read_part(folder) for folder in folders]
    try:
        refuse_different(parts)
    except DifferentRunsError as error:
        raise NotComparableError.of_faults(error.faults) from error
    project = replace(project, no_report=no_report or project.no_report)
    merged = merge_parts(parts, project, run_id=run_id)
    print_result(_document(parts, merged), session_view(merged, checks=True), face=face)
    add_to_step_summary(merged.summary)
    return ExitCode(merged.gate.exit_code)


def _document(parts: list[StoredRun], merged: FinishedRun) -> dict[str, Any]:
    return {
        "run_id": merged.run.run_id,
        "folder": merged.folder,
        "merged_from": [part.run_id for part in parts],
        "notes": list(merged.notes),
        "gate": merged.gate,
        "metrics": merged.run.aggregate,
    }
