"""``rageval label``: people mark evidence among the chunks that the target retrieves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pytest_rageval.cli.arguments import complete_case_of_file, complete_run, only_case_file
from pytest_rageval.cli.keyed import check_web, require_terminal, run_app, serve_page, web_options
from pytest_rageval.cli.output import (
    FILE_PATH,
    CommandError,
    ExitCode,
    UnreachableError,
    face_option,
    print_result,
    switch,
    warn,
)
from pytest_rageval.cli.target import opened_target, project_settings, raised_text
from pytest_rageval.metrics.deciding import anchors_of
from pytest_rageval.metrics.matching import with_own_names
from pytest_rageval.metrics.scoring import score_settings
from pytest_rageval.support.files import shown_below
from pytest_rageval.support.text import clean, did_you_mean
from pytest_rageval.values.errors import DatasetError

if TYPE_CHECKING:
    from pytest_rageval.authoring.labelling.desk import AnnotatorDesk, CaseDesk, Target
    from pytest_rageval.authoring.labelling.session import LabelSession
    from pytest_rageval.authoring.labelling.store import Labels
    from pytest_rageval.project.case_edit import EditableCase, EditableSet
    from pytest_rageval.values.case import Case
    from pytest_rageval.values.reply import AskResult
    from pytest_rageval.values.settings import Settings

_LOST: Final = frozenset({"connection", "timeout"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """Options of the command line."""

    web: bool
    port: int
    open_browser: bool
    case_ids: tuple[str, ...]
    unlabeled: bool
    categories: tuple[str, ...]
    failed_from: str | None
    review: bool
    annotator: str | None
    blind: bool
    adjudicate: bool
    k: int


@click.command("label")
@click.argument("file", required=False, type=FILE_PATH)
@web_options
@click.option("--case", "case_ids", metavar="ID", multiple=True,
              shell_complete=complete_case_of_file,
              help="Only this case, conversation or turn (ID#2); repeatable.")  # fmt: skip
@switch("--unlabeled", help="Only answerable cases without evidence.")
@click.option("--category", "categories", metavar="NAME", multiple=True,
              help="Only this category; repeatable.")  # fmt: skip
@click.option("--failed-from", metavar="RUN", shell_complete=complete_run,
              help="Only cases that missed or erred in a stored run.")  # fmt: skip
@switch(
    "--review",
    help="Only generated cases; enter marks one reviewed, d removes a bad one, e shows "
    "the command that edits it.",
)
@click.option("--annotator", metavar="NAME", help="Keep decisions in labels/NAME.jsonl.")
@click.option("--blind/--no-blind", default=True, show_default=True,
              help="Hide scores, ranks and earlier marks from annotators.")  # fmt: skip
@switch("--adjudicate", help="Resolve differences between annotators.")
@switch("--agreement", help="Print the agreement of annotators and exit.")
@click.option("--rag-url", metavar="URL", help="Target to ask.  [default: the project's]")
@click.option("--k", type=click.IntRange(1, 200), default=20, show_default=True,
              help="Number of chunks to request.")  # fmt: skip
@face_option
def command(
    file: Path | None, agreement: bool, face: str | None, rag_url: str | None, **options: Any
) -> ExitCode:
    """Mark the evidence of cases among retrieved chunks.

    FILE is by default the only case file of the project; with --review the only one with generated
    cases. Marks are written to the line of the case as anchors: path, heading path and quoted
    sentences; a conversation is labelled turn by turn, each asked with the expected answers before
    it. The rest of the file does not change. Exit code 4 if the target cannot be reached, 130 after
    Ctrl-C.
    """
    wanted = _Wanted(**options)
    _check(wanted, agreement=agreement, face=face)
    if file is None:
        file = only_case_file("FILE", _has_generated) if wanted.review else only_case_file("FILE")
    return _print_agreement(file, face=face) if agreement else _label(file, wanted, rag_url)


def _check(wanted: _Wanted, *, agreement: bool, face: str | None) -> None:
    if face is not None and not agreement:
        raise click.UsageError(f"--{face}: goes with --agreement only")
    check_web(web=wanted.web, port=wanted.port, open_browser=wanted.open_browser)
    ways = {
        "--annotator": wanted.annotator is not None,
        "--adjudicate": wanted.adjudicate,
        "--agreement": agreement,
        "--review": wanted.review,
    }
    given = [name for name, is_given in ways.items() if is_given]
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)}: expected one of them")


def _has_generated(path: Path) -> bool:
    from pytest_rageval.project.case_reader import load_cases

    try:
        return any(located.case.review == "generated" for located in load_cases(path).cases)
    except DatasetError:
        return False


# --- a session -----------------------------------------------------------------------------------


def _label(file: Path, wanted: _Wanted, rag_url: str | None) -> ExitCode:
    from pytest_rageval.project.case_edit import load_editable
    from pytest_rageval.project.settings import no_target, target_kind

    settings = project_settings({"rageval_rag_url": rag_url})
    loaded = load_editable(file, display=shown_below(file, Path(settings.rootdir)))
    warn(*loaded.warnings)
    loaded = loaded.expanded()
    cases = _chosen(loaded, wanted, settings)
    if not wanted.web:
        require_terminal()
    if target_kind(settings) == "none":
        raise no_target(settings)
    with opened_target(settings) as client:
        asked = _Asked(client, settings, wanted.k)
        session = _session(wanted, loaded, cases, asked, settings)
        if session is None:
            click.echo("no case to label")
            return ExitCode.YES
        return _run(session, wanted)


def _run(session: LabelSession, wanted: _Wanted) -> ExitCode:
    if not wanted.web:
        from pytest_rageval.authoring.labelling.screen import screen_of

        return run_app(session, partial(screen_of, session))
    from pytest_rageval.authoring.labelling.page import WebFace

    face = WebFace(session)
    return serve_page(face, "Labelling", port=wanted.port, open_browser=wanted.open_browser)


class _Asked:
    """Asks the target for the chunks of a case, and keeps the reply to the first."""

    def __init__(self, client: Any, settings: Settings, k: int) -> None:
        self._client = client
        self._settings = settings
        self._first: dict[str, AskResult] = {}
        self._k = k

    def __call__(self, case: Case) -> AskResult:
        from pytest_rageval.engine.case import ask_request
        from pytest_rageval.support.threads import session_loop
        from pytest_rageval.target.calling import call_client

        if (known := self._first.pop(case.id, None)) is not None:
            return known
        settings = self._settings
        if case.talk is not None:
            if settings.target.history == "server":  # which has not seen the turns before it
                case = replace(case, question=case.standalone or case.question)
            settings = replace(settings, target=replace(settings.target, history="gold"))
        request = replace(ask_request(case, settings), k=self._k)
        rootdir = Path(self._settings.rootdir)
        result = session_loop().run(call_client(self._client, request, rootdir=rootdir))
        if result.response is None:
            return result
        own = with_own_names(result.response, anchors_of(case), score_settings(self._settings))
        return replace(result, response=own)

    def try_first(self, case: Case) -> None:
        """Ask for the first case before anything is shown.

        Raises:
            UnreachableError: the target does not answer.
            CommandError: the client of the project raised.
        """
        result = self(case)
        if result.error is not None and result.error.kind == "raised":
            raise CommandError(raised_text(result.error))
        if result.error is not None and result.error.kind in _LOST:
            raise UnreachableError(clean(result.error.message, 300))
        self._first[case.id] = result


def _session(
    wanted: _Wanted,
    loaded: EditableSet,
    cases: Sequence[EditableCase],
    asked: _Asked,
    settings: Settings,
) -> LabelSession | None:
    from pytest_rageval.authoring.labelling.desk import CaseDesk, Target
    from pytest_rageval.authoring.labelling.session import LabelSession

    target = Target(ask=asked, k=wanted.k)
    desk, ids = _desk(wanted, loaded, [one.case.id for one in cases], target, settings)
    queue = desk.queue(ids)
    if not queue:
        return None
    asked.try_first(queue[0].case)
    review = desk if wanted.review and isinstance(desk, CaseDesk) else None
    return LabelSession(queue, desk, settings=score_settings(settings), review=review)


def _desk(
    wanted: _Wanted, loaded: EditableSet, ids: list[str], target: Target, settings: Settings
) -> tuple[CaseDesk | AnnotatorDesk, list[str]]:
    """Return the store of decisions, and the cases in order."""
    import time

    from pytest_rageval.authoring.labelling.desk import AdjudicationDesk, AnnotatorDesk, CaseDesk
    from pytest_rageval.authoring.labelling.store import check_annotator, read_labels

    if wanted.annotator is not None:
        name = check_annotator(wanted.annotator)
        labels = read_labels(loaded.path)
        warn(*labels.notes)
        annotator = AnnotatorDesk(
            loaded=loaded,
            target=target,
            annotator=name,
            labels=labels,
            settings=score_settings(settings),
            blind=wanted.blind,
            clock=time.monotonic,
            now=_now,
        )
        # Open cases come first.
        done = annotator.done
        return annotator, sorted(ids, key=lambda case_id: case_id in done)
    if wanted.adjudicate:
        labels = _labels_of_several(loaded.path, loaded.display)
        adjudicator = AdjudicationDesk(loaded, target, labels, now=_now)
        return adjudicator, adjudicator.undecided(ids)
    return CaseDesk(loaded, target), ids


def _labels_of_several(path: Path, shown: str) -> Labels:
    """Read the labels of a case file, and warn of entries that were left out.

    Raises:
        CommandError: fewer than two annotators have labelled it.
    """
    import shlex

    from pytest_rageval.authoring.labelling.store import read_labels

    labels = read_labels(path)
    warn(*labels.notes)
    if len({entry.annotator for entry in labels.entries}) < 2:
        raise CommandError.of(
            shown,
            "few_annotators",
            command=f"rageval label {shlex.quote(path.as_posix())} --annotator NAME",
        )
    return labels


def _now() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).isoformat(timespec="microseconds")


# --- which cases ---------------------------------------------------------------------------------


def _chosen(loaded: EditableSet, wanted: _Wanted, settings: Settings) -> list[EditableCase]:
    ids = {name: None for one in loaded.cases for name in (one.case.id, one.case.item)}
    _require_known(wanted.case_ids, [*ids], "--case", "id")
    categories = sorted({one.case.category for one in loaded.cases})
    _require_known(wanted.categories, categories, "--category", "category")
    failed = _failed(loaded, wanted, settings)
    return [
        one
        for one in loaded.cases
        if (not wanted.case_ids or {one.case.id, one.case.item} & {*wanted.case_ids})
        and (not wanted.categories or one.case.category in wanted.categories)
        and (not wanted.unlabeled or (one.case.answerable and not one.case.gold_supports))
        and (not wanted.review or one.case.review == "generated")
        and (failed is None or (loaded.display, one.case.item) in failed)
    ]


def _require_known(given: Sequence[str], known: Sequence[str], flag: str, what: str) -> None:
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known)
            raise click.UsageError(f"{flag}: no case has the {what} {name!r}{hint}")


def _failed(
    loaded: EditableSet, wanted: _Wanted, settings: Settings
) -> frozenset[tuple[str, str]] | None:
    if wanted.failed_from is None:
        return None
    from pytest_rageval.runs.read import select_failed

    known = [(loaded.display, one.case.item) for one in loaded.cases]
    settings = replace(settings, failed_from=wanted.failed_from)
    found = select_failed(settings, known, file=loaded.display)
    for note in found.notes:
        click.echo(clean(f"note: {note}"), err=True)
    return found.cases


# --- agreement -----------------------------------------------------------------------------------


def _print_agreement(path: Path, *, face: str | None) -> ExitCode:
    from pytest_rageval.authoring.labelling.store import agreement_document
    from pytest_rageval.report.view.judging import agreement_lines

    if not path.is_file():
        raise CommandError.of(path, "absent", what="file")
    labels = _labels_of_several(path, str(path))
    document = {"file": path.as_posix(), **agreement_document(labels.entries)}
    print_result(document, agreement_lines(document), face=face)
    return ExitCode.YES
