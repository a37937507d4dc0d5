"""What a subcommand appends to the summary of a GitHub Actions step."""

from __future__ import annotations

import os

import click

from pytest_rageval.report.markdown.step_summary import append_step_summary
from pytest_rageval.support.text import clean


def add_to_step_summary(markdown: str) -> None:
    """Append Markdown where there is such a summary; say in one line if it cannot be written."""
    warning = append_step_summary(markdown, os.environ)
    if warning is not None:
        click.echo(f"warning: {clean(warning)}", err=True)
