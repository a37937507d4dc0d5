"""``rageval schema``: JSON Schemas for editors and other tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from pytest_rageval.cli.judge_options import project_settings
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
    """Print the JSON Schema (2020-12) of a case line or of thresholds.toml.

    That of thresholds.toml has the metrics of the project's own rubrics, too.
    """
    text = json.dumps(_case_schema() if kind == "case" else _thresholds_schema(), indent=2)
    if output is None:
        click.echo(text)
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{output}: {error.strerror}") from error


def _case_schema() -> dict[str, Any]:
    from pytest_rageval.project.case_fields import case_json_schema

    return case_json_schema()


def _thresholds_schema() -> dict[str, Any]:
    from pytest_rageval.engine.registry import registry_for_runs
    from pytest_rageval.project.threshold_keys import thresholds_json_schema

    return thresholds_json_schema(registry_for_runs(project_settings({})))
