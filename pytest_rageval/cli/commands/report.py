"""``rageval report``: one self-contained page of a stored run, or a comment on it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pytest_rageval.cli.arguments import complete_run, run_argument, stored_run
from pytest_rageval.cli.output import FILE_PATH, switch, write_page
from pytest_rageval.cli.target import project_settings
from pytest_rageval.support.files import refuse_link
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.settings import AUTO, is_run_id

if TYPE_CHECKING:
    from pytest_rageval.values.run import StoredRun


@click.command("report")
@run_argument
@click.option("--baseline", metavar="RUN", shell_complete=complete_run,
              help="Decide again and compare with this run, or auto.  "
              "[default: that of its gate]")  # fmt: skip
@click.option("-o", "--output", type=FILE_PATH,
              help="File to write.  [default: report.html in the folder of the run]")  # fmt: skip
@switch(
    "--redact", help="Leave out all questions, answers, and texts, paths and headings of documents."
)
@switch("--full", help="Above 1000 cases, also show the details of those that passed.")
@switch("--comment", help="Print a comment on the change instead, as Markdown without any text.")
@click.option("--link", metavar="URL", default="",
              help="Address of the page, for the comment.  [default: no link]")  # fmt: skip
def command(
    run: str | None,
    baseline: str | None,
    output: Path | None,
    redact: bool,
    full: bool,
    comment: bool,
    link: str,
) -> None:
    """Write a stored run as one HTML file.

    The file needs no network. RUN is an id, a prefix of one, a tag, last, last~N or a path, as is
    the baseline; by default the last run.
    """
    stored, base = _decided(stored_run(run, texts=False), baseline)
    if comment:
        text = _comment(stored, base, link, redact=redact)
        if output is None:
            click.echo(text, nl=False)
            return
        write_page(output, [text])
        click.echo(str(output))
        return
    from pytest_rageval.report.html.run.page import report_page
    from pytest_rageval.report.html.run.values import ReportOptions
    from pytest_rageval.runs.store import REPORT

    page = report_page(stored, baseline=base, options=ReportOptions(redact=redact, full=full))
    target = output or stored.folder / REPORT
    if output is None:
        refuse_link(stored.folder)
    write_page(target, page)
    click.echo(str(target))


def _decided(stored: StoredRun, named: str | None) -> tuple[StoredRun, StoredRun | None]:
    """Return a run, decided again if a baseline is named, and its baseline; None if absent."""
    from pytest_rageval.engine.finish import gate_of
    from pytest_rageval.runs.baseline import stored_runs
    from pytest_rageval.runs.read import read_compared

    project = project_settings({})
    if named is not None:
        if named != AUTO:
            # The last run may be the one that is reported, so `last` is not left to its gate.
            folder = stored_run(named, texts=False).folder.absolute()
            named = folder.name if folder.parent == project.results_folder else str(folder)
        gate = gate_of(stored, replace(project, baseline=named)).with_numbers()
        against = gate.baseline()
        found = None if against is None else against.comparison
        base = None if found is None else found.base
        return replace(stored, gate=gate.decide(against)), base
    run_id = stored.baseline.run_id or ""
    folders = [stored.folder.parent / run_id] if is_run_id(run_id) else []
    if folders and project.runs is not None:
        folders += [one for one in stored_runs(project) if one.name == run_id]
    for folder in folders:
        with suppress(StorageError):  # it may be gone by now, or without its records
            return stored, read_compared(folder, folder.parent, texts=False)
    return stored, None


def _comment(stored: StoredRun, base: StoredRun | None, address: str, *, redact: bool) -> str:
    from pytest_rageval.analysis.two_runs import compare_runs
    from pytest_rageval.report.faces import markdown
    from pytest_rageval.report.view.comment import view_of_comment

    found = None if base is None else compare_runs(base, stored)
    if found is not None and redact:
        found = replace(found, headline=found.headline.without_names)
    text = markdown.render(view_of_comment(stored, found))
    page = markdown.link("The page of this run", address)
    return f"{text}\n{page}\n" if page else text
