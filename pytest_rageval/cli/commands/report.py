"""``rageval report``: one self-contained page of a stored run."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from pytest_rageval.cli.assumed import stored_run
from pytest_rageval.cli.completion import complete_run, run_argument
from pytest_rageval.cli.output import FILE_PATH, switch, write_page
from pytest_rageval.values.errors import StorageError


@click.command("report")
@run_argument
@click.option("--baseline", metavar="RUN", shell_complete=complete_run,
              help="Compare with this run: flips first.  [default: that of its gate]")  # fmt: skip
@click.option("-o", "--output", type=FILE_PATH,
              help="File to write.  [default: report.html in the folder of the run]")  # fmt: skip
@switch(
    "--redact", help="Leave out all questions, answers, and texts, paths and headings of documents."
)
@switch("--full", help="Above 1000 cases, also show the details of those that passed.")
def command(
    run: str | None, baseline: str | None, output: Path | None, redact: bool, full: bool
) -> None:
    """Write a stored run as one HTML file.

    The file needs no network. RUN is an id, a prefix of one, a tag, last, last~N or a path, as is
    the baseline; by default the last run.
    """
    from pytest_rageval.report.html.run.files import report_page
    from pytest_rageval.report.html.run.values import ReportOptions
    from pytest_rageval.runs.read import read_compared
    from pytest_rageval.runs.store import REPORT
    from pytest_rageval.support.files import refuse_link
    from pytest_rageval.values.settings import is_run_id

    stored = stored_run(run, texts=False)
    base = None if baseline is None else stored_run(baseline, texts=False)
    if base is None and is_run_id(named := stored.baseline.run_id or ""):
        with suppress(StorageError):  # it may be gone by now, or without its records
            base = read_compared(stored.folder.parent / named, stored.folder.parent, texts=False)
    page = report_page(stored, baseline=base, options=ReportOptions(redact=redact, full=full))
    target = output or stored.folder / REPORT
    if output is None:
        refuse_link(stored.folder)
    write_page(target, page)
    click.echo(str(target))
