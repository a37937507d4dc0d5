"""JSON Schema of a line of ``results.jsonl``, made from the types of a record.

Imported only for schemas, since pydantic is slow to import.
"""

from __future__ import annotations

from typing import Any, get_type_hints

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from pytest_rageval.runs.record_json import LINE_FIELDS, OPTIONAL_FIELDS, PART_TYPES, PARTS
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseRecord


def record_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of one line of ``results.jsonl``.

    Fields beyond it are allowed, since later versions add some; a field of the reply is null where
    the case has none.
    """
    hints: dict[str, Any] = {**get_type_hints(CaseRecord), "schema_version": int}
    for part, names in PARTS.items():
        own = get_type_hints(PART_TYPES[part])
        nullable = part == "response"
        hints |= {line: own[name] | None if nullable else own[name] for line, name in names.items()}
    hints |= {"case": Case | None}
    fields = ("schema_version", *LINE_FIELDS, "case", "parameters", *OPTIONAL_FIELDS)
    line = TypedDict("Record", {name: hints[name] for name in fields}, total=False)  # type: ignore[misc]
    schema = TypeAdapter(line).json_schema()
    schema["required"] = ["schema_version", "case_id", "status", "metrics"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
