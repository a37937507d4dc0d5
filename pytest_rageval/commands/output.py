"""What every subcommand prints with."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from pytest_rageval.models import SCHEMA_VERSION, ExitCode

_Command = TypeVar("_Command", bound=Callable[..., object])


class CommandError(click.ClickException):
    """What was asked for cannot be done: a usage, configuration or data error."""

    exit_code = ExitCode.USAGE


class UnreachableError(click.ClickException):
    """A service that is needed does not answer as it should."""

    exit_code = ExitCode.UNREACHABLE


def json_option(command: _Command) -> _Command:
    """Add ``--json`` to a command, as the argument ``as_json``."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON object and nothing else."
    )(command)


def print_json(document: Mapping[str, Any]) -> None:
    """Print one JSON object with ``schema_version``.

    In ASCII, so that no control or bidi character of the data reaches a terminal raw.
    """
    text = json.dumps({"schema_version": SCHEMA_VERSION, **document}, indent=2, allow_nan=False)
    click.echo(text)
