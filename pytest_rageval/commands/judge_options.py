"""The judge's options of pytest, for commands that ask one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from pytest_rageval.options import OPTIONS

if TYPE_CHECKING:
    from pytest_rageval.models import Settings

_Command = TypeVar("_Command", bound=Callable[..., Any])
_FLAGS: Final = ("--judge", "--judge-base-url", "--judge-api-key-env", "--no-judge-cache")


def judge_options(command: _Command) -> _Command:
    """Add the judge's options under their own names; pass what they hold to `judge_settings`."""
    for option in reversed([one for one in OPTIONS if one.flag in _FLAGS]):
        command = click.option(
            str(option.flag),
            option.dest,
            is_flag=option.kind == "boolean",
            default=None,
            metavar=None if option.kind == "boolean" else option.metavar,
            help=f"{option.help[0].upper()}{option.help[1:]}.",
        )(command)
    return command


def project_settings(flags: Mapping[str, object]) -> Settings:
    """Return the settings of the project under the flags that were given.

    Raises:
        ConfigError: they are wrong.
    """
    from pytest_rageval.config import load_settings

    given = {name: value for name, value in flags.items() if value}
    return load_settings(Path.cwd(), flags=given, environ=os.environ)


def judge_settings(flags: Mapping[str, object]) -> Settings:
    """Return ``project_settings`` where they name a judge.

    Raises:
        ConfigError: they are wrong.
        click.UsageError: they name no judge.
    """
    settings = project_settings(flags)
    if settings.judge == "none":
        raise click.UsageError("no judge: expected --judge offline, or the name of a model")
    return replace(settings, retrieval_only=False)
