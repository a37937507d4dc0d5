"""The ``rageval`` command: subcommands, errors and exit codes.

Each subcommand is a module of ``commands`` that is imported when it is named; what it works with
is imported when it runs, so that ``rageval --help`` costs no more than click.
"""

from __future__ import annotations

import errno
import gc
import importlib
import io
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final, NoReturn

import click

from pytest_rageval.cli.output import EXIT_CODES, CommandError, ExitCode, HintingGroup, error_text
from pytest_rageval.support.text import clean_lines
from pytest_rageval.values.errors import EndpointError, JudgeError, RagEvalError

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "Core, beside pytest evals/": ("init", "explain", "compare", "gate"),
    "Authoring": (
        *("doctor", "ask", "serve", "check", "case", "label", "review", "generate"),
        *("import", "export", "schema"),
    ),
    "Runs": ("report", "view", "score", "judge", "merge", "runs"),
    "Studies": ("demo", "sweep", "rerank", "embeddings", "calibrate", "suite"),
}
"""Names of the subcommands and of their modules, as the help shows them."""
COMMANDS: Final = tuple(sorted(chain.from_iterable(GROUPS.values())))
_UNWRITABLE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF})
"""Errors of the system where output is written to a full or broken disk, or nowhere."""
_PYPROJECT: Final = "pyproject.toml"
_COMPLETE: Final = "_RAGEVAL_COMPLETE"
"""Variable by which a shell asks for its completion script, or for the words to offer."""


class LazyGroup(HintingGroup):
    """Group that imports a subcommand on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all subcommands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a subcommand, or None if the name is unknown."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"pytest_rageval.cli.commands.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the subcommands in groups, each with its first sentence."""
        for title, names in GROUPS.items():
            with formatter.section(title):
                commands = [(f"{name:<10}", self.get_command(ctx, name)) for name in names]
                formatter.write_dl([(n, c.get_short_help_str(60)) for n, c in commands if c])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"Exit codes: {', '.join(f'{int(n)} {means}' for n, means in EXIT_CODES.items())}.",
)
@click.version_option(package_name="pytest-rageval", message="%(package)s %(version)s")
@click.option("-v", "--verbose", is_flag=True, help="End each error with its code.")
@click.pass_context
def cli(context: click.Context, verbose: bool) -> None:
    """Evaluate a RAG system by `pytest evals/`. `demo` shows how."""
    here = Path.cwd()
    folders = (here, *here.parents)
    # Path.is_file raises where a folder above may not be looked into.
    nearest = next((one for one in folders if os.path.isfile(one / _PYPROJECT)), here)
    if nearest == here or context.invoked_subcommand == "init":
        return
    with suppress(OSError, UnicodeError):
        # pytest finds this project from a subfolder; a command would take defaults unnoticed.
        if "[tool.rageval" in (nearest / _PYPROJECT).read_text(encoding="utf-8"):
            _report(f"warning: commands work in the project's folder: go to {nearest}")


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit with its code.

    Args:
        arguments: arguments after ``rageval``; None reads ``sys.argv``.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed, as by ``>&-``
            setattr(sys, name, open(os.devnull, mode))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # an ASCII terminal must still get every message
            stream.reconfigure(errors="backslashreplace")
    # A collection visits every record of the runs read, and hardly anything is in a cycle.
    gc.set_threshold(50_000, 20, 20)
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code, also where its output cannot be written."""
    try:
        code = _run(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
        return code
    except BrokenPipeError:  # the reader has gone (``| head``)
        code = ExitCode.BROKEN_PIPE
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        code = ExitCode.USAGE
        with suppress(OSError):
            _report(f"rageval: the output cannot be written: {error.strerror}")
            sys.stderr.flush()
    # Python would report an error when it flushes at exit.
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # one of a test has no file
            os.dup2(nothing, stream.fileno())
    return code


def _run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code; the one place where errors become lines."""
    try:
        try:
            os.getcwd()
        except OSError:
            _report("the working folder is gone: go to another")
            return ExitCode.USAGE
        if instruction := os.environ.get(_COMPLETE):
            from click.shell_completion import shell_complete

            return shell_complete(cli, {}, "rageval", _COMPLETE, instruction)
        return _invoke(list(arguments))
    except click.ClickException as error:
        where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else ""
        _report(f"{where or 'rageval'}: {error.format_message()}")
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return ExitCode.INTERRUPTED


def _invoke(arguments: list[str]) -> int:
    # click's own main() turns a closed pipe into exit code 1, which here means "no".
    try:
        with cli.make_context("rageval", arguments) as context:
            try:
                code: int | None = cli.invoke(context)
            except CommandError as error:
                _report(f"rageval: {error_text(error)}")
                return error.exit_code
            except RagEvalError as error:
                lost = isinstance(error, EndpointError | JudgeError)
                _report(f"rageval: {error_text(error)}" if lost else error_text(error))
                return ExitCode.UNREACHABLE if lost else ExitCode.USAGE
            return code or ExitCode.YES
    except click.exceptions.NoArgsIsHelpError as asked:
        click.echo(asked.format_message())
        return ExitCode.YES
    except click.exceptions.Exit as asked:  # --help and --version
        return asked.exit_code


def _report(message: str) -> None:
    click.echo(clean_lines(message), err=True)


if __name__ == "__main__":
    main()
