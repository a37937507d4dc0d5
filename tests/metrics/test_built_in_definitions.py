from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from pytest_rageval.metrics.built_in import BUILT_IN, own_definitions, stored_registry
from pytest_rageval.metrics.registry import MetricInfo
from pytest_rageval.values.run import NO_CONFIG, RunConfig

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


def config(**changes: Any) -> RunConfig:
    own = replace(own_definitions(REGISTRY)["acme.words"], **changes)
    return RunConfig(metric_definitions={"acme.words": own})


def test_definitions_come_back_from_config_json() -> None:
    stored = RunConfig(metric_definitions=own_definitions(REGISTRY))
    again = msgspec.json.decode(msgspec.json.encode(stored), type=RunConfig)
    assert (again, stored_registry(again)) == (stored, REGISTRY)
    assert [*again.metric_definitions] == ["acme.words", "acme.distinct"]
    assert stored_registry(NO_CONFIG) is BUILT_IN


def test_a_definition_without_a_scale_is_left_out() -> None:
    assert stored_registry(config(scale=(2, 1))) is BUILT_IN


def test_a_stored_definition_takes_no_name_of_the_package() -> None:
    found = own_definitions(REGISTRY)["acme.words"]
    for key in ("mrr", "quality.tone", "tone"):
        assert stored_registry(RunConfig(metric_definitions={key: found})) is BUILT_IN


def test_texts_of_a_definition_are_shown_on_one_line_without_control_characters() -> None:
    (own,) = stored_registry(config(title="a\x1b[31m\nb", population="\u202ec")).own.values()
    assert (own.title, own.population) == ("a b", "c")


def test_the_definition_of_the_later_run_holds_and_that_of_a_run_before_the_projects() -> None:
    found = stored_registry(config(version="1"), config(version="3"), project=REGISTRY)
    assert found.own["acme.words"].version == "3"
    assert [*found.own] == ["acme.words", "acme.distinct"]
