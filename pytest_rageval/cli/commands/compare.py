"""``rageval compare``: the differences between two stored runs, and their significance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pytest_rageval.cli.arguments import baseline_name, complete_run, report_assumed, run_or_last
from pytest_rageval.cli.output import (
    FOLDER_PATH,
    PATH,
    CommandError,
    ExitCode,
    add_to_step_summary,
    face_option,
    print_result,
    switch,
)
from pytest_rageval.cli.target import project_settings
from pytest_rageval.support.files import named_errors
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.record import SCHEMA_VERSION

if TYPE_CHECKING:
    from pytest_rageval.analysis.two_runs import CheckedComparison
    from pytest_rageval.values.settings import Settings


@click.command("compare")
@click.argument("base", required=False, shell_complete=complete_run)
@click.argument("new", required=False, shell_complete=complete_run)
@click.option("--md", "markdown", metavar="FILE", type=PATH,
              help="Write the comparison in Markdown too.")  # fmt: skip
@click.option("--out-dir", metavar="DIR", type=FOLDER_PATH,
              help="Write diff.json and diff.md into this folder.")  # fmt: skip
@switch("--ignore-invariants", help="Compare runs that are not comparable anyway, with a banner.")
@click.option("--fail-on", type=click.Choice(["worse"]),
              help="Exit with 1 if the verdict is worse or mixed, 5 without one.")  # fmt: skip
@switch("-v", "--verbose", help="Show every metric and every flip.")
@face_option
def command(
    base: str | None,
    new: str | None,
    ignore_invariants: bool,
    verbose: bool,
    face: str | None,
    fail_on: str | None,
    **files: Path | None,
) -> ExitCode:
    """Compare two runs case by case.

    A run is an id, a prefix of one, a tag, last, last~N or a path. NEW is by default the last run;
    BASE the baseline of thresholds.toml, else the run tagged main, else the run before NEW, which
    asked the whole set if NEW did. Cases are paired by file, id and content. The first line is the
    verdict. Exit code 1 if a check of thresholds.toml against a baseline (max_drop, max_rise,
    newly_missed) fails with BASE as the baseline; 3 if the runs are not comparable; 5 if a target
    was down, so that nothing can be told.
    """
    from pytest_rageval.report.comparison_document import comparison_document
    from pytest_rageval.report.faces.markdown import render
    from pytest_rageval.report.view.comparison import view_of_comparison

    compared = _compare(base, new, ignore_invariants=ignore_invariants)
    view = view_of_comparison(compared)
    text = render(view)
    document = comparison_document(compared)
    markdown, out_dir = files["markdown"], files["out_dir"]
    wanted = {} if markdown is None else {markdown: text}
    if out_dir is not None:
        whole = {"schema_version": SCHEMA_VERSION, **document}
        lines = json.dumps(whole, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
        wanted |= {out_dir / "diff.json": lines, out_dir / "diff.md": text}
    for path, content in wanted.items():
        with named_errors(path, CommandError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8", errors="backslashreplace")
    print_result(document, view, face=face, verbose=verbose)
    add_to_step_summary(text)
    if not compared.found.comparable and not ignore_invariants:
        return ExitCode.NOT_COMPARABLE
    verdict = compared.found.conclusion
    if verdict.incomplete or (fail_on and verdict.word == "cannot_tell"):
        return ExitCode.CANNOT_TELL
    failed = compared.failed or (fail_on and verdict.word in {"worse", "mixed"})
    return ExitCode.NO if failed else ExitCode.YES


def _folders(base: str | None, new: str | None, project: Settings) -> tuple[Path, Path]:
    """Return the folders of the two runs; one or both may be left unnamed."""
    from pytest_rageval.runs.store import resolve_run

    results = project.results_folder
    named = None if base is None else resolve_run(results, base)
    newest = resolve_run(results, run_or_last(new, "NEW"))
    if named is None or (new is None and named == newest):  # `compare last` names the new run
        return _assumed_base(newest, project), newest
    return named, newest


def _assumed_base(newest: Path, project: Settings) -> Path:
    from pytest_rageval.runs.list import is_partial_run, last_full_run
    from pytest_rageval.runs.store import list_runs, resolve_run
    from pytest_rageval.runs.tags import BASELINE_TAG, read_tags

    results, baseline = project.results_folder, baseline_name(project)
    for name, role in ((baseline, "the baseline"), (BASELINE_TAG, f"tagged {BASELINE_TAG}")):
        if name is None or (name != baseline and name not in read_tags(results)):
            continue
        try:
            folder = resolve_run(results, name)
        except StorageError as error:
            report_assumed("BASE", f"not {name}: {error}")
            continue
        if folder != newest:
            report_assumed("BASE", f"{folder.name}, {role}")
            return folder
    runs = list_runs(results)
    before = runs[: runs.index(newest)] if newest in runs else runs
    if not before:
        raise CommandError.of("BASE", "no_earlier", run=newest.name)
    base, words = before[-1], "the run before"
    if is_partial_run(base) and not is_partial_run(newest):
        # In a run with -k or --lf, most cases of the whole set have no partner.
        complete = last_full_run(before)
        if complete is not None:
            base, words = complete, "the last run before that asked the whole set"
    report_assumed("BASE", f"{base.name}, {words}")
    return base


def _compare(base: str | None, new: str | None, *, ignore_invariants: bool) -> CheckedComparison:
    from pytest_rageval.engine.comparing import compare_stored
    from pytest_rageval.engine.finish import open_gate
    from pytest_rageval.runs.read import read_compared

    project = project_settings({})
    folders = _folders(base, new, project)
    gate = open_gate(folders[1], project)
    compared = read_compared(folders[0], project.results_folder, texts=False)
    return compare_stored(compared, gate, ignore_invariants=ignore_invariants)
