"""JSON Schemas of files and messages, each field described by the docstring below it in the code.

Imported only for schemas, since pydantic is slow to import.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cache
from types import ModuleType
from typing import Any, Final

from pydantic import TypeAdapter

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.project.case_reader import case_json_schema
from pytest_rageval.project.threshold_keys import thresholds_json_schema
from pytest_rageval.target.contract import reply_json_schema
from pytest_rageval.values import (
    baseline,
    gate,
    headline,
    numbers,
    own_code,
    record,
    reply,
    run,
    settings,
    verdict,
)
from pytest_rageval.values import case as cases

FILES: Final[Mapping[str, type]] = {
    "record": record.CaseRecord,
    "config": run.RunConfig,
    "metrics": numbers.Aggregate,
    "groups": numbers.LocalNumbers,
    "gate": gate.GateResult,
}
"""Types that the files of a run are written from; a record is a line of ``results.jsonl``."""


def json_schema(kind: str, registry: Registry = BUILT_IN) -> dict[str, Any]:
    """Return a JSON Schema (2020-12) by the name that ``rageval schema`` has for it.

    Args:
        kind: one of ``KINDS`` of that command.
        registry: metrics that thresholds.toml may name.
    """
    if kind == "thresholds":
        return thresholds_json_schema(registry)
    if kind in FILES:
        schema = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            **TypeAdapter(FILES[kind]).json_schema(),
        }
    else:
        schema = case_json_schema() if kind == "case" else reply_json_schema()
    if kind == "groups":
        schema["properties"]["schema_version"] = {"type": "integer"}
    for local in fields(numbers.LocalNumbers) if kind == "metrics" else ():
        del schema["properties"][local.name]
    for one in (schema, *schema.get("$defs", {}).values()):
        docs = _field_docs().get(one.get("title", ""), {})
        for name, field in one.get("properties", {}).items():
            if name in docs:
                field.setdefault("description", docs[name])
    return schema


@cache
def _field_docs() -> Mapping[str, Mapping[str, str]]:
    """Return the descriptions of fields by type, under the names that schemas have for them."""
    found: dict[str, dict[str, str]] = {}
    modules = (
        *(cases, record, reply, numbers, gate, baseline, headline, run, own_code, settings),
        verdict,
    )
    for module in modules:
        found |= _classes(module)
    return found


def _classes(module: ModuleType) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ClassDef):
            of_base = [found.get(base.id, {}) for base in node.bases if isinstance(base, ast.Name)]
            found[node.name] = dict(ChainMap(dict(_fields(node)), *of_base))
    return found


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, below in zip(node.body, node.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match below:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    text = " ".join(text.replace("``", "`").split())
                    yield field.target.id, re.sub(r"\bNone\b", "null", text)
