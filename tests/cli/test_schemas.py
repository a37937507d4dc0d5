"""Descriptions of the fields in the schemas, and the metrics of a project in that of limits."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.commands.schema import KINDS
from pytest_rageval.cli.schemas import json_schema
from pytest_rageval.metrics.built_in import BUILT_IN
from tests.build.projects import work_in

PLUGIN = """
from pytest_rageval import metric

@metric("acme.pii_free", title="No personal data", binary=True)
def pii_free(case, reply):
    return 1.0
"""
MOST_SILENT = 0.05
"""Share of fields whose name says enough."""


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "thresholds"])
def test_fields_are_described(kind: str) -> None:
    schema = json_schema(kind, BUILT_IN)
    objects = (schema, *schema.get("$defs", {}).values())
    fields = {
        f"{one.get('title')}.{name}": field
        for one in objects
        for name, field in one.get("properties", {}).items()
    }
    silent = [name for name, field in fields.items() if not field.get("description")]
    assert len(silent) <= MOST_SILENT * len(fields) + 1, silent
    assert not any("None" in field.get("description", "") for field in fields.values())


def test_limits_on_metrics_of_the_project_are_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = work_in(tmp_path / "project", monkeypatch)
    (project / "of_the_schema_test.py").write_text(PLUGIN, encoding="utf-8")
    settings = '[tool.rageval]\nplugins = ["of_the_schema_test"]\n'
    (project / "pyproject.toml").write_text(settings, encoding="utf-8")
    assert cli.run(["schema", "thresholds"]) == 0
    validator = jsonschema.Draft202012Validator(json.loads(capsys.readouterr().out))
    for text in ('"acme.pii_free" = ">= 0.99"', 'acme.pii_free = ">= 0.99"'):
        assert validator.is_valid(tomllib.loads(f"[overall]\n{text}"))
    assert not validator.is_valid(tomllib.loads('[overall]\nacme.other = ">= 0.99"'))
