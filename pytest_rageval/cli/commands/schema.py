"""``rageval schema``: JSON Schemas for editors and other tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import click

from pytest_rageval.cli.output import FILE_PATH, CommandError
from pytest_rageval.cli.target import project_settings
from pytest_rageval.metrics.built_in import BUILT_IN

KINDS: Final = (
    "case", "thresholds", "reply", "record", "config", "metrics", "groups", "gate",
)  # fmt: skip


@click.command("schema")
@click.argument("kind", type=click.Choice(KINDS))
@click.option(
    "-o",
    "--output",
    type=FILE_PATH,
    help="File to write instead of printing; missing folders are created.",
)
def command(kind: str, output: Path | None) -> None:
    """Print the JSON Schema of a file or message.

    The version of JSON Schema is 2020-12. "case" is a line of a case file, "thresholds" is
    thresholds.toml with the project's own metrics, "reply" is what a target answers, "record" is a
    line of results.jsonl; the others are the documents of a run, such as metrics.json.
    """
    from pytest_rageval.cli.schemas import json_schema
    from pytest_rageval.engine.own_code import registry_for_runs

    registry = registry_for_runs(project_settings({})) if kind == "thresholds" else BUILT_IN
    text = json.dumps(json_schema(kind, registry), indent=2)
    if output is None:
        click.echo(text)
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise CommandError.of(output, "unwritable", reason=error.strerror) from error
