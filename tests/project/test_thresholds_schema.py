from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.project.threshold_keys import (
    CASES,
    DEFAULTS,
    LIMIT,
    TABLES,
    TOP,
    thresholds_json_schema,
)
from pytest_rageval.project.thresholds import parse_thresholds
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.record import STAGES

SCHEMA = thresholds_json_schema()


def leaves(schema: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for key, inner in schema["properties"].items():
        if "$ref" in inner:
            yield prefix + key
        else:
            yield from leaves(inner, f"{prefix}{key}.")


def accepts(text: str) -> bool:
    try:
        parse_thresholds(text, display="t")
    except ConfigError:
        return False
    return True


def test_the_schema_knows_the_keys_that_the_parser_knows() -> None:
    properties = SCHEMA["properties"]
    assert set(properties) == {*TOP, *TABLES}
    assert set(properties["cases"]["properties"]) == set(CASES)
    assert set(properties["defaults"]["properties"]) == set(DEFAULTS)
    assert set(SCHEMA["$defs"]["limit"]["anyOf"][1]["properties"]) == set(LIMIT)


def test_overall_may_limit_every_metric_of_cases_and_runs() -> None:
    assert set(leaves(SCHEMA["$defs"]["overall"])) == {
        *BUILT_IN.cases,
        *BUILT_IN.runs,
        *BUILT_IN.aliases,
    }


def test_a_group_may_limit_every_metric_of_cases_and_count_stages() -> None:
    stages = {f"stage.{stage}" for stage in STAGES}
    assert set(leaves(SCHEMA["$defs"]["group"])) == {*BUILT_IN.cases, *BUILT_IN.aliases, *stages}


@pytest.mark.parametrize("key", list(leaves(SCHEMA["$defs"]["group"])))
def test_the_parser_accepts_a_metric_of_a_group(key: str) -> None:
    assert accepts(f"[category.x]\n{key} = '>= 0'")
