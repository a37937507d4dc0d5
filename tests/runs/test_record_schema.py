from __future__ import annotations

import json
from pathlib import Path

import jsonschema

from pytest_rageval.runs.record_schema import record_json_schema

FORMATS = Path(__file__).resolve().parents[1] / "data" / "formats"


def test_stored_records_of_every_format_are_valid() -> None:
    validator = jsonschema.Draft202012Validator(record_json_schema())
    texts = [path.read_text(encoding="utf-8") for path in FORMATS.rglob("results.jsonl")]
    lines = [json.loads(line) for text in texts for line in text.splitlines()]
    assert lines
    assert [fault.message for one in lines for fault in validator.iter_errors(one)] == []
    assert not validator.is_valid({**lines[0], "case_id": 3})
