"""``rageval export``: writes cases, or a stored run, in formats of other tools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pytest_rageval.cli.arguments import all_case_files, complete_run, run_argument, stored_run
from pytest_rageval.cli.output import (
    FILE_PATH,
    FOLDER_PATH,
    CommandError,
    HintingGroup,
    face_option,
    left_out_rows,
    print_result,
    switch,
)
from pytest_rageval.cli.target import project_settings
from pytest_rageval.report.view.blocks import Block
from pytest_rageval.support.text import clean, counted, first_few, first_repeated

if TYPE_CHECKING:
    from pytest_rageval.authoring.interchange.run_exports import Level, TrecRun
    from pytest_rageval.values.case import Case


_cases = click.argument("files", nargs=-1, metavar="[CASES]...", type=FILE_PATH)
_folder_option = click.option(
    "-o",
    "--output",
    required=True,
    type=FOLDER_PATH,
    help="Folder for the files, which must not exist yet.",
)


@click.group("export", cls=HintingGroup)
def command() -> None:
    """Write cases or a run in formats of other tools.

    CASES are by default all case files of the project. A RUN is an id, a prefix of one, a tag,
    last, last~N or a path.
    """


@command.command("beir")
@_cases
@_folder_option
@face_option
def beir_command(files: tuple[Path, ...], output: Path, face: str | None) -> None:
    """Write case files as a BEIR dataset, whose corpus is their documents."""
    _export_cases("beir", files or all_case_files("CASES"), output, face=face)


@command.command("trec")
@_cases
@click.option("--run", metavar="RUN", shell_complete=complete_run,
              help="A stored run as run.txt and qrels.txt, for trec_eval.")  # fmt: skip
@_folder_option
@click.option(
    "--level",
    type=click.Choice(("anchor", "document")),
    default="anchor",
    show_default=True,
    help="With --run: rank chunks against golds, or documents.",
)
@face_option
def trec_command(
    files: tuple[Path, ...], run: str | None, output: Path, level: Level, face: str | None
) -> None:
    """Write case files as TREC topics and qrels, or a run for trec_eval."""
    if run is None:
        _export_cases("trec", files or all_case_files("CASES"), output, face=face)
    elif files:
        raise click.UsageError("expected case files, or --run RUN")
    else:
        _export_run(run, output, level, face=face)


@command.command("otlp")
@run_argument
@click.option(
    "-o",
    "--output",
    "--out",
    type=FILE_PATH,
    help="File, which must not exist yet; without it the spans are printed.",
)
@switch(
    "--content",
    help="Include questions, answers, retrieved passages, messages of errors and the judge's "
    "reasons.",
)
@face_option
def otlp_command(run: str | None, output: Path | None, content: bool, face: str | None) -> None:
    """Write a stored run as OTLP JSON: a span for each case, with its scores as events.

    RUN is by default the last one. Ids, numbers, categories and tags are written, and no text of
    questions, answers and documents without --content.
    """
    from pytest_rageval.authoring.interchange.files import write_new
    from pytest_rageval.authoring.interchange.run_exports import OtlpExport
    from pytest_rageval.metrics.built_in import stored_registry

    if face is not None and output is None:
        raise click.UsageError(f"--{face}: expected -o FILE beside it, or no face")
    stored = stored_run(run, texts=False)
    found = OtlpExport(stored, stored_registry(stored.config), content=content)
    if output is None:
        for piece in found.pieces():
            click.echo(piece, nl=False)
        return
    write_new(output, found.pieces())
    document = {
        "format": "otlp",
        "run_id": stored.run_id,
        "n_spans": found.n_spans,
        "n_scores": found.n_scores,
        "n_untimed": found.n_untimed,
        "content": content,
        "written": [output.as_posix()],
    }
    untimed = counted(found.n_untimed, "record")
    lines = [
        f"otlp: {counted(found.n_spans, 'span')} with {counted(found.n_scores, 'score')} of "
        f"{stored.run_id}",
        *([f"note    {untimed} without a time: the span begins with the run"]
          if found.n_untimed else []),
        f"wrote   {output.as_posix()}",
    ]  # fmt: skip
    print_result(document, lines, face=face)


# --- cases -----------------------------------------------------------------------------------


def _export_cases(name: str, paths: Sequence[Path], output: Path, *, face: str | None) -> None:
    from pytest_rageval.authoring.interchange import beir, trec
    from pytest_rageval.authoring.interchange.files import write_new_files

    cases = _load(paths)
    is_beir = name == "beir"
    files, report = beir.write(cases, *_documents(paths)) if is_beir else trec.write(cases)
    written = [path.as_posix() for path in write_new_files(output, files)]
    document = {
        "format": name,
        "n_cases": len(cases),
        "written": written,
        "carried": dict(report.carried),
        "left_out": report.left_out,
        "notes": list(report.notes),
    }
    lines = [
        f"{name}: {counted(len(cases), 'case')}",
        *left_out_rows(report.left_out),
        *(f"note    {clean(note, 500)}" for note in report.notes),
        *(f"wrote   {path}" for path in written),
    ]
    print_result(document, lines, face=face)


def _load(paths: Sequence[Path]) -> list[Case]:
    from pytest_rageval.authoring.interchange.values import fault
    from pytest_rageval.project.case_reader import load_cases

    cases = [_alone(located.case) for path in paths for located in load_cases(path).cases]
    if (twice := first_repeated(case.id for case in cases)) is not None:
        raise fault(
            ", ".join(map(str, paths)),
            "duplicate",
            found=repr(twice),
            owner="an id of another file",
        )
    return cases


def _alone(case: Case) -> Case:
    """Return a turn of a conversation as a query, which has no turns before it: asked in full."""
    if case.talk is None or case.standalone is None:
        return case
    return replace(case, question=case.standalone, standalone=None)


def _documents(paths: Sequence[Path]) -> tuple[list[Any], str | None]:
    from pytest_rageval.project.documents import (
        documents_path,
        find_loader,
        load_text,
        read_document_set,
    )

    sets = [read_document_set(one) for path in paths if (one := documents_path(path)).is_file()]
    prefixes = sorted({one.scope_prefix for one in sets})
    if len(prefixes) > 1:  # a dataset is below one folder, also where it is imported again
        raise CommandError.of("documents", "many_prefixes", names=", ".join(prefixes))
    needs_loader = any(one.ref for found in sets for one in found.documents)
    loader = find_loader(project_settings({}).documents_loader if needs_loader else None)
    documents = [
        replace(one, text=load_text(one, found.path.parent, loader), ref=None, file=None)
        for found in sets
        for one in found.documents
    ]
    return documents, next(iter(prefixes), None)


# --- a run -----------------------------------------------------------------------------------


def _export_run(name: str, output: Path, level: Level, *, face: str | None) -> None:
    from pytest_rageval.authoring.interchange.files import write_new_files
    from pytest_rageval.authoring.interchange.run_exports import trec_eval_command, write_run

    run = stored_run(name, texts=False)
    # Copies among chunks are found by their texts.
    found = write_run(map(run.whole, run.records), run.scoring, tag=run.run_id, level=level)
    files = {"run.txt": found.run, "qrels.txt": found.qrels}
    written = [path.as_posix() for path in write_new_files(output, files)]
    line = trec_eval_command(found, written[1], written[0])
    document = {
        "format": "trec",
        "run_id": run.run_id,
        "n_cases": found.n_cases,
        "written": written,
        "left_out": found.left_out,
        "differing": list(found.differing),
        "command": line,
    }
    print_result(document, _run_lines(run.run_id, found, written, line), face=face)


def _run_lines(run_id: str, found: TrecRun, written: list[str], line: str) -> Iterator[Block]:
    yield f"trec: {counted(found.n_cases, 'case')} of {run_id}"
    yield from left_out_rows(found.left_out)
    if found.differing:
        shown = clean(first_few(found.differing, 5))
        yield (
            f"note    in {len(found.differing)} cases a chunk finds several golds, or again what "
            f"an earlier one found, which trec_eval cannot count: {shown}"
        )
    if len(found.cutoffs) > 1:
        cutoffs = ", ".join(map(str, found.cutoffs))
        yield f"note    the cases are cut at different k ({cutoffs}), and trec_eval at one"
    for path in written:
        yield f"wrote   {path}"
    yield f"next    {clean(line, 1000)}"
