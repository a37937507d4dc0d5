"""``rageval schema``: JSON Schemas for editors and other tools."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pytest_rageval.cli.output import CommandError


@click.command("schema")
@click.argument("kind", type=click.Choice(["case", "thresholds"]))
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write instead of printing; missing folders are created.",
)
def command(kind: str, output: Path | None) -> None:
    """Print the JSON Schema (2020-12) of a case line or of thresholds.toml."""
    if kind == "case":
        from pytest_rageval.project.case_fields import case_json_schema as make_schema
    else:
        from pytest_rageval.project.threshold_keys import thresholds_json_schema as make_schema
    text = json.dumps(make_schema(), indent=2)
    if output is None:
        click.echo(text)
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{output}: {error.strerror}") from error
