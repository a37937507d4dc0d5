from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_rageval.engine.own_code import open_registry, registry_for_runs
from pytest_rageval.metrics.built_in import BUILT_IN, own_definitions
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.run import RunConfig
from pytest_rageval.values.settings import JudgeSettings, Settings

RUBRIC = "rubrics/tone.jinja"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "rubrics").mkdir()
    (tmp_path / RUBRIC).write_text("Rate the tone.", encoding="utf-8")
    schema = {"type": "object", "properties": {"warm": {"type": "boolean"}}}
    path = tmp_path / "rubrics" / "tone.schema.json"
    path.write_text(json.dumps(schema), encoding="utf-8")
    judging = JudgeSettings(rubrics=("groundedness", RUBRIC, RUBRIC))
    return Settings(rootdir=str(tmp_path), judging=judging)


def test_a_project_without_own_metrics_has_the_built_in_ones() -> None:
    assert open_registry(Settings(rootdir=".")) is BUILT_IN


def test_a_project_has_the_metrics_of_its_rubrics_whether_or_not_it_judges(
    settings: Settings,
) -> None:
    found = open_registry(settings)
    assert [*found.own] == ["tone.warm"]
    assert found.of(RUBRIC) == ("tone.warm",)


def test_stored_runs_are_read_where_the_rubric_is_gone(settings: Settings) -> None:
    config = RunConfig(metric_definitions=own_definitions(open_registry(settings)))
    assert [*registry_for_runs(settings).own] == ["tone.warm"]
    (Path(settings.rootdir) / RUBRIC).unlink()
    with pytest.raises(ConfigError, match="there is no such file"):
        open_registry(settings)
    assert registry_for_runs(settings) is BUILT_IN
    assert [*registry_for_runs(settings, config).own] == ["tone.warm"]
