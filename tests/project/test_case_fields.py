"""Fields of a line of a case file, and their schema."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, get_args

from pytest_rageval.project.case_fields import AnchorLine, CaseLine, case_json_schema
from pytest_rageval.project.case_rules import ID_PATTERN
from pytest_rageval.support.jsonl import what_is_expected
from pytest_rageval.values.case import Anchor, Case, Difficulty, RecencyRule, Review


def test_the_fields_of_a_line_are_those_of_the_values() -> None:
    assert [*CaseLine.__annotations__] == [field.name for field in dataclasses.fields(Case)]
    assert [*AnchorLine.__annotations__] == [field.name for field in dataclasses.fields(Anchor)]


def test_every_field_of_a_line_says_what_it_takes() -> None:
    words = {name: what_is_expected(CaseLine, (name,)) for name in CaseLine.__annotations__}
    words |= {
        name: what_is_expected(CaseLine, ("gold_supports", 0, name))
        for name in AnchorLine.__annotations__
    }
    assert all(said for said, _ in words.values())
    assert {name: choices for name, (_, choices) in words.items() if choices} == {
        "recency_conflict_rule": get_args(RecencyRule),
        "difficulty": get_args(Difficulty),
        "review": get_args(Review),
    }
    assert words["k"] == ("null or an integer of at least 1", ())
    assert words["review"][0] == "reviewed or generated"
    assert words["tags"][0] == "a list of strings"
    assert what_is_expected(CaseLine, ("tags", 3)) == (
        "a string without spaces, '[', ']' or '::'",
        (),
    )
    assert what_is_expected(CaseLine, ("gold_supports", 1, "snippets", 0)) == (
        "a string that is not blank",
        (),
    )


def test_the_schema_knows_every_field_its_default_and_what_it_is_for() -> None:
    schema = case_json_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert (schema["additionalProperties"], schema["required"]) == (False, ["id", "question"])
    assert schema["$defs"]["AnchorLine"]["additionalProperties"] is False
    assert schema["properties"]["id"]["pattern"] == ID_PATTERN
    for kind, made in ((Case, schema), (Anchor, schema["$defs"]["AnchorLine"])):
        properties = made["properties"]
        assert all(properties[field.name]["description"] for field in dataclasses.fields(kind))
        least: dict[str, Any] = dict.fromkeys(made["required"], "a")
        values = json.loads(json.dumps(dataclasses.asdict(kind(**least))))
        assert {name: one.get("default", "a") for name, one in properties.items()} == values
