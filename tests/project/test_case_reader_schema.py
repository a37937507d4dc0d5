"""Fields of a line of a case file in its JSON Schema."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from pytest_rageval.project.case_reader import case_json_schema
from pytest_rageval.values.case import LABEL_PATTERN, Anchor, Case


def test_the_schema_knows_every_field_and_its_default() -> None:
    schema = case_json_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert (schema["additionalProperties"], schema["required"]) == (False, ["id"])
    assert schema["oneOf"] == [{"required": ["question"]}, {"required": ["turns"]}]
    assert schema["$defs"]["Anchor"]["additionalProperties"] is False
    assert schema["properties"]["id"]["pattern"] == LABEL_PATTERN
    for kind, made in ((Case, schema), (Anchor, schema["$defs"]["Anchor"])):
        least: dict[str, Any] = dict.fromkeys(made["required"], "a")
        values = json.loads(json.dumps(dataclasses.asdict(kind(**least))))
        values.pop("talk", None)  # not of a line
        properties = made["properties"].items()
        assert {name: one.get("default", values[name]) for name, one in properties} == values
