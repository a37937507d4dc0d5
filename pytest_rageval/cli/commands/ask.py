"""``rageval ask``: questions to the target of the project, by hand."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pytest_rageval.cli.arguments import (
    NEW_FILE,
    complete_case_of_file,
    file_to_extend,
    project_case_files,
)
from pytest_rageval.cli.output import (
    FILE_PATH,
    CommandError,
    ExitCode,
    face_option,
    print_blocks,
    print_result,
    switch,
)
from pytest_rageval.cli.target import judge_options, opened_target, project_settings
from pytest_rageval.support.text import clean
from pytest_rageval.values.errors import DatasetError, RagEvalError

if TYPE_CHECKING:
    from pytest_rageval.authoring.prompt import AskedQuestion, PromptSession
    from pytest_rageval.engine.case import CaseRepeat
    from pytest_rageval.project.case_reader import LocatedCase
    from pytest_rageval.values.record import CaseRecord
    from pytest_rageval.values.reply import AskResult
    from pytest_rageval.values.settings import Settings

_MARK: Final = "ask> "
_HISTORY: Final = "cache/ask_history"
"""Below the first test path; a git-ignored folder."""
_KEPT: Final = 1000


@click.command("ask")
@click.argument("question", required=False)
@click.option("--case", "case_id", metavar="ID", shell_complete=complete_case_of_file,
              help="Ask the question of this case.")  # fmt: skip
@click.option("-k", "k", type=click.IntRange(1, 200), help="Number of chunks.")
@click.option("--folder", "folders", multiple=True, help="Search only there; repeatable.")
@click.option("--vault", "vaults", multiple=True, help="Search only there; repeatable.")
@click.option("--set", "parameters", multiple=True, metavar="NAME=VALUE",
              help="Parameter of the request; repeatable.")  # fmt: skip
@switch("--judged", help="Have the answer judged as well.")
@click.option("--rag-url", metavar="URL", help="Target to ask.  [default: the project's]")
@click.option("--file", "file", type=FILE_PATH,
              help=f"File for :save.  [default: the only case file, else {NEW_FILE}]")  # fmt: skip
@judge_options
@face_option
def command(
    question: str | None,
    case_id: str | None,
    judged: bool,
    rag_url: str | None,
    file: Path | None,
    face: str | None,
    **given: Any,
) -> ExitCode:
    """Ask the target a question and show answer and chunks.

    Without QUESTION and --case, questions and commands are read line by line, from a terminal or a
    pipe; :help lists the commands. Exit code 4 if a question failed.
    """
    from pytest_rageval.authoring.prompt import COMMANDS, PromptSession
    from pytest_rageval.report.view.asked import asked_document

    if question is not None and case_id is not None:
        raise click.UsageError("QUESTION and --case: expected one of them")
    if question is not None and not question.strip():
        raise click.UsageError("QUESTION: expected a question, got blanks")
    single = question is not None or case_id is not None
    if face is not None and not single:
        raise click.UsageError(f"--{face}: goes with QUESTION or --case")
    sent = {name: given.pop(name) for name in ("k", "folders", "vaults", "parameters")}
    settings = project_settings({**given, "rageval_rag_url": rag_url})
    with ExitStack() as stack:
        desk = _Desk(stack.enter_context(opened_target(settings)), settings, file, stack)
        prompt = PromptSession(desk, settings, _cases(settings))
        for name, words in _commands(**sent):
            with _as_command_errors(f"--{name}"):
                list(COMMANDS[name].run(prompt, words))
        if not single:
            _converse(prompt, _lines(settings, prompt))
            return ExitCode.UNREACHABLE if desk.failed and not sys.stdin.isatty() else ExitCode.YES
        with _as_command_errors():
            lines = [*(prompt.ask_case([case_id]) if case_id else prompt.ask(question or ""))]
            if judged and not desk.failed:
                lines += prompt.take(":judge")
        assert desk.record is not None
        print_result(asked_document(desk.record), lines, face=face)
        return ExitCode.UNREACHABLE if desk.failed else ExitCode.YES


def _commands(
    k: int | None, folders: Sequence[str], vaults: Sequence[str], parameters: Sequence[str]
) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the commands of the prompt that options stand for; a word may hold blanks."""
    given = {"k": [] if k is None else [str(k)], "folders": folders, "vaults": vaults}
    yield from ((name, words) for name, words in given.items() if words)
    yield from (("set", [one]) for one in parameters)


@contextmanager
def _as_command_errors(before: str = "") -> Iterator[None]:
    from pytest_rageval.authoring.prompt import PromptError

    try:
        yield
    except PromptError as error:
        raise CommandError.of_faults(error.within(before).faults) from error


# --- the desk ------------------------------------------------------------------------------


def _cases(settings: Settings) -> dict[str, tuple[str, LocatedCase]]:
    """Return the cases of the project by id, or ``file::id`` where several files have it.

    Files with faults are named and left out.
    """
    from pytest_rageval.project.case_reader import load_cases

    found: list[tuple[str, LocatedCase]] = []
    for path in project_case_files(settings):
        try:
            loaded = load_cases(path)
        except DatasetError as error:
            first = str(error).splitlines()[0]
            click.echo(clean(f"warning: cases left out: {first}", 300), err=True)
            continue
        found += [(loaded.display, located) for located in loaded.cases]
    n = Counter(located.case.id for _, located in found)
    ids = ((one, one[1].case.id) for one in found)
    return {name if n[name] == 1 else f"{one[0]}::{name}": one for one, name in ids}


class _Desk:
    """Target, judge and case file of the project."""

    def __init__(
        self, client: object, settings: Settings, file: Path | None, stack: ExitStack
    ) -> None:
        self.failed = False
        """Whether any question had no answer."""
        self.record: CaseRecord | None = None
        self._client = client
        self._settings = settings
        self._file = file
        self._stack = stack
        self._judge: object = None
        self._asked: tuple[CaseRepeat, AskResult] | None = None

    def ask(self, question: AskedQuestion) -> CaseRecord:
        """Ask the target; a failure is part of the record."""
        from pytest_rageval.engine.case import CaseRepeat, ask, record_of
        from pytest_rageval.support.threads import session_loop

        trial = CaseRepeat(
            question.located, question.file, question.settings, before=question.before
        )
        result = session_loop().run(ask(trial, self._client))
        self._asked = trial, result
        self.failed = self.failed or result.error is not None
        self.record = session_loop().run(record_of(trial, result))
        return self.record

    def judge(self, question: AskedQuestion) -> CaseRecord:
        """Judge the last answer with the judge of the project."""
        from pytest_rageval.engine.case import Clients, record_of
        from pytest_rageval.engine.own_code import open_registry
        from pytest_rageval.judges.opening import open_judge
        from pytest_rageval.support.threads import session_loop

        assert self._asked is not None
        if self._settings.judge == "none":
            raise CommandError.of("", "usage", expected="--judge offline, or the name of a model")
        if self._judge is None:
            settings = replace(self._settings, retrieval_only=False)
            self._judge = self._stack.enter_context(open_judge(settings, environ=os.environ))
        trial, result = self._asked
        judged = replace(
            trial,
            judges=Clients(None, self._judge).judges(twice=False),
            settings=replace(trial.settings, retrieval_only=False),
            registry=open_registry(self._settings),
        )
        self.record = session_loop().run(record_of(judged, result))
        return self.record

    def save(self, line: Mapping[str, Any]) -> str:
        """Add a case to the case file."""
        from pytest_rageval.authoring.interchange.files import add_case

        path = self._file or file_to_extend(self._settings)
        add_case(path, line)
        return path.as_posix()


# --- a conversation ------------------------------------------------------------------------


def _converse(prompt: PromptSession, lines: Iterator[str | None]) -> None:
    """Carry out lines until the prompt is closed or they end; None stands for Ctrl-C."""
    from pytest_rageval.authoring.prompt import PromptError

    for line in lines:
        if line is None:
            continue
        try:
            print_blocks(prompt.take(line))
        except KeyboardInterrupt:
            click.echo("\ngiven up")
        except (PromptError, RagEvalError) as error:
            for part in str(error).splitlines():
                click.echo(clean(part), err=True)
        if prompt.closed:
            return


def _lines(settings: Settings, prompt: PromptSession) -> Iterator[str | None]:
    if not sys.stdin.isatty():
        yield from iter(sys.stdin.readline, "")  # not the file, which :quit would close
        return
    click.echo("Type a question, or :help. Ctrl-D ends.")
    with _editing(settings, prompt.completions):
        while True:
            try:
                yield input(_MARK)
            except KeyboardInterrupt:
                click.echo()
                yield None
            except EOFError:
                click.echo()
                return


@contextmanager
def _editing(settings: Settings, completions: Callable[[str], list[str]]) -> Iterator[None]:
    """Give ``input`` history and completion, where the system has readline."""
    try:
        import readline
    except ImportError:  # Windows
        yield
        return
    from pytest_rageval.project.discovery import cases_folder

    history = cases_folder(settings) / _HISTORY
    found: list[str] = []

    def complete(text: str, state: int) -> str | None:
        if state == 0:
            found[:] = completions(readline.get_line_buffer()[: readline.get_endidx()])
        return found[state] if state < len(found) else None

    readline.clear_history()
    readline.set_completer(complete)
    readline.set_completer_delims(" ")
    libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")
    readline.set_history_length(_KEPT)
    with suppress(OSError):
        readline.read_history_file(history)
    try:
        yield
    finally:
        readline.set_completer(None)
        with suppress(OSError):
            history.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(history)
