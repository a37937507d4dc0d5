"""``rageval runs``: lists, shows, tags, approves and removes stored runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pytest_rageval.cli.arguments import baseline_name, complete_run, run_argument, run_or_last
from pytest_rageval.cli.commands.run_history import (
    put_and_warn,
    site_command,
    sync_command,
    trend_command,
)
from pytest_rageval.cli.output import (
    CommandError,
    ExitCode,
    HintingGroup,
    face_option,
    print_result,
    switch,
)
from pytest_rageval.cli.target import project_settings
from pytest_rageval.metrics.built_in import BUILT_IN, stored_registry
from pytest_rageval.report.view.blocks import HEAD, Block, Fact, Row, Table
from pytest_rageval.report.view.gate import GATE_STYLES
from pytest_rageval.report.view.summary import interval_text
from pytest_rageval.report.wording import scale_end, scaled
from pytest_rageval.runs.tags import remove_tag, tags_by_run, write_tag
from pytest_rageval.support.files import shown_below
from pytest_rageval.support.text import clean, counted, part
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.run import NO_CONFIG

if TYPE_CHECKING:
    from pytest_rageval.runs.list import RunEntry
    from pytest_rageval.values.run import StoredRun
    from pytest_rageval.values.settings import Settings


@click.group("runs", cls=HintingGroup, invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List, show, tag and remove runs; show trends.

    Without a command they are listed. A RUN is an id, a prefix of one, a tag, last, last~N or a
    path.
    """
    if context.invoked_subcommand is None:
        context.invoke(list_command)


# --- list ------------------------------------------------------------------------------------


@command.command("list")
@face_option
def list_command(face: str | None) -> None:
    """List the runs, newest first."""
    from pytest_rageval.runs.list import documents_of_runs, run_entry
    from pytest_rageval.runs.store import no_runs

    results = project_settings({}).results_folder
    entries = [run_entry(run) for run in documents_of_runs(results)][::-1]
    blocks = [_table(entries) if entries else str(no_runs(results))]
    print_result({"runs": entries}, blocks, face=face)


_HEADINGS: Final = {
    "pass_rate": "passed",
    "hit_at_k": "hit",
    "correctness": "correct",
    "latency_ms.p95": "p95 ms",
    "cost_usd.total": "usd",
}
"""Of the figures of a list."""


def _table(entries: Sequence[RunEntry]) -> Table:
    shown = [key for key in _HEADINGS if any(entry.figures.get(key) for entry in entries)]
    rows: list[Row] = []
    for entry in entries:
        when = (entry.timestamp or "-")[:16].replace("T", " ")
        cases = "-" if entry.n_cases is None else str(entry.n_cases)
        gate = (entry.verdict or "-").replace("_", " ")
        verdict = ((gate, GATE_STYLES.get(entry.verdict or "", "")),)
        bare = "" if entry.has_records else "(numbers alone)"
        rest = "  ".join(filter(None, (", ".join(entry.tags), bare)))
        figures = [
            scaled(entry.figures.get(key), scale_end(BUILT_IN.info(key)), key) for key in shown
        ]
        rows.append((entry.run_id, when, cases, verdict, *figures, rest))
    headings = [f">{_HEADINGS[key]}" for key in shown]
    optional = ("when", "usd", "hit")
    return Table(("run", "when", ">cases", "gate", *headings, "tags"), rows, optional=optional)


# --- stability ---------------------------------------------------------------------------------


@command.command("stability")
@click.option("--last", default=20, show_default=True, type=click.IntRange(min=1), metavar="N",
              help="Number of runs to read.")  # fmt: skip
@face_option
def stability_command(last: int, face: str | None) -> None:
    """Show how often each case passed in the last runs of the main branch.

    Runs of its commits without changes count, and none of only some cases.
    """
    from pytest_rageval.runs.stability import case_stability, runs_of_main

    main, runs = runs_of_main(project_settings({}))
    found = case_stability(runs, last)
    blocks: list[Block] = [f"no run of a commit of {main or 'the main branch'} without changes"]
    if found:
        varying = [one for one in found if one.rate < 1]
        rows: list[Row] = [
            (one.nodeid, f"{100 * one.rate:.0f} %", one.runs, "unstable" if one.unstable else "")
            for one in varying
        ]
        n, of = len(found) - len(varying), min(len(runs), last)
        blocks = [f"{n} of {counted(len(found), 'case')} passed in all of {of} runs of {main}"]
        blocks += [Table(("case", ">passed", ">runs", ""), rows)] if rows else []
    cases = [{**asdict(one), "unstable": one.unstable} for one in found]
    document = {"main": main, "runs": [run.run_id for run in runs[:last]], "cases": cases}
    print_result(document, blocks, face=face)


# --- show ------------------------------------------------------------------------------------


@command.command("show")
@run_argument
@face_option
def show_command(run: str | None, face: str | None) -> None:
    """Show the gate, figures, versions and settings of RUN, by default the last run."""
    from pytest_rageval.runs.list import run_entry
    from pytest_rageval.runs.read import read_documents
    from pytest_rageval.runs.store import resolve_run

    results = project_settings({}).results_folder
    folder = resolve_run(results, run_or_last(run))
    stored = read_documents(folder, tags=tags_by_run(results).get(folder.name, ()))
    entry = run_entry(stored)
    documents = {
        "metrics": stored.aggregate,
        "gate": stored.gate,
        "config": None if stored.config is NO_CONFIG else stored.config,
    }
    document = {**asdict(entry), "folder": str(folder), **documents}
    print_result(document, _show_blocks(entry, stored), face=face)


def _show_blocks(entry: RunEntry, run: StoredRun) -> Iterator[Block]:
    from pytest_rageval.runs.reviews import readable_notes

    tags = part(" [{}]", ", ".join(entry.tags))
    cases = part(", {}", entry.n_cases is not None and counted(entry.n_cases, "case"))
    yield Fact("run", f"{entry.run_id}{tags}{cases}")
    yield Fact(
        "gate", run.sentence or "not decided", status=GATE_STYLES.get(entry.verdict or "", "")
    )
    yield f"{'folder':<{HEAD}}{run.folder}"
    made = entry.timestamp or "at an unknown time"
    yield Fact("made", f"{made}, commit {entry.commit or 'unknown'}")
    yield Fact("judge", entry.judge or "unknown")
    yield Fact("dataset", entry.dataset_hash or "unknown")
    names = ("index_build_version", "retriever_version", "answerer_version")
    versions = [f"{name} {one}" for name in names if (one := getattr(run.config, name)) is not None]
    if versions:
        yield Fact("versions", ", ".join(versions))
    if notes := readable_notes(run.folder):
        n_cases = len({(note.file, note.case_id) for note in notes})
        yield Fact("notes", f"{counted(len(notes), 'note')} on {counted(n_cases, 'case')}")
    for name, reason in run.unreadable.items():
        yield f"{run.folder / name}: {reason}"
    if not entry.has_records:
        text = "its records are not here: it cannot be compared, explained or decided again"
        yield Fact("note", text, "warn")
    yield _figures(run)


def _figures(run: StoredRun) -> Table:
    metrics = {} if run.aggregate is None else run.aggregate.metrics
    registry = stored_registry(run.config)
    rows = [
        (
            key,
            found.n,
            scaled(found.mean, scale_end(registry.info(key)), key),
            interval_text(found.low, found.high),
        )
        for key, found in metrics.items()
        if found.n
    ]
    return Table(("metric", ">n", ">value", ">95% CI"), rows)


# --- tag -------------------------------------------------------------------------------------


@command.command("tag")
@click.argument("run", shell_complete=complete_run)
@click.argument("tag", required=False)
@switch("--delete", help="Remove the tag; its name is the only argument.")
@face_option
def tag_command(run: str, tag: str | None, delete: bool, face: str | None) -> None:
    """Give RUN a name such as main; another run with that name loses it.

    Without RUN, the last run gets the name.

    Tags are small files in the folder tags beside the runs. Git sees them, and of a tagged run the
    files with its numbers and settings.
    """
    from pytest_rageval.runs.store import resolve_run

    results = project_settings({}).results_folder
    if delete:
        if tag is not None:
            raise click.UsageError("--delete: got two names, expected the tag alone")
        gone = remove_tag(results, run)
        put_and_warn(gone)
        _print_tag({"tag": run, "run_id": None, "before": gone}, face)
        return
    if tag is None:
        if run == "last" or (results / run).is_dir():
            raise click.UsageError("missing argument 'TAG', such as main")
        run, tag = run_or_last(None), run
    folder = resolve_run(results, run)
    if folder.parent.resolve() != results.resolve():
        raise CommandError.of(folder, "outside_results", folder=results)
    before = write_tag(results, tag, folder.name)
    put_and_warn(*filter(None, dict.fromkeys((folder.name, before))))
    _print_tag({"tag": tag, "run_id": folder.name, "before": before}, face)


def _print_tag(document: Mapping[str, Any], face: str | None) -> None:
    tag, run_id, before = document["tag"], document["run_id"], document["before"]
    line = f"{tag} no longer names run {before}"
    if run_id is not None:
        moved = part(", and no longer {}", before != run_id and before)
        line = f"{tag} names run {run_id}{moved}"
    print_result(document, [line], face=face)


# --- approve -----------------------------------------------------------------------------------


@command.command("approve")
@click.argument("run", shell_complete=complete_run)
@click.option("--because", metavar="TEXT", required=True, help="Reason, for those who review it.")
@face_option
def approve_command(run: str, because: str, face: str | None) -> None:
    """Make RUN the baseline that auto finds, even if its gate failed.

    It writes baseline.json beside the folder of runs, with the means of the run, its commit, your
    name in git, and the reason: commit this file. It is valid until the main branch has a newer run
    that passed. The run itself must be where the gate looks for runs.
    """
    from datetime import UTC, datetime

    from msgspec import to_builtins

    from pytest_rageval.analysis.baseline import approval_remarks
    from pytest_rageval.runs.baseline import approval_path, approve_run
    from pytest_rageval.runs.read import read_documents
    from pytest_rageval.runs.store import resolve_run

    if not clean(because).strip():
        raise click.UsageError("--because: got no text, expected the reason")
    project = project_settings({})
    stored = read_documents(resolve_run(project.results_folder, run), groups=False)
    found = approve_run(stored, project, because, datetime.now(UTC))
    path = shown_below(approval_path(project), Path(project.rootdir))
    verdict = "not decided" if found.verdict is None else found.verdict.replace("_", " ")
    text = f"run {found.run}, gate {verdict}, approved by {found.by}: {found.because}"
    remarks = approval_remarks(stored)
    blocks = [
        Fact("approved", text),
        *(Fact("warning", one.sentence, "warn") for one in remarks),
        Fact("next", f"commit {path}"),
    ]
    document = {**to_builtins(found), "file": path, "remarks": to_builtins(remarks)}
    print_result(document, blocks, face=face)


# --- prune -----------------------------------------------------------------------------------


@command.command("prune")
@click.option("--keep", required=True, type=click.IntRange(min=0), metavar="N",
              help="Number of newest runs to keep.")  # fmt: skip
@switch("--dry-run", help="Only list the runs that would be removed.")
@face_option
def prune_command(keep: int, dry_run: bool, face: str | None) -> ExitCode:
    """Remove all but the newest N runs.

    Tagged runs, runs with notes on their cases, the baseline of thresholds.toml, the approved run
    and runs being written are always kept.
    """
    from pytest_rageval.runs.list import remove_run, runs_to_prune

    gone, kept = [], []
    project = project_settings({})
    results = project.results_folder
    runs = runs_to_prune(results, keep=keep, spared=_baseline(project))
    for folder in runs:
        try:
            remove_run(folder, dry_run=dry_run)
        except StorageError as error:
            kept.append(str(error))
        else:
            gone.append(folder.name)
    if gone and not dry_run:
        put_and_warn(*gone)
    done = "would remove" if dry_run else "removed"
    nothing = [] if kept else ["nothing to remove"]
    lines = [f"{done} {clean(name)}" for name in gone] or nothing
    document = {"removed": gone, "not_removed": kept, "dry_run": dry_run}
    print_result(document, lines, face=face)
    for text in kept:
        click.echo(clean(text), err=True)
    return ExitCode.NO if kept else ExitCode.YES


def _baseline(project: Settings) -> frozenset[str]:
    """Return the ids of the gate's baseline run and of the approved one, if there are any."""
    from pytest_rageval.runs.baseline import read_approval
    from pytest_rageval.runs.store import resolve_run

    approval = read_approval(project)
    approved = () if approval is None else (approval.run,)
    named = baseline_name(project)
    try:
        found = (resolve_run(project.results_folder, named).name,) if named else ()
    except StorageError:  # not stored here, so it cannot be removed
        found = ()
    return frozenset((*found, *approved))


command.add_command(site_command)
command.add_command(sync_command)
command.add_command(trend_command)
