from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.judges.rubrics.schema import define_metrics
from pytest_rageval.metrics.registry import MetricInfo


def defined(**inner: Any) -> MetricInfo:
    schema = {"type": "object", "properties": {"big_fun": inner}, "required": ["big_fun"]}
    keys = {"big_fun": "tone.big_fun"}
    (found,) = define_metrics(schema, keys, version="tone-1", source="e/tone.jinja")
    return found


@pytest.mark.parametrize(
    ("inner", "scale", "binary"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 5}, (1.0, 5.0), False),
        ({"type": "integer", "minimum": 0, "maximum": 1}, (0.0, 1.0), False),
        ({"type": "number", "enum": [3, 1, 2]}, (1.0, 3.0), False),
        ({"type": "integer", "enum": [1, 0]}, (0.0, 1.0), True),
        ({"type": "boolean"}, (0.0, 1.0), True),
    ],
)
def test_the_scale_is_that_of_the_schema(
    inner: dict[str, Any], scale: tuple[float, float], binary: bool
) -> None:
    found = defined(**inner)
    assert (found.key, found.scale, found.binary) == ("tone.big_fun", scale, binary)
    assert (found.level, found.version, found.source) == ("judged", "tone-1", "e/tone.jinja")


def test_a_property_that_may_be_missing_says_so_in_its_population() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "boolean"}}}
    (found,) = define_metrics(schema, {"a": "tone.a"}, version="1", source="e/tone.jinja")
    assert found.population.endswith("the judge gives this score")
