"""Output of the subcommands: exit codes, errors, faces, and progress on stderr."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from pytest_rageval.report.faces.terminal import draw, show
from pytest_rageval.report.step_summary import append_step_summary
from pytest_rageval.report.view.blocks import Block, Table, View
from pytest_rageval.support.files import named_errors, write_file
from pytest_rageval.support.process import Closing
from pytest_rageval.support.text import clean, did_you_mean, is_steerable, log_pauses
from pytest_rageval.values.errors import RagEvalError
from pytest_rageval.values.record import SCHEMA_VERSION

if TYPE_CHECKING:
    from rich.progress import Progress, Task
    from rich.text import Text

    from pytest_rageval.authoring.interchange.values import LeftOut


class ExitCode(IntEnum):
    """Exit codes of the ``rageval`` command (pytest keeps its own)."""

    YES = 0
    NO = 1
    USAGE = 2
    NOT_COMPARABLE = 3
    UNREACHABLE = 4
    CANNOT_TELL = 5
    INTERRUPTED = 130
    BROKEN_PIPE = 141
    """As a shell reports it after SIGPIPE (128 + 13), which is not an interruption."""


EXIT_CODES: Final[Mapping[int, str]] = {
    ExitCode.YES: "done, or the answer is yes",
    ExitCode.NO: "the answer is no: a gate failed or its run is incomplete, a difference was found",
    ExitCode.USAGE: "usage, configuration or data error",
    ExitCode.NOT_COMPARABLE: "runs not comparable, or nothing to compare",
    ExitCode.UNREACHABLE: "target or judge unreachable",
    ExitCode.CANNOT_TELL: "too little was scored to compare runs, as when a target was down",
    ExitCode.INTERRUPTED: "interrupted",
    ExitCode.BROKEN_PIPE: "broken pipe",
}
"""Meaning of every exit code of the command."""


PATH: Final = click.Path(path_type=Path)
FILE_PATH: Final = click.Path(dir_okay=False, path_type=Path)
FOLDER_PATH: Final = click.Path(file_okay=False, path_type=Path)
"""Types of arguments and options that are paths."""
switch: Final = partial(click.option, is_flag=True)
"""Adds an option without a value."""
no_report_option: Final = switch(
    "--no-report", help="Write no report.html; rageval report does at any time."
)
"""Adds ``--no-report`` to a command, as the argument ``no_report``."""


class CommandError(RagEvalError):
    """The command cannot be carried out: a usage, configuration or data error."""

    exit_code = ExitCode.USAGE


class NotComparableError(CommandError):
    """The runs are not comparable."""

    exit_code = ExitCode.NOT_COMPARABLE


class UnreachableError(CommandError):
    """A required service does not answer as expected."""

    exit_code = ExitCode.UNREACHABLE


class HintingGroup(click.Group):
    """Group of commands that suggests a name for an unknown one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand at the start of the arguments."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            hint = did_you_mean(args[0], known) or f", expected one of {', '.join(known)}"
            ctx.fail(f"no command {args[0]!r}{hint}")
        return super().resolve_command(ctx, args)


def write_page(path: Path, pieces: Iterable[str]) -> None:
    """Write a page and the folders above it, in the place of an older one or of a link.

    Raises:
        CommandError: it cannot be written; an older one stays.
    """
    with named_errors(path, CommandError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, (piece.encode() for piece in pieces))


def json_text(document: Mapping[str, Any]) -> str:
    """Return one JSON object with ``schema_version``.

    In ASCII, so that no control or bidi character of the data reaches a terminal raw.
    """
    return _json({"schema_version": SCHEMA_VERSION, **document}) + "\n"


_C = TypeVar("_C", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Face:
    """A form of results besides lines of a terminal."""

    help: str
    """Of the flag that chooses it."""
    text: Callable[[Mapping[str, Any], View], str]
    """Text of a result with its last line end, given its JSON document and its view."""


FACES: Final[Mapping[str, Face]] = {
    "json": Face(
        "Print one JSON object and nothing else.", lambda document, _: json_text(document)
    ),
}
"""Face by flag without ``--``. A row here adds the flag to every command with a result."""


def face_option(command: _C) -> _C:
    """Add the flag of every face to a command, as the argument ``face``; None: a terminal."""
    for name, face in reversed([*FACES.items()]):
        command = click.option(f"--{name}", "face", flag_value=name, help=face.help)(command)
    return command


def print_result(
    document: Mapping[str, Any],
    shown: View | Iterable[Block],
    *,
    face: str | None,
    verbose: bool = False,
    width: int | None = None,
) -> None:
    """Print a result by a face.

    Args:
        document: the result for programs.
        shown: the result for readers; of a view, a terminal shows what is folded on request only.
        face: one of ``FACES``; None: lines of a terminal.
        verbose: also show in a terminal what the view folds.
        width: columns of the terminal; None: all it has.
    """
    if face is not None:
        view = shown if isinstance(shown, View) else View((), [*shown])
        click.echo(FACES[face].text(document, view), nl=False)
    else:
        blocks = show(shown, verbose=verbose) if isinstance(shown, View) else shown
        print_blocks(blocks, width=width)


def error_text(error: RagEvalError) -> str:
    """Return the text of an error, with codes if the command was given ``-v``."""
    verbose = click.get_current_context().find_root().params.get("verbose")
    return error.coded if verbose else str(error)


def warn(*warnings: str) -> None:
    """Print warnings on stderr, each on one line."""
    for warning in warnings:
        click.echo(clean(f"warning: {warning}"), err=True)


def count_rows(title: str, counts: Iterable[tuple[int, str]]) -> Iterator[Block]:
    """Yield a title and what is counted below it; nothing if nothing is."""
    if rows := [(f"  {n:>6}", clean(what, 500)) for n, what in counts]:
        yield title
        yield Table((">", ""), rows)


def left_out_rows(left_out: Sequence[LeftOut]) -> Iterator[Block]:
    """Yield the fields that an import or export left out."""
    return count_rows("left out", ((one.count, f"{one.field}: {one.why}") for one in left_out))


def _json(value: object) -> str:
    from msgspec import to_builtins

    return json.dumps(value, indent=2, allow_nan=False, default=to_builtins)


class JsonList:
    """The items of one long list of a printed document, kept on disk until the list is complete.

    Memory does not grow with the list, and a document that an error interrupts is not printed.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile("w+", encoding="ascii")
        self._separator = "\n"

    def append(self, item: Mapping[str, Any]) -> None:
        """Add one item."""
        text = _json(item).replace("\n", "\n    ")
        self._file.write(f"{self._separator}    {text}")
        self._separator = ",\n"

    def print_in(self, name: str, rest: Mapping[str, Any]) -> None:
        """Print one object with ``schema_version``, the list under ``name``, and the rest."""
        click.echo(f'{{\n  "schema_version": {SCHEMA_VERSION},\n  "{name}": [', nl=False)
        self._file.seek(0)
        while block := self._file.read(1 << 20):
            click.echo(block, nl=False)
        end = "]" if self._separator == "\n" else "\n  ]"
        click.echo(f"{end},{_json(dict(rest))[1:]}")

    def close(self) -> None:
        """Remove the file."""
        self._file.close()


def terminal_width() -> int:
    """Return the columns of the terminal, or the value of ``COLUMNS``."""
    return shutil.get_terminal_size().columns


def print_blocks(blocks: Iterable[Block], *, width: int | None = None) -> None:
    """Print blocks, in colour if a terminal reads them and colour is not switched off."""
    forced = True if os.environ.get("FORCE_COLOR") else None
    colour = False if os.environ.get("NO_COLOR") else forced
    drawn = sys.stdout.isatty() if colour is None else colour
    for line in draw(blocks, width=width or terminal_width(), colour=drawn):
        click.echo(line, color=colour)


def add_to_step_summary(markdown: str) -> None:
    """Append Markdown to the step summary of CI, if any; print a warning if that fails."""
    if (warning := append_step_summary(markdown, os.environ)) is not None:
        warn(warning)


Source = Callable[[], str | None]
"""Function that describes the progress, on any thread; None: nothing to show."""


class ProgressOnStderr(Closing):
    """Shows a line that is computed anew, until it is closed; usable as a context manager."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._log, name="rageval-progress", daemon=True)
        self._live: Progress | None = None
        with suppress(OSError, ValueError):  # not a real file
            if is_steerable(sys.stderr.fileno()):
                self._live = _live(source)
        (self._live or self._thread).start()

    def close(self) -> None:
        """Remove the live line, and stop."""
        self._stopped.set()
        if self._live is None:
            self._thread.join()
        else:
            self._live.stop()

    def say(self, text: str) -> None:
        """Write lines that stay."""
        for line in map(clean, text.splitlines()):
            if self._live is None:
                _write(line)
            else:
                self._live.console.print(line)

    def _log(self) -> None:
        for pause_s in log_pauses():
            if self._stopped.wait(pause_s):
                return
            if (text := self._source()) is not None:
                _write(f"rageval: {text}")


def _write(line: str) -> None:
    with suppress(OSError):  # the reader has gone
        click.echo(line, err=True)


def _live(source: Source) -> Progress:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn, SpinnerColumn, TimeElapsedColumn
    from rich.table import Column
    from rich.text import Text

    class Counts(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(clean(source() or ""))

    shown = Progress(
        SpinnerColumn("line"),
        TimeElapsedColumn(),
        Counts(Column(no_wrap=True, overflow="crop")),
        console=Console(stderr=True, markup=False, emoji=False, highlight=False, soft_wrap=True),
        refresh_per_second=5,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    shown.add_task("", total=None)
    return shown
