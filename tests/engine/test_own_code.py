"""Calls of own metrics; their way through a run is in tests/plugin/test_own_metrics.py."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from fractions import Fraction
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from pytest_rageval.engine.own_code import (
    compute,
    computed_sections,
    open_registry,
    own_scores,
    registry_for_runs,
    run_scores,
)
from pytest_rageval.metrics.built_in import BUILT_IN, own_definitions
from pytest_rageval.metrics.registry import MetricInfo
from pytest_rageval.metrics.view import FAILED
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.own_code import Bars, Scored, Section, ShownSection, Table
from pytest_rageval.values.reply import AskResponse
from pytest_rageval.values.run import RunConfig, StoredRun
from pytest_rageval.values.settings import JudgeSettings, Settings

SETTINGS = Settings(rootdir=".")
INFO = MetricInfo(key="acme.x", title="x", population="all", level="own", source="acme:x")


@pytest.mark.parametrize("value", [1, True, 1.0, np.float32(1), np.bool_(True), Fraction(1)])
def test_any_kind_of_number_is_a_score(value: Any) -> None:
    info = replace(INFO, compute=lambda: Scored(value))
    found = compute(info, SETTINGS, tuple)
    assert found.score == 1.0
    assert type(found.score) is float


class Strange:
    def __repr__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize(
    "value", [None, "1", [1], np.ones(1), complex(1), 10**400, Strange(), float("inf"), -0.1]
)
def test_anything_else_is_an_error(value: Any) -> None:
    found = compute(replace(INFO, compute=lambda: Scored(value)), SETTINGS, tuple)
    assert found.score is FAILED
    assert found.said.error.startswith("returned ")
    assert "acme:x" in found.said.place


def sleeps(records: object) -> Scored:
    time.sleep(0.5)
    return Scored(1)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (attrgetter("the answer"), "AttributeError"),  # as in an installed package
        (sleeps, "no result after 0.05 s (metric_timeout_s of [tool.rageval])"),
        (lambda records: "the answer", "no valid score but a value of type str"),
        (lambda records: Scored(float("nan")), "no valid score"),
    ],
)
def test_the_error_of_a_whole_run_names_its_kind_without_text_of_the_run(
    function: Any, told: str
) -> None:
    # The others end at once, but not within 0.05 s on every machine.
    settings = replace(SETTINGS, metric_timeout_s=0.05) if function is sleeps else SETTINGS
    registry = BUILT_IN.with_([replace(INFO, level="run", compute=function)])
    found = run_scores(registry, (), registry, settings)["acme.x"].error
    assert str(found).endswith(f": {told}")


def test_a_metric_gets_a_copy() -> None:
    def change(case: Case, reply: AskResponse) -> Scored:
        case.metadata["list"].append(1)
        return Scored(1)

    case = Case(id="a", question="b", metadata={"list": []})
    registry = BUILT_IN.with_([replace(INFO, compute=change)])
    found = own_scores(case, AskResponse(answer="c"), registry, SETTINGS)["acme.x"]
    assert found.score == 1.0
    assert case.metadata == {"list": []}


# ---

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


# --- sections as they are stored; those of a run are in tests/plugin/test_own_sections.py


def stored(value: Any) -> ShownSection:
    section = Section(title="a\x1b[31m", source="acme:a", compute=lambda run: value)
    registry = replace(BUILT_IN, sections=(section,))
    (found,) = computed_sections(registry, StoredRun(folder=Path("r")), Settings(rootdir="."))
    again = msgspec.json.decode(msgspec.json.encode(found), type=ShownSection)
    assert (again, found.title) == (found, "a")
    return found


def test_values_are_kept() -> None:
    found = stored(Table(("a", "b"), ((1, None), ("x\x1b[31m\ny", 0.5))))
    assert (found.columns, found.rows) == (("a", "b"), ((1, None), ("x y", 0.5)))
    assert isinstance(found.rows[0][0], int)
    found = stored(Bars({"a": 1}, unit="$"))
    assert (found.bars, found.unit, found.columns, found.rows) == (
        True,
        "$",
        ("", "$"),
        (("a", 1),),
    )


@pytest.mark.parametrize(
    "value",
    [
        None,
        "text",
        Table(["a"], [[1, 2]]),
        Table(["a"], [[float("nan")]]),
        Table(["a"], [[10**400]]),
        Table(["a"], ([1 / n] for n in (1, 0))),  # type: ignore[arg-type]
        Table(["a"], [[object()]]),  # type: ignore[list-item]
        Table(["a"], 3),  # type: ignore[arg-type]
        Table(["a"] * 21, []),
        Table(["a"], [[1]] * 1001),
        Bars({"a": -1}),
        Bars({"a": "1"}),  # type: ignore[dict-item]
        Bars([("a", 1)]),  # type: ignore[arg-type]
    ],
)
def test_other_values_are_an_error_in_the_place_of_the_section(value: Any) -> None:
    found = stored(value)
    assert (found.columns, found.rows) == ((), ())
    assert found.error.startswith("acme:a: ")


def test_an_error_without_lines_of_the_project_names_its_kind_without_text_of_the_run() -> None:
    # As of a function of an installed package.
    section = Section(title="a", source="acme:a", compute=attrgetter("the answer"))
    registry = replace(BUILT_IN, sections=(section,))
    (found,) = computed_sections(registry, StoredRun(folder=Path("r")), Settings(rootdir="."))
    assert found.error == "acme:a: AttributeError"
