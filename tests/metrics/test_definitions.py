from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.definitions import (
    METRIC_DEFINITIONS,
    definitions_document,
    stored_registry,
)
from pytest_rageval.metrics.registry import MetricInfo

OPEN = MetricInfo(
    key="acme.words",
    title="Words of the answer",
    direction="lower",
    scale=(0.0, None),
    population="answers",
    level="own",
    version="2",
    source="acme.metrics",
)
TOTAL = MetricInfo(
    key="acme.distinct", title="Distinct", population="cases", level="run", source="acme.metrics"
)
REGISTRY = BUILT_IN.with_([OPEN, TOTAL])


def config(**changes: Any) -> dict[str, Any]:
    stored: dict[str, Any] = json.loads(json.dumps(definitions_document(REGISTRY)))
    return {METRIC_DEFINITIONS: {"acme.words": stored["acme.words"] | changes}}


def test_definitions_come_back_from_config_json() -> None:
    stored = json.loads(json.dumps({METRIC_DEFINITIONS: definitions_document(REGISTRY)}))
    assert stored_registry(stored) == REGISTRY
    assert [*stored[METRIC_DEFINITIONS]] == ["acme.words", "acme.distinct"]
    assert definitions_document(BUILT_IN) == {}


@pytest.mark.parametrize("older", [{}, {METRIC_DEFINITIONS: None}, {METRIC_DEFINITIONS: []}])
def test_a_run_without_definitions_has_the_built_in_metrics(older: dict[str, Any]) -> None:
    assert stored_registry(older) is BUILT_IN


@pytest.mark.parametrize(
    "changes",
    [
        {"direction": "up"},
        {"direction": ["higher"]},
        {"scale": [1]},
        {"scale": [None, 1]},
        {"scale": [2, 1]},
        {"scale": ["0", "1"]},
        {"level": "anchor"},
        {"level": None},
    ],
)
def test_a_definition_that_another_tool_wrote_badly_is_left_out(changes: dict[str, Any]) -> None:
    assert stored_registry(config(**changes)) is BUILT_IN


def test_a_stored_definition_takes_no_name_of_the_package() -> None:
    found = definitions_document(REGISTRY)["acme.words"]
    for key in ("mrr", "quality.tone", "tone"):
        assert stored_registry({METRIC_DEFINITIONS: {key: found}}) is BUILT_IN
    (own,) = stored_registry(config(source="built-in")).own.values()
    assert (own.source, own.built_in) == ("unknown", False)


def test_texts_of_a_definition_are_shown_on_one_line_without_control_characters() -> None:
    (own,) = stored_registry(config(title="a\x1b[31m\nb", population="\u202ec")).own.values()
    assert (own.title, own.population) == ("a b", "c")


def test_the_definition_of_the_later_run_holds_and_that_of_a_run_before_the_projects() -> None:
    found = stored_registry(config(version="1"), config(version="3"), project=REGISTRY)
    assert found.own["acme.words"].version == "3"
    assert [*found.own] == ["acme.words", "acme.distinct"]
