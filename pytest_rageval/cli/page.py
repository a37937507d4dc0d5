"""The page of a run that a subcommand has just written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from pytest_rageval.analysis.two_runs import RunComparison

_Command = TypeVar("_Command", bound=Callable[..., Any])


def no_report_option(command: _Command) -> _Command:
    """Add ``--no-report`` to a command, as the argument ``no_report``."""
    return click.option(
        "--no-report", is_flag=True, help="Write no report.html; rageval report does at any time."
    )(command)


def write_page(folder: Path, baseline: RunComparison | None = None) -> str:
    """Write ``report.html`` of a run from its files.

    Args:
        folder: of the run.
        baseline: the run held against its baseline; None: there is none.

    Returns:
        A sentence that says why there is none; empty: it is written.
    """
    from pytest_rageval.report.html.files import REPORT, stored_files, write_report
    from pytest_rageval.runs.read import read_run

    try:
        write_report(stored_files(read_run(folder)), folder, baseline)
    except Exception as error:  # the page must not cost the run its verdict
        return f"{REPORT} was not written: {type(error).__name__}: {error}"
    return ""
