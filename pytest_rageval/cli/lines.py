"""Styled lines of a report on standard output."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pytest_rageval.report.text.lines import Line


def terminal_width() -> int:
    """Return the columns of the terminal, or what ``COLUMNS`` says of it."""
    return shutil.get_terminal_size().columns


def print_lines(lines: Iterable[Line]) -> None:
    """Print lines, in colour where a terminal reads them and nobody has switched that off."""
    colour = False if os.environ.get("NO_COLOR") else None
    if os.environ.get("FORCE_COLOR") and colour is None:
        colour = True
    for line in lines:
        click.echo("".join(_styled(text, style) for text, style in line).rstrip(), color=colour)


def _styled(text: str, style: str) -> str:
    if not style or not text:
        return text
    if style in {"bold", "dim"}:
        return click.style(text, bold=style == "bold" or None, dim=style == "dim" or None)
    return click.style(text, fg=style)
