"""JSON Schemas of the files of a run, made from the types that they are written from.

Imported only for schemas, since pydantic is slow to import.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Final

from pydantic import TypeAdapter

from pytest_rageval.values.config import RunConfig
from pytest_rageval.values.gate import GateResult
from pytest_rageval.values.numbers import Aggregate, LocalNumbers
from pytest_rageval.values.record import CaseRecord

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def config_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of ``config.json``."""
    return _schema(RunConfig)


def metrics_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of ``metrics.json``."""
    schema = _schema(Aggregate)
    for one in fields(LocalNumbers):
        del schema["properties"][one.name]
    return schema


def groups_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of ``groups.json``."""
    schema = _schema(LocalNumbers)
    schema["properties"]["schema_version"] = {"type": "integer"}
    return schema


def gate_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of ``gate.json``."""
    return _schema(GateResult)


def record_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of one line of ``results.jsonl``."""
    return _schema(CaseRecord)


def _schema(type_: type) -> dict[str, Any]:
    return {"$schema": _DIALECT, **TypeAdapter(type_).json_schema()}


DOCUMENT_SCHEMAS: Final[Mapping[str, Callable[[], dict[str, Any]]]] = {
    "config": config_json_schema,
    "metrics": metrics_json_schema,
    "groups": groups_json_schema,
    "gate": gate_json_schema,
}
"""By the name of the document."""
