"""The target, and the judge's options of pytest, for commands that use them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from pytest_rageval.cli.output import warn
from pytest_rageval.project.options import OPTIONS
from pytest_rageval.values.declared import Setting
from pytest_rageval.values.errors import ConfigError, RagEvalError

if TYPE_CHECKING:
    from pytest_rageval.support.in_flight import Slots
    from pytest_rageval.values.reply import ErrorInfo
    from pytest_rageval.values.settings import Settings

_Command = TypeVar("_Command", bound=Callable[..., Any])
_FLAGS: Final = ("--judge", "--judge-base-url", "--judge-api-key-env", "--no-judge-cache")


def judge_options(command: _Command, *, judge: str | None = None) -> _Command:
    """Add the judge's options under their own names; pass their values to `judge_settings`.

    Args:
        command: the command.
        judge: default of ``--judge`` in the help; None: the project's judge.
    """
    for option in reversed([one for one in OPTIONS if one.flag in _FLAGS]):
        command = click.option(
            str(option.flag),
            option.dest,
            is_flag=option.kind == "boolean",
            default=None,
            metavar=None if option.kind == "boolean" else option.metavar,
            help=_help(option, judge if option.flag == "--judge" else None),
        )(command)
    return command


def _help(option: Setting, default: str | None) -> str:
    text = f"{option.text[0].upper()}{option.text[1:]}."
    if not option.default_text:
        return text
    otherwise = default or f"the project's, else {option.default_text}"
    return f"{text}  [default: {otherwise}]"


def project_settings(flags: Mapping[str, object]) -> Settings:
    """Return the settings of the project with the given flags.

    Raises:
        ConfigError: they are wrong.
    """
    from pytest_rageval.project.settings import load_settings

    given = {name: value for name, value in flags.items() if value}
    return load_settings(Path.cwd(), flags=given, environ=os.environ)


def judge_settings(flags: Mapping[str, object]) -> Settings:
    """Return ``project_settings``, which must name a judge.

    Raises:
        ConfigError: they are wrong.
        click.UsageError: they do not name a judge.
    """
    settings = project_settings(flags)
    if settings.judge == "none":
        raise click.UsageError("no judge: expected --judge offline, or the name of a model")
    return replace(settings, retrieval_only=False)


def warn_of_cache(judge: object) -> None:
    """Print the warning of a judge about its cache on stderr, if any."""
    warning = getattr(judge, "cache_warning", None)
    if isinstance(warning, str):
        warn(warning)


@contextmanager
def opened_target(
    settings: Settings, *, served_at: str | None = None, slots: Slots | None = None
) -> Iterator[object]:
    """Yield a client for the target of the settings, and close it afterwards.

    Args:
        settings: of the project.
        served_at: URL of the embedded target, if it is up already.
        slots: requests in flight; None: no limit.

    Raises:
        ConfigError: the settings are wrong, or code that they name raised; then with its place.
    """
    from pytest_rageval.project.settings import no_target, target_kind
    from pytest_rageval.target.opening import open_target

    if served_at is None and target_kind(settings) == "none":
        raise no_target(settings)
    with ExitStack() as stack:
        with _faults_as_settings(settings):
            client = stack.enter_context(
                open_target(settings, environ=os.environ, served_at=served_at, slots=slots)
            )
        yield client
        with _faults_as_settings(settings):  # of its close
            stack.close()


@contextmanager
def _faults_as_settings(settings: Settings) -> Iterator[None]:
    from pytest_rageval.target.calling import raised_error

    try:
        yield
    except RagEvalError:
        raise
    except Exception as error:
        key = "client" if settings.target.url is None else "auth"
        text = raised_text(raised_error(error, Path(settings.rootdir)))
        raise ConfigError.of(f"[tool.rageval.target] {key}", "invalid", reason=text) from error


def raised_text(error: ErrorInfo) -> str:
    """Return an exception of the project's code, followed by the lines of its place."""
    return "\n".join(filter(None, (error.message, error.traceback)))
