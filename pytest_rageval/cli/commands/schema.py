"""``rageval schema``: JSON Schemas for editors and other tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import click

from pytest_rageval.cli.judge_options import project_settings
from pytest_rageval.cli.output import CommandError

KINDS: Final = (
    "case", "thresholds", "reply", "record", "config", "metrics", "groups", "gate",
)  # fmt: skip


@click.command("schema")
@click.argument("kind", type=click.Choice(KINDS))
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write instead of printing; missing folders are created.",
)
def command(kind: str, output: Path | None) -> None:
    """Print the JSON Schema (2020-12) of a file or message.

    "case" is a line of a case file, "thresholds" is thresholds.toml with the metrics of the
    project's own rubrics, "reply" is what a target answers, "record" is a line of results.jsonl;
    the others are the documents of a run, such as metrics.json.
    """
    text = json.dumps(_schema(kind), indent=2)
    if output is None:
        click.echo(text)
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{output}: {error.strerror}") from error


def _schema(kind: str) -> dict[str, Any]:
    match kind:
        case "case":
            from pytest_rageval.project.case_fields import case_json_schema

            return case_json_schema()
        case "reply":
            from pytest_rageval.target.contract import reply_json_schema

            return reply_json_schema()
        case "record":
            from pytest_rageval.runs.record_schema import record_json_schema

            return record_json_schema()
        case "config" | "metrics" | "groups" | "gate":
            from pytest_rageval.runs.document_schemas import DOCUMENT_SCHEMAS

            return DOCUMENT_SCHEMAS[kind]()
        case _:
            from pytest_rageval.engine.registry import registry_for_runs
            from pytest_rageval.project.threshold_keys import thresholds_json_schema

            return thresholds_json_schema(registry_for_runs(project_settings({})))
