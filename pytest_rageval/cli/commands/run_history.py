"""``rageval runs sync``, ``trend`` and ``site``: an index, trends, and pages over all runs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pytest_rageval.cli.arguments import complete_metric
from pytest_rageval.cli.output import (
    PATH,
    CommandError,
    ExitCode,
    face_option,
    print_result,
    switch,
    warn,
)
from pytest_rageval.cli.target import project_settings
from pytest_rageval.metrics.registry import STAGE_PREFIX
from pytest_rageval.support.reading import hint
from pytest_rageval.support.text import clean, counted, first_few, part, plural

if TYPE_CHECKING:
    from pytest_rageval.analysis.trend import TrendQuery
    from pytest_rageval.report.view.blocks import Block
    from pytest_rageval.runs.list import TrendSource

_SHOWN_NAMES: Final = 20
_url_option = click.option(
    "--db", metavar="URL", help="SQLite file or URL of the index.  [default: RAGEVAL_DB]"
)
_project_option = click.option(
    "--project", metavar="NAME",
    help="Name of the project in a shared database.  [default: RAGEVAL_PROJECT, else the "
    "repository and folder]",
)  # fmt: skip


def project_folders() -> tuple[Path, Path]:
    """Return the root of the project and the folder of its runs."""
    project = project_settings({})
    return Path(project.rootdir), project.results_folder


def put_and_warn(*run_ids: str) -> None:
    """Update the changed runs in the index, if there is one; errors become warnings."""
    from pytest_rageval.runs.index import index_url, put_into_index

    if index_url(os.environ) is None:
        return
    warning = put_into_index(run_ids, project_settings({}), os.environ)
    if warning is not None:
        warn(warning)


# --- sync ------------------------------------------------------------------------------------


@click.command("sync")
@_url_option
@_project_option
@switch("--rebuild", help="Drop the project's rows in the index, and refill it.")
@face_option
def sync_command(db: str | None, project: str | None, rebuild: bool, face: str | None) -> ExitCode:
    """Bring the database index in line with the run folders.

    Unchanged runs are not written again, and runs whose folder no longer exists are removed. Exit
    code 1 if the folder of a run cannot be read; the rest is indexed anyway.
    """
    from pytest_rageval.report.view.history import sync_lines
    from pytest_rageval.runs.history.database import IndexDatabase
    from pytest_rageval.runs.history.sync import RunIndex, find_origin
    from pytest_rageval.runs.index import index_url

    url = (db or "").strip() or index_url(os.environ)
    if url is None:
        raise click.UsageError(
            "no index: expected --db or RAGEVAL_DB, such as evals/cache/history.sqlite or "
            "postgresql+psycopg://user@host/database"
        )
    rootdir, results = project_folders()
    with IndexDatabase(url, rootdir=rootdir, write=True, anew=rebuild) as database:
        origin = find_origin(rootdir, results, os.environ, project=project)
        found = RunIndex(database, origin, results).sync(rebuild=rebuild)
        shown = database.shown
    changes = {"added": found.added, "changed": found.changed, "removed": found.removed}
    lines = sync_lines(f"{shown}, project {origin.project}", changes, found.unchanged)
    document = {"index": shown, "project": origin.project, **asdict(found)}
    print_result(document, lines, face=face)
    for problems in found.broken.values():
        for problem in problems:
            click.echo(clean(problem), err=True)
    return ExitCode.NO if found.broken else ExitCode.YES


# --- trend -----------------------------------------------------------------------------------


@click.command("trend")
@click.argument("metric", default="pass_rate", shell_complete=complete_metric)
@click.option("--tag", metavar="TAG", help="Only cases with this tag.")
@click.option("--category", metavar="NAME", help="Only cases of this category.")
@click.option("--run-tag", "run_tags", multiple=True, metavar="TAG",
              help="Only runs with this tag; repeatable.")  # fmt: skip
@click.option("--config", metavar="HASH", help="Only runs whose config_hash has this prefix.")
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Only the last N of them.")
@switch("--partial", help="Include runs over a part of the set, as with -k.")
@_url_option
@_project_option
@face_option
def trend_command(
    metric: str,
    tag: str | None,
    category: str | None,
    db: str | None,
    project: str | None,
    face: str | None,
    **chosen: Any,
) -> None:
    """Show METRIC over the runs, oldest first.

    METRIC is a key such as recall_at_k, error_rate, latency_ms.p95 or cost_usd.total, by default
    pass_rate. The line
    breaks where something changed that the figures depend on: those above and below are not
    comparable. Runs over a part of the set are left out and counted. Runs are read from the index
    if there is one, else from the folders.
    """
    from pytest_rageval.analysis.trend import Scope, TrendQuery, count_left_out, make_trend
    from pytest_rageval.metrics.built_in import BUILT_IN
    from pytest_rageval.report.view.history import trend_lines

    if tag is not None and category is not None:
        raise click.UsageError("--tag, --category: got both, expected one of them")
    scope: Scope = "overall" if tag is category else "tag" if tag is not None else "category"
    query = TrendQuery(
        metric=BUILT_IN.resolve(metric) or metric,
        scope=scope,
        group=tag or category or "",
        **chosen,
    )
    source = _source(query, (db or "").strip(), project)
    if source.runs:
        _check(query, source)
    points = make_trend(source.runs, query)
    left_out = count_left_out(source.runs, query, points)
    document = {
        "metric": query.metric,
        "scope": query.scope,
        "group": query.group or None,
        "runs": [point.document() for point in points],
        "n_partial_left_out": left_out,
    }
    lines: list[Block] = ["no such runs" if source.runs else "no runs with figures"]
    if points:
        lines = [*trend_lines(query, points)]
    if left_out:
        runs = counted(left_out, "partial run")
        lines.append(f"{runs} left out (--partial shows {plural(left_out, 'it', 'them')})")
    print_result(document, lines, face=face)


def _source(query: TrendQuery, db: str, project: str | None) -> TrendSource:
    from pytest_rageval.runs.index import index_url

    rootdir, results = project_folders()
    url = db or index_url(os.environ)
    if url is None:
        from pytest_rageval.runs.list import read_trend

        return read_trend(results, query)
    from pytest_rageval.runs.history.database import IndexDatabase
    from pytest_rageval.runs.history.sync import find_origin, query_trend

    with IndexDatabase(url, rootdir=rootdir, write=False) as database:
        origin = find_origin(rootdir, results, os.environ, project=project)
        return query_trend(database, origin.project, query)


def _check(query: TrendQuery, source: TrendSource) -> None:
    if query.metric not in source.metrics:
        stage = query.metric.removeprefix(STAGE_PREFIX)
        if stage != query.metric:  # by the prefix, every stage would seem close
            known = [key.partition(STAGE_PREFIX)[2] for key in source.metrics]
            raise _unknown("stage", stage, filter(None, known))
        raise _unknown("metric", query.metric, source.metrics)
    tags = {tag for run in source.runs for tag in run.tags}
    for tag in query.run_tags:
        if tag not in tags:
            raise _unknown("run tag", tag, tags)
    if query.scope != "overall" and query.group not in source.groups:
        raise _unknown(query.scope, query.group, source.groups)
    if query.scope != "overall" and all(run.figure is None for run in source.runs):
        raise CommandError.of(
            f"metric {query.metric!r}", "no_group_figure", group=f"{query.scope} {query.group!r}"
        )


def _unknown(what: str, name: str, known: Iterable[str]) -> CommandError:
    names = sorted(known)
    others = {"names": first_few(names, _SHOWN_NAMES) or "none"}
    return CommandError.of(f"{what} {name!r}", "in_no_run", **(hint(name, names) or others))


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
