"""``rageval suite``: known corpora with published figures, as a check of a system."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import wraps
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pytest_rageval.cli.output import (
    FOLDER_PATH,
    CommandError,
    ExitCode,
    HintingGroup,
    ProgressOnStderr,
    UnreachableError,
    face_option,
    print_result,
    switch,
)
from pytest_rageval.cli.target import opened_target, project_settings
from pytest_rageval.values.settings import TargetSettings

if TYPE_CHECKING:
    from pytest_rageval.api.run import Run
    from pytest_rageval.authoring.suites.catalogue import Names, PreparedSuite, Suite
    from pytest_rageval.values.reply import AskRequest
    from pytest_rageval.values.settings import Settings

_FOLDER: Final = "cache/suites"
"""Below the first test path; a git-ignored folder without cases of the project."""
_EMBEDDED: Final = "the embedded server, which indexes the corpus"


@click.group("suite", cls=HintingGroup)
def command() -> None:
    """Test a system on a public corpus with known figures."""


@command.command("list")
@face_option
def list_suites(face: str | None) -> None:
    """List the suites with their published figures."""
    from pytest_rageval.authoring.suites.catalogue import SUITES
    from pytest_rageval.report.view.studies import catalogue_rows

    rows = [
        {**asdict(suite), "published": {one.key: dict(one.values) for one in suite.published}}
        for suite in SUITES.values()
    ]
    print_result({"suites": rows}, [catalogue_rows(rows)], face=face)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """The options of a run."""

    indexed: bool
    embedded: bool
    ids: Names | None
    k: int
    folder: Path | None
    resume: str | None


@command.command("run")
@click.argument("name")
@switch("--indexed", help="Ask the project's target, which has the corpus in its index.")
@switch("--embedded", help="Ask the embedded server, whatever the project's.")
@click.option(
    "--ids",
    type=click.Choice(("paths", "keep")),
    help="The target reports paths of notes (4983.md), or document ids (4983).  "
    "[default: paths, and ids for a corpus too large for notes]",
)
@click.option(
    "-k", "k", type=click.IntRange(1), default=100, show_default=True, help="Chunks to ask for."
)
@click.option(
    "--folder",
    type=FOLDER_PATH,
    help="Folder of the suite.  [default: evals/cache/suites/NAME]",
)
@click.option("--resume", metavar="RUN", help="Continue an interrupted run of the suite, or last.")
@face_option
def run_suite(name: str, face: str | None, **options: Any) -> ExitCode:
    """Ask all questions of a suite, and compare its figures with the published ones.

    If the project has a target of its own, the corpus is written first, for you to index;
    --indexed then asks it. Otherwise the embedded server is asked. Exit codes: 0 in the range or
    above, 1 below, 2 usage or data error, 4 the suite cannot be downloaded or the target is down.
    """
    from pytest_rageval.authoring.suites.catalogue import find_suite
    from pytest_rageval.report.view.studies import suite_lines

    given = _Given(**options)
    if given.indexed and given.embedded:
        raise click.UsageError("--indexed and --embedded: expected one of them")
    suite, settings = find_suite(name), project_settings({})
    document = _measured(_prepared(suite, given, settings), given, settings)
    print_result(document, suite_lines(document), face=face)
    return ExitCode.NO if document["verdict"] == "below" else ExitCode.YES


def _prepared(suite: Suite, given: _Given, settings: Settings) -> PreparedSuite:
    """Write the suite; for a target that has to index it first, end with what to do.

    Raises:
        CommandError: the corpus has to be indexed first, or is too large for the embedded server.
        EndpointError: the suite cannot be downloaded.
    """
    from pytest_rageval.authoring.suites.catalogue import EMBEDDED_MAX, prepare_suite
    from pytest_rageval.project.discovery import cases_folder
    from pytest_rageval.project.settings import target_kind

    is_large = suite.n_documents > EMBEDDED_MAX
    names: Names = given.ids or ("keep" if is_large else "paths")
    asks_own = not given.embedded and target_kind(settings) in {"url", "client"}
    if not given.indexed and not asks_own and (is_large or names == "keep"):
        raise CommandError.of(
            suite.name,
            "notes_only",
            n=suite.n_documents if is_large else None,
            option=None if is_large else "--ids keep",
        )
    default = cases_folder(settings) / _FOLDER
    folder = given.folder or default / (suite.name if names == "paths" else f"{suite.name}-ids")
    if not given.indexed:
        size = f"{suite.n_documents:,} documents and {suite.n_questions:,} questions"
        click.echo(f"{suite.name}: {size} in {folder}", err=True)
    prepared = prepare_suite(suite, folder.absolute(), names, with_corpus=not given.indexed)
    if asks_own and not given.indexed:
        what = "each note" if names == "paths" else "each line of corpus.jsonl"
        named = "path below that folder" if names == "paths" else "_id"
        raise CommandError.of(
            suite.name, "index_first", file=prepared.corpus, what=what, field=named
        )
    return prepared


def _measured(prepared: PreparedSuite, given: _Given, settings: Settings) -> dict[str, Any]:
    """Ask all questions and return the document of the command.

    Raises:
        CommandError: nothing could be measured.
        UnreachableError: no question was answered.
    """
    from pytest_rageval.analysis.suites import study_suite
    from pytest_rageval.report.view.studies import study_document, suite_notes
    from pytest_rageval.target.mapping import sends_k

    suite = prepared.suite
    target, run = _asked(prepared, given, settings)
    study = study_suite(
        run.records,
        suite.published,
        k=given.k,
        own_documents=prepared.own_documents(),
        path_case=run.stored.settings.path_case,
    )
    if study is None:
        failed = next((one.error for one in run.records if one.error is not None), None)
        if failed is not None:
            raise UnreachableError.of("", "nothing_answered", reason=failed.message)
        smallest = min(one.k for one in suite.published)
        raise CommandError.of(suite.name, "nothing_compared", least=smallest)
    return {
        "suite": suite.name,
        "title": suite.title,
        "n_documents": suite.n_documents,
        "target": target,
        "k": given.k,
        **study_document(study),
        "source": suite.source,
        "notes": [
            *suite_notes(study, k=given.k, sent=sends_k(settings.target)),
            *_unknown_names(run, study.verdict),
        ],
        "run": os.path.relpath(run.folder or ""),
    }


def _unknown_names(run: Run, verdict: str) -> list[str]:
    """Show a reported name beside a gold where figures are low."""
    if verdict != "below":
        return []
    for record in run.records:
        if record.reply.retrieved_chunks and record.case.gold_supports:
            reported = record.reply.retrieved_chunks[0].rel_path
            gold = record.case.gold_supports[0].rel_path
            return [f"the target names documents such as {reported!r}, the golds {gold!r}"]
    return []


def _asked(prepared: PreparedSuite, given: _Given, settings: Settings) -> tuple[str, Run]:
    """Return the target in words, and an ordinary run in the folder of the suite."""
    from pytest_rageval.api.evaluation import evaluate, option_settings
    from pytest_rageval.target.opening import configured_target

    asked = settings
    if not given.indexed:
        own = option_settings(prepared.folder, "none", {})
        vault = prepared.corpus.relative_to(prepared.folder).as_posix()
        asked = replace(own, target=TargetSettings(vault=vault))
    with ExitStack() as stack:
        client = stack.enter_context(opened_target(asked))
        target = stack.enter_context(_counted(client, prepared.suite.n_questions))
        run = evaluate(
            prepared.cases,
            target,
            judge="none",
            root=prepared.folder,
            k=given.k,
            retrieval_only=True,
            no_report=True,
            concurrency=settings.concurrency,
            resume=given.resume,
        )
    return configured_target(asked) if given.indexed else _EMBEDDED, run


@contextmanager
def _counted(client: object, total: int) -> Iterator[Callable[[AskRequest], object]]:
    """Yield a function that asks a client, and show on stderr how often it was called."""
    from pytest_rageval.target.calling import check_client

    ask = check_client(client)
    numbers = count(1)
    asked = 0

    @wraps(ask)
    def counting(request: AskRequest) -> object:
        nonlocal asked
        asked = next(numbers)
        return ask(request)

    with ProgressOnStderr(lambda: f"{asked}/{total} questions asked"):
        yield counting
