"""``rageval check``: validates case files and looks for suspicious cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pytest_rageval.cli.arguments import all_case_files, read_vault, report_assumed, run_or_last
from pytest_rageval.cli.output import (
    PATH,
    ExitCode,
    error_text,
    face_option,
    print_result,
    switch,
    warn,
)
from pytest_rageval.cli.target import opened_target, project_settings
from pytest_rageval.support.text import clean, clean_lines, counted
from pytest_rageval.values.case import count_cases
from pytest_rageval.values.errors import ConfigError, DatasetError

if TYPE_CHECKING:
    from pytest_rageval.authoring.linting.findings import LintFinding, PlacedCase


@click.command("check")
@click.argument("files", nargs=-1, type=PATH)
@click.option(
    "--vault",
    type=PATH,
    metavar="DIR",
    help="Folder of Markdown notes in which anchors and snippets are looked up.",
)
@click.option(
    "--rag-url",
    "rageval_rag_url",
    metavar="URL",
    help="Base URL of a RAG API in whose index anchors are looked up, by queries.",
)
@switch(
    "--gate",
    "tries_gate",
    help="FILES is a run, by default the last: plant faults in its replies, and say which of them "
    "the limits catch.",
)
@switch(
    "--runs",
    "over_runs",
    help="FILES are runs, by default the last 20 of the whole set: find cases that are wrong or "
    "tell nothing.",
)
@switch("--target", help="Look anchors up in the target of the settings, by queries.")
@switch("--strict", help="Exit with 1 on warnings, too.")
@face_option
def command(
    files: tuple[Path, ...],
    vault: Path | None,
    rageval_rag_url: str | None,
    tries_gate: bool,
    over_runs: bool,
    target: bool,
    strict: bool,
    face: str | None,
) -> ExitCode:
    """Find errors and doubtful cases in case files.

    FILES are by default all case files of the project.

    Faults are printed as file:line: field: what came, what was expected. Of very many faults of
    a file the first are printed and the others counted; --json has all of them.
    Files without faults are then checked for duplicate questions, within a file and between files,
    unbalanced categories and, with --vault, --rag-url or --target, anchors that no longer exist.
    Exit codes: 0 no errors, 1 an error was found (--strict: or a warning), 2 a file cannot be read
    as cases, 4 the target does not answer.

    With --gate and --runs nothing is asked or written; with --strict the exit code is 1 if no dose
    of a fault is caught, or a case is found.
    """
    if tries_gate or over_runs:
        if tries_gate and over_runs:
            raise click.UsageError("--gate and --runs: expected one of them")
        look = partial(_over_runs, vault=vault) if over_runs else _try_gate
        return look(files, strict=strict, face=face)
    from pytest_rageval.authoring.linting.findings import in_order

    documents, errors = [], []
    placed: dict[str, list[PlacedCase]] = {}
    for path in files or all_case_files("FILES"):
        document, cases, error = _load(path)
        documents.append(document)
        errors.append(error)
        placed.setdefault(document["file"], cases)  # a file may be named twice
    files_read = [document["file"] for document in documents]
    found = _lint(placed, vault)
    looked_up = None
    if target or rageval_rag_url is not None:
        lost, looked_up = _in_index(placed, rageval_rag_url)
        found += lost
    found = [*_unread_fields(), *in_order(found, files_read)]
    code = _exit_code(documents, found, strict=strict)
    if face is not None:
        lint = [{**asdict(one), "text": str(one)} for one in found]
        ok = code == ExitCode.YES
        document = {"ok": ok, "files": documents, "findings": lint, "target": looked_up}
        lines = [line for one in documents for line in _lines(one)]
        print_result(document, map(clean, [*lines, *(one["text"] for one in lint)]), face=face)
        return code
    for document, error in zip(documents, errors, strict=True):
        _print(document, error)
    for one in found:
        click.echo(clean(str(one)), err=True)
    if looked_up is not None:
        counts = "{n_found} of {n_golds} golds found in the target".format_map(looked_up)
        click.echo(clean(f"{looked_up['name']}: {counts}"))
    if not found and not any(document["faults"] or document["warnings"] for document in documents):
        click.echo("ok")
    return code


_RUNS: Final = 20
_NAMED: Final = 20


def _over_runs(
    names: tuple[Path, ...], *, vault: Path | None, strict: bool, face: str | None
) -> ExitCode:
    """Find cases that stored runs show to be wrong or to tell nothing."""
    from pytest_rageval.authoring.linting.anchors import AnchorIndex
    from pytest_rageval.authoring.linting.over_runs import audit_runs
    from pytest_rageval.runs.list import is_partial_run
    from pytest_rageval.runs.read import read_compared
    from pytest_rageval.runs.store import list_runs, resolve_run

    results = project_settings({}).results_folder
    folders = [resolve_run(results, str(name)) for name in names]
    if not folders:
        folders = [one for one in list_runs(results) if not is_partial_run(one)][-_RUNS:]
        report_assumed("FILES", f"the last {counted(len(folders), 'run')} of the whole set")
    index = None if vault is None else AnchorIndex(read_vault(vault))
    found = audit_runs(
        [read_compared(one, results) for one in folders], None if index is None else index.check
    )
    if face is not None:
        findings = [{**asdict(one), "text": str(one)} for one in found.findings]
        document = {**asdict(found), "findings": findings, "text": found.sentence}
        lines = [*(one["text"] for one in findings), found.sentence]
        print_result(document, map(clean, lines), face=face)
    else:
        by_rule: dict[str, list[LintFinding]] = {}
        for one in found.findings:
            by_rule.setdefault(one.rule, []).append(one)
        for rule, some in by_rule.items():
            for one in some[:_NAMED]:
                click.echo(clean(str(one)), err=True)
            if more := some[_NAMED:]:
                click.echo(f"and {len(more)} more [{rule}], with --json", err=True)
        click.echo(clean(found.sentence))
        if n := found.n_suspected:
            warn(
                f"{counted(n, 'case')} with grounded answers that are incorrect or not from the "
                "gold: too many to be wrong golds, so look at the target and the judge"
            )
        if found.n_cases and not found.judged:
            warn("no answer was judged, so no gold is suspected")
        if found.n_few:
            few = counted(found.n_few, "case", ("was", "were"))
            warn(f"{few} asked in too few runs to say anything")
    return ExitCode.NO if strict and found.findings else ExitCode.YES


def _try_gate(runs: tuple[Path, ...], *, strict: bool, face: str | None) -> ExitCode:
    """Plant faults in a stored run, and say which of them its gate catches."""
    from msgspec import to_builtins

    from pytest_rageval.engine.finish import gate_of
    from pytest_rageval.engine.planting import try_gate
    from pytest_rageval.report.view.gate import view_of_tried_gate
    from pytest_rageval.runs.read import read_compared
    from pytest_rageval.runs.store import resolve_run

    if len(runs) > 1:
        raise click.UsageError(f"--gate: {counted(len(runs), 'run')} given, expected one")
    project = project_settings({})
    results = project.results_folder
    folder = resolve_run(results, run_or_last(str(runs[0]) if runs else None))
    found = try_gate(gate_of(read_compared(folder, results), project))
    print_result(to_builtins(found), view_of_tried_gate(found), face=face)
    return ExitCode.NO if strict and any(one.missed for one in found.faults) else ExitCode.YES


def _exit_code(
    documents: list[dict[str, Any]], found: list[LintFinding], *, strict: bool
) -> ExitCode:
    if not all(document["ok"] for document in documents):
        return ExitCode.USAGE
    warned = any(document["warnings"] for document in documents) or bool(found)
    bad = any(one.severity == "error" for one in found) or (strict and warned)
    return ExitCode.NO if bad else ExitCode.YES


# --- one file --------------------------------------------------------------------------------


def _load(path: Path) -> tuple[dict[str, Any], list[PlacedCase], DatasetError | None]:
    from pytest_rageval.authoring.linting.findings import PlacedCase, compute_power
    from pytest_rageval.project.case_reader import load_cases

    document: dict[str, Any] = {
        "file": path.as_posix(),
        "ok": False,
        "n_cases": None,
        "n_turns": None,
        "n_conversations": None,
        "n_answerable": None,
        "n_unanswerable": None,
        "n_generated": None,
        "categories": {},
        "dataset_hash": None,
        "power": None,
        "faults": [],
        "warnings": [],
    }
    try:
        loaded = load_cases(path)
    except DatasetError as error:
        faults = [
            {**asdict(fault), "message": fault.text, "text": str(fault)} for fault in error.faults
        ]
        return document | {"faults": faults}, [], error
    placed = [
        PlacedCase(case=located.case, file=loaded.display, lineno=located.lineno)
        for located in loaded.cases
    ]
    cases = [located.case for located in loaded.cases]
    answerable = sum(case.answerable for case in cases)
    power = compute_power(placed)
    return (
        document
        | {
            "file": loaded.display,
            "ok": True,
            "n_cases": len(cases),
            "n_turns": sum(case.turn is not None for case in cases),
            "n_conversations": sum(case.turn == 1 for case in cases),
            "n_answerable": answerable,
            "n_unanswerable": len(cases) - answerable,
            "n_generated": sum(case.review == "generated" for case in cases),
            "categories": dict(Counter(case.category for case in cases).most_common()),
            "dataset_hash": loaded.dataset_hash,
            "power": {**asdict(power), "text": power.sentence},
            "warnings": list(loaded.warnings),
        },
        placed,
        None,
    )


def _print(result: dict[str, Any], error: DatasetError | None) -> None:
    if error is not None:
        from pytest_rageval.project.case_reader import other_file_note

        click.echo(clean_lines(error_text(error)), err=True)
        if other_file_note(Path(result["file"]), ""):
            click.echo(
                "none of its lines is a case; `rageval import` reads other tools' sets", err=True
            )
        return
    for line in _summary(result):
        click.echo(clean(line))
    warn(*result["warnings"])


def _lines(result: dict[str, Any]) -> Iterator[str]:
    """Yield all that was found in a file."""
    if result["ok"]:
        yield from (*_summary(result), *result["warnings"])
    yield from (fault["text"] for fault in result["faults"])


def _summary(result: dict[str, Any]) -> Iterator[str]:
    n = count_cases(result["n_cases"], result["n_turns"], result["n_conversations"])
    categories = ", ".join(f"{name} {count}" for name, count in result["categories"].items())
    yield (
        f"{result['file']}: {n} "
        f"({result['n_answerable']} answerable, {result['n_unanswerable']} unanswerable); "
        f"{categories or 'no category'}; hash {result['dataset_hash']}"
    )
    yield f"{result['file']}: {result['power']['text']}"
    if result["n_generated"]:
        generated = counted(result["n_generated"], "generated case")
        yield f"{result['file']}: {generated} not counted until reviewed"


# --- all files -------------------------------------------------------------------------------


def _lint(by_file: dict[str, list[PlacedCase]], vault: Path | None) -> list[LintFinding]:
    from pytest_rageval.authoring.linting.anchors import AnchorIndex
    from pytest_rageval.authoring.linting.duplicates import find_duplicates
    from pytest_rageval.authoring.linting.findings import find_imbalance

    placed = [one for cases in by_file.values() for one in cases]
    found = list(find_duplicates(placed))
    for cases in by_file.values():
        found += find_imbalance(cases)
    if vault is not None:
        index = AnchorIndex(read_vault(vault))
        found += (finding for one in placed for finding in index.check(one))
    return found


def _in_index(
    by_file: dict[str, list[PlacedCase]], rag_url: str | None
) -> tuple[list[LintFinding], dict[str, Any]]:
    """Look anchors up in a target, and return what is lost with the name and the counts."""
    from pytest_rageval.authoring.linting.anchors import lost_anchors
    from pytest_rageval.target.opening import configured_target

    settings = project_settings({"rageval_rag_url": rag_url})
    placed = [one for cases in by_file.values() for one in cases]
    with opened_target(settings) as client:
        lost = list(lost_anchors(client, placed, settings))
    n_golds = sum(len(one.case.gold_supports) for one in placed)
    n_lost = sum(one.field.startswith("gold_supports") for one in lost)
    name = configured_target(settings)
    return lost, {"name": name, "n_golds": n_golds, "n_found": n_golds - n_lost}


def _unread_fields() -> Iterator[LintFinding]:
    """Warn of names in the settings of the target that nobody reads."""
    from pytest_rageval.authoring.linting.findings import LintFinding
    from pytest_rageval.target.mapping import unread_fields

    try:
        response = project_settings({}).target.response
    except ConfigError:  # `rageval doctor` says what is wrong
        return
    for field, message in unread_fields(response):
        yield LintFinding(
            severity="warning",
            rule="unread-field",
            file="pyproject.toml",
            line=0,
            field=f"tool.rageval.target.response.{field}",
            message=message,
        )
