"""``rageval import``: imports the eval sets of other tools, and logs of production, as cases."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pytest_rageval.authoring.inbox.messages import LOGS, STRATA
from pytest_rageval.authoring.interchange.registry import FORMATS
from pytest_rageval.authoring.interchange.values import ReadOptions, Source, json_text
from pytest_rageval.cli.output import (
    FILE_PATH,
    FOLDER_PATH,
    ExitCode,
    count_rows,
    face_option,
    left_out_rows,
    print_result,
    switch,
)
from pytest_rageval.project.documents import check_documents, document_lines, documents_path
from pytest_rageval.report.view.blocks import Block
from pytest_rageval.support.text import clean, counted, first_few
from pytest_rageval.values.errors import DatasetError, Fault

if TYPE_CHECKING:
    from pytest_rageval.authoring.inbox.messages import Tally
    from pytest_rageval.authoring.interchange.files import Fetch, OnClash
    from pytest_rageval.authoring.interchange.values import Imported
    from pytest_rageval.project.documents import Document

_OF_FORMATS: Mapping[str, tuple[str, ...]] = {
    "by": ("--by", *LOGS),
    "columns": ("--column", "csv", "json", "jsonl", "yaml"),
    "delimiter": ("--delimiter", "csv", "deepeval", "promptfoo", "ragas"),
    "documents": ("--documents", "ir-datasets"),
    "mask": ("--mask", *LOGS),
    "question_var": ("--question-var", "promptfoo"),
    "responses": ("--responses", *FORMATS),
    "sample": ("--sample", *LOGS),
    "scope_prefix": ("--scope-prefix", *FORMATS),
    "split": ("--split", "beir"),
}
"""By option: its flag, and the formats that read it."""


@click.command("import")
@click.argument("name", metavar="FORMAT", type=click.Choice(sorted({*FORMATS, *LOGS})))
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-o",
    "--output",
    type=FILE_PATH,
    help="Case file to which the cases are added.  [default: evals/eval_set.jsonl; for logs a new "
    "file, evals/inbox/NAME.jsonl]",
)
@switch("--dry-run", help="Report the changes without writing them.")
@click.option(
    "--on-clash",
    type=click.Choice(("refuse", "skip", "rename")),
    default="refuse",
    show_default=True,
    help="Handling of a case whose id the file already has.",
)
@click.option(
    "--responses",
    type=FILE_PATH,
    help="New file for recorded answers and retrievals, for rageval score.",
)
@click.option(
    "--ids",
    type=click.Choice(("auto", "keep", "paths")),
    default="auto",
    show_default=True,
    help="Use document ids unchanged, or as paths of notes; auto: paths if documents are included.",
)
@click.option("--scope-prefix", metavar="FOLDER", help="Folder for the documents.")
@click.option(
    "--split",
    metavar="NAME",
    help="BEIR: judgements to take, or all.  [default: test, else the first]",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="FIELD=HEADER",
    help="Tables, JSON, YAML, jsonl: field of a column, also inside an object, such as "
    "inputs.question.",
)
@click.option("--delimiter", metavar="CHAR", help="Tables: cell delimiter.  [default: detected]")
@click.option(
    "--question-var",
    metavar="NAME",
    help="promptfoo: variable with the question.  [default: detected]",
)
@click.option(
    "--documents",
    type=FOLDER_PATH,
    help="New folder for the documents of ir-datasets: notes, or with --ids keep one file.",
)
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    help="Logs: number of questions to take, each with its near-duplicates.  [default: all]",
)
@click.option(
    "--by",
    metavar="GROUP,...",
    help=f"Logs: groups to sample from evenly, of {', '.join(STRATA)}.  [default: random]",
)
@switch("--mask", help="Logs: mask e-mail addresses, telephone numbers, IBANs, cards and keys.")
@switch("--fetch", help="Allow fetching URLs; by default none is opened.")
@face_option
def command(
    name: str,
    files: tuple[str, ...],
    output: Path | None,
    dry_run: bool,
    face: str | None,
    **options: Any,
) -> ExitCode:
    """Add the cases of another tool to a case file, or sample the requests of a log.

    FILE is a file or folder; for ir-datasets the name of a dataset, such as beir/scifact/test,
    which that library downloads. Nothing is overwritten. Documents of a dataset go to documents/
    beside the case file. All fields are counted, both those carried over and those left out.

    Of a log (jsonl, langfuse, otel, phoenix) questions become lines with what was answered: cases
    for rageval review, and recorded responses for rageval score. Near-equal questions are one line,
    with its weight: the number of requests that it stands for.

    Exit codes: 0 imported, 1 nothing to import was found, 2 a file cannot be read so, 4 a dataset
    cannot be downloaded.
    """
    for option, (flag, *fitting) in _OF_FORMATS.items():
        if options[option] and name not in fitting:
            raise click.UsageError(f"{flag}: goes with {', '.join(fitting)}, not with {name}")
    if name in LOGS:
        return _import_log(name, files, output, options, dry_run=dry_run, face=face)
    output = output or Path("evals/eval_set.jsonl")
    wanted = _options(output, options)
    found = _read(name, files, wanted, fetch=options["fetch"])
    plan = _plan(found, output, options["on_clash"], options["responses"])
    corpus = options["documents"]
    n_documents = len(found.documents)
    if corpus is not None:
        n_documents = _write_corpus(files[0], wanted, corpus, dry_run=dry_run)
    if not dry_run:
        plan.write()
    written = [path.as_posix() for path in (*plan.files, corpus) if path is not None]
    document = {
        "format": name,
        "dry_run": dry_run,
        "n_cases": len(plan.files.get(output, ())),
        "n_documents": n_documents,
        "n_responses": len(plan.files.get(plan.responses, ())),
        "scope_prefix": found.scope_prefix,
        "carried": dict(found.carried),
        "kept_in_metadata": dict(found.kept),
        "left_out": found.left_out,
        "clashes": dict(plan.clashes),
        "thresholds": dict(found.thresholds),
        "notes": list(found.notes),
        "warnings": list(plan.warnings),
        "written": [] if dry_run else written,
        "would_write": written if dry_run else [],
    }
    below = found.scope_prefix if corpus is None else f"{corpus.as_posix()}/"
    print_result(document, _lines(document, found, plan, below), face=face)
    return ExitCode.NO if _is_empty(found, plan) else ExitCode.YES


def _options(output: Path, given: Mapping[str, Any]) -> ReadOptions:

    delimiter = {"\\t": "\t", "tab": "\t"}.get(given["delimiter"], given["delimiter"])
    if delimiter is not None and len(delimiter) != 1:
        raise click.UsageError(f"--delimiter {delimiter}: expected one character, or tab")
    prefix = given["scope_prefix"]
    return ReadOptions(
        ids=given["ids"],
        scope_prefix=None if prefix is None else f"{prefix.rstrip('/')}/",
        set_name=output.stem,
        split=given["split"],
        columns=_columns(given["columns"]),
        delimiter=delimiter,
        question_var=given["question_var"],
        with_responses=given["responses"] is not None,
        with_documents=given["documents"] is not None,
    )


def _columns(given: Iterable[str]) -> dict[str, str]:
    columns: dict[str, str] = {}
    for text in given:
        field, equals, header = text.partition("=")
        if not equals or not field.strip() or not header.strip():
            raise click.UsageError(f"--column {text}: expected FIELD=HEADER")
        field, header = field.strip(), header.strip()
        if field in columns or header in columns.values():
            twice = field if field in columns else header
            raise click.UsageError(f"--column {text}: {twice} is named twice, expected it once")
        columns[field] = header
    return columns


def _read(name: str, files: Sequence[str], options: ReadOptions, *, fetch: bool) -> Imported:
    from pytest_rageval.authoring.interchange.files import fetch_text, open_source

    fetcher = fetch_text if fetch else None
    chosen = FORMATS[name]
    if chosen.is_named:
        return chosen.read(Source(files=(), names=tuple(files), options=options))
    found = chosen.read(open_source(files, options, suffixes=chosen.suffixes, fetch=fetcher))
    if fetcher is None:
        return found
    return replace(found, documents=tuple(_with_text(one, fetcher) for one in found.documents))


def _write_corpus(name: str, options: ReadOptions, folder: Path, *, dry_run: bool) -> int:
    """Write the documents of a dataset and return their number; 0 if none are to be written."""
    from pytest_rageval.authoring.interchange import ir_datasets
    from pytest_rageval.authoring.interchange.files import refuse_filled, write_corpus

    refuse_filled(folder)
    if dry_run:
        return 0
    documents = ir_datasets.iterate_documents(ir_datasets.open_dataset(name), name, options)
    return write_corpus(folder, documents, as_notes=ir_datasets.makes_paths(options))


def _with_text(document: Document, fetch: Fetch) -> Document:
    from pytest_rageval.authoring.interchange.files import is_url

    if document.ref is None or not is_url(document.ref):
        return document
    return replace(document, text=fetch(document.ref), ref=None)


# --- files to write --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """Files to write, all of them checked."""

    output: Path
    responses: Path | None
    """None: nothing to write."""
    files: Mapping[Path | None, Sequence[str]]
    """Lines of each; the cases come first, and are written last, since a run looks for them."""
    clashes: Mapping[str, str | None]
    """Conflicting id to its new one; None: left out."""
    warnings: tuple[str, ...]

    def write(self) -> None:
        from pytest_rageval.authoring.interchange.files import append_cases, write_new

        for path, lines in self.files.items():
            if path is not None and path != self.output:
                write_new(path, lines)
        if self.output in self.files:
            append_cases(self.output, self.files[self.output])


def _plan(found: Imported, output: Path, on_clash: OnClash, responses: Path | None) -> _Plan:
    from pytest_rageval.authoring.interchange.files import refuse_existing, without_clashes
    from pytest_rageval.project.case_reader import load_cases

    warnings = _check(found.cases)
    known = load_cases(output).cases if output.exists() else ()
    taken = {located.case.item: located.lineno for located in known}
    lines, clashes = without_clashes(found.cases, taken, on_clash)
    files: dict[Path | None, Sequence[str]] = {output: [*map(json_text, lines)]} if lines else {}
    files |= _planned_documents(found, output)
    if responses is not None:
        refuse_existing([responses])
        answers = ({**one, "id": clashes.get(one["id"]) or one["id"]} for one in found.responses)
        files |= {responses: [f"{json_text(one)}\n" for one in answers]} if found.responses else {}
    return _Plan(
        output=output,
        responses=responses if responses in files else None,
        files=files,
        clashes=clashes,
        warnings=warnings,
    )


def _check(lines: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Validate every line as a case before it is written.

    Raises:
        DatasetError: with every fault.
    """
    from pytest_rageval.project.case_fields import CASE_WARNINGS, find_warnings
    from pytest_rageval.project.case_reader import parse_case

    faults: list[Fault] = []
    warned = Counter[str]()
    for line in lines:
        try:
            case = parse_case(line)
        except DatasetError as error:
            faults += error.within(f"case {line.get('id')!r}").faults
        else:
            warned.update(find_warnings(case))
    if faults:
        raise DatasetError.of_faults(faults)
    return tuple(f"{CASE_WARNINGS[kind]}: {counted(n, 'case')}" for kind, n in warned.items())


def _planned_documents(found: Imported, output: Path) -> dict[Path | None, Sequence[str]]:

    if not found.documents:
        return {}
    prefix = found.scope_prefix or ""
    check_documents(found.documents, prefix)
    path, lines = documents_path(output), tuple(document_lines(found.documents, prefix))
    if not path.exists():
        return {path: lines}
    if path.read_bytes() == "".join(lines).encode("utf-8"):
        return {}  # repeats an earlier import
    raise DatasetError.of(path.as_posix(), "exists", what="case file", option="-o")


# --- output ----------------------------------------------------------------------------------


def _lines(
    document: Mapping[str, Any], found: Imported, plan: _Plan, below: str | None
) -> Iterator[Block]:
    parts = [counted(document["n_cases"], "case")]
    if document["n_documents"]:
        parts.append(f"{counted(document['n_documents'], 'document')} below {below}")
    if found.responses:
        parts.append(counted(len(found.responses), "recorded response"))
    yield clean(f"{document['format']}: {', '.join(parts)}", 500)
    for title, counts in (
        ("carried over", found.carried),
        ("kept in metadata, where they change nothing", found.kept),
    ):
        yield from count_rows(title, ((n, name) for name, n in counts.items()))
    yield from left_out_rows(found.left_out)
    yield from _clash_lines(plan.clashes)
    for note in (*found.notes, *plan.warnings):
        yield f"note    {clean(note, 500)}"
    limits = [f'  {metric} = "{limit}"' for metric, limit in found.thresholds.items()]
    if limits:
        yield from ("limits of the dataset, for thresholds.toml", "  [overall]", *limits)
    if found.responses and plan.responses is None:
        yield "note    the recorded responses are written with --responses FILE"
    if _is_empty(found, plan):
        yield "note    nothing was imported"
    yield from (f"wrote  {path}" for path in document["written"])
    yield from (f"would write  {path}" for path in document["would_write"])
    if not document["dry_run"] and (document["n_cases"] or plan.clashes):
        yield f"next    rageval {_next_command(found, plan)}"


def _clash_lines(clashes: Mapping[str, str | None]) -> Iterator[str]:
    if skipped := [one for one, new in clashes.items() if new is None]:
        yield f"skipped, for the file has their ids: {first_few(skipped, 10)}"
    renamed = [f"renamed {one} to {new}" for one, new in clashes.items() if new is not None]
    yield from renamed[:10]
    if renamed[10:]:
        yield f"renamed {len(renamed) - 10} more"


def _is_empty(found: Imported, plan: _Plan) -> bool:
    """Whether nothing was found that could be written; cases that the file has were found."""
    return not (found.cases or found.documents or plan.responses)


def _next_command(found: Imported, plan: _Plan) -> str:
    """Return a command that has something to say about what was imported."""
    output = shlex.quote(clean(plan.output.as_posix()))
    if plan.responses is not None:
        score = f"score {output} {shlex.quote(clean(plan.responses.as_posix()))}"
        if any(one["response"].get("answer") for one in found.responses):
            return f"{score} --judge offline"
        if any("gold_supports" in line for line in found.cases):
            return f"{score} --retrieval-only"
    return f"check {output}"


# --- logs --------------------------------------------------------------------------------------


def _import_log(
    name: str,
    files: Sequence[str],
    output: Path | None,
    options: Mapping[str, Any],
    *,
    dry_run: bool,
    face: str | None,
) -> ExitCode:
    from pytest_rageval.authoring.inbox.collect import collect
    from pytest_rageval.authoring.inbox.readers import PLAIN_FIELDS
    from pytest_rageval.authoring.interchange.files import refuse_existing, write_new

    by = [one.strip().replace("-", "_") for one in (options["by"] or "random").split(",")]
    columns = _columns(options["columns"])
    for given, known, flag in ((by, STRATA, "--by"), (columns, PLAIN_FIELDS, "--column")):
        if others := [one for one in given if one not in known]:
            raise click.UsageError(f"{flag} {others[0]}: expected one of {', '.join(known)}")
    paths = [Path(one) for one in files]
    output = output or Path("evals/inbox", f"{Path(paths[0].name.removesuffix('.gz')).stem}.jsonl")
    refuse_existing([output])
    found = collect(
        paths,
        name,
        sample=options["sample"],
        by=[one for one in STRATA if one in by],
        mask=options["mask"],
        columns=columns,
    )
    _check(found.lines)
    if not dry_run:
        write_new(output, (f"{json_text(line)}\n" for line in found.lines))
    tally = found.tally
    document = {
        "format": name,
        "dry_run": dry_run,
        "n_rows": tally.rows,
        "n_requests": tally.requests,
        "n_without_question": tally.without_question,
        "n_families": tally.families,
        "n_cases": len(found.lines),
        "strata": {one: {"n_families": n, "n_sampled": m} for one, (n, m) in tally.strata.items()},
        "n_left_out": tally.left_out,
        "masked": found.masked,
        "written": [] if dry_run else [output.as_posix()],
        "would_write": [output.as_posix()] if dry_run else [],
    }
    print_result(document, _log_lines(document, tally), face=face)
    return ExitCode.YES


def _log_lines(document: Mapping[str, Any], tally: Tally) -> Iterator[Block]:
    yield (
        f"{document['format']}: {counted(tally.requests, 'request')} of "
        f"{counted(tally.rows, 'row')}, {counted(tally.families, 'different question')}"
    )
    sampled = ((m, f"{one}, of {n:,}") for one, (n, m) in tally.strata.items())
    yield from count_rows("questions sampled", sampled)
    if document["masked"] is not None:
        yield from count_rows("masked", ((n, kind) for kind, n in document["masked"].items()))
    notes = {
        "requests without a question are left out": tally.without_question,
        "rows about a step that no row has are left out": tally.unmatched,
        "requests in none of these groups are left out; random samples from them": tally.left_out,
    }
    yield from (f"note    {n:,} {note}" for note, n in notes.items() if n)
    if tally.compared is not None:
        yield f"note    near-duplicates were looked for among the {tally.compared:,} most frequent"
    path = shlex.quote(clean((document["written"] or document["would_write"])[0]))
    yield f"{'would write' if document['dry_run'] else 'wrote'}  {path}"
    if not document["dry_run"]:
        yield f"next    rageval review {path}"
