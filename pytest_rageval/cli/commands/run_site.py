"""``rageval runs site``: all runs as a folder of static pages."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from pytest_rageval.cli.commands.run_history import project_folders
from pytest_rageval.cli.completion import complete_metric
from pytest_rageval.cli.output import PATH, ExitCode, face_option, print_result, switch
from pytest_rageval.support.text import clean, counted, part


@click.command("site")
@click.option("-o", "--output", required=True, type=PATH,
              help="Folder to write: a new or empty one, or an earlier site.")  # fmt: skip
@switch("--full-text", help="Include questions, answers, notes, and everything of documents.")
@click.option("--badge", metavar="METRIC", shell_complete=complete_metric,
              help="Figure in badge.json.  [default: the verdict of the gate]")  # fmt: skip
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Only the last N runs.")
@face_option
def site_command(
    output: Path, full_text: bool, badge: str | None, last: int | None, face: str | None
) -> ExitCode:
    """Write all runs as pages that need no server: index.html, one for each run, and comparisons.

    Each run is compared with the baseline of its gate, or else with the run before. The pages are
    redacted, and link to each other only. Pages of unchanged runs are not written again. badge.json
    is the newest run over the whole set, for https://shields.io/badges/endpoint-badge. Exit code 1
    if a run cannot be read; the others are written anyway.
    """
    from pytest_rageval import __version__
    from pytest_rageval.report.html.runs.site import SiteOptions, write_site

    rootdir, results = project_folders()
    options = SiteOptions(
        title=rootdir.resolve().name,
        version=__version__,
        redact=not full_text,
        badge=badge,
        last=last,
    )
    site = write_site(results, output, options)
    index = output / "index.html"
    changes = f"{counted(len(site.written), 'page')} written, {len(site.unchanged)} unchanged"
    removed = part(", {} removed", len(site.removed))
    lines = [f"{index}: {changes}{removed}"]
    print_result({"index": index.as_posix(), **asdict(site)}, lines, face=face)
    for run_id, reason in site.broken.items():
        click.echo(clean(f"{run_id}: no page: {reason}"), err=True)
    return ExitCode.NO if site.broken else ExitCode.YES
