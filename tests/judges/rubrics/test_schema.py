"""The quick check of replies, compared with the library's."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.judges.rubrics.load import load_rubric
from pytest_rageval.judges.rubrics.schema import define_metrics, fits, schema_faults, validator
from pytest_rageval.metrics.registry import MetricInfo
from pytest_rageval.values.verdict import RUBRICS
from tests.judges.rubrics.test_reply import FULL, JSON

ENDS = st.sampled_from([{}, {"minimum": 0}, {"maximum": 5}, {"minimum": 0, "maximum": 5}])
LISTED = st.sampled_from([{"enum": [1, 3]}, {"enum": [0.5, 4, 2.0]}])
SCORES = st.builds(
    lambda kind, rest: {"type": kind, **rest},
    st.sampled_from(["number", "integer"]),
    st.one_of(ENDS, LISTED),
)
PLAIN = st.sampled_from(
    [{"type": "boolean"}, {"type": "string"}, {"type": "string", "enum": ["x"]}]
)


def _object(inner: dict[str, Any], required: set[str], closed: bool) -> dict[str, Any]:
    made = {"type": "object", "properties": inner, "required": sorted(required & inner.keys())}
    return {**made, "additionalProperties": False} if closed else made


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.sampled_from(["a", "b", ""])
    sizes = st.dictionaries(st.sampled_from(["minItems", "maxItems"]), st.integers(0, 3))
    return st.one_of(
        st.builds(lambda items, n: {"type": "array", "items": items, **n}, inner, sizes),
        st.builds(
            _object, st.dictionaries(names, inner, min_size=1), st.sets(names), st.booleans()
        ),
    )


SCHEMAS = st.recursive(SCORES | PLAIN, _nested, max_leaves=5)
VALUES = st.recursive(
    JSON,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "b", ""]), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(VALUES, SCHEMAS)
def test_a_value_fits_where_the_library_finds_it_valid(value: Any, schema: Any) -> None:
    assert fits(value, schema) == validator(schema).is_valid(value)


@pytest.mark.parametrize("name", RUBRICS)
def test_a_whole_reply_fits(name: str) -> None:
    schema = load_rubric(name).schema
    assert fits(FULL[name], schema)
    assert validator(schema).is_valid(FULL[name])
    for field in schema["required"]:
        assert not fits({**FULL[name], field: None}, schema)


@pytest.mark.parametrize("name", RUBRICS)
def test_the_schemas_of_the_package_are_sound(name: str) -> None:
    assert list(schema_faults(load_rubric(name).schema)) == []


# ---


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
