"""JSON Schemas of files and messages, each field described by the docstring below it in the code.

Imported only for schemas, since pydantic is slow to import.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import Any, Final

from pytest_rageval.metrics.registry import Registry
from pytest_rageval.project.case_reader import case_json_schema
from pytest_rageval.project.threshold_keys import thresholds_json_schema
from pytest_rageval.runs.document_schemas import DOCUMENT_SCHEMAS, record_json_schema
from pytest_rageval.target.contract import reply_json_schema
from pytest_rageval.values import case as cases
from pytest_rageval.values import (
    config,
    gate,
    numbers,
    own_metric,
    record,
    reply,
    settings,
    verdict,
)

_MADE: Final[Mapping[str, Callable[[], dict[str, Any]]]] = {
    "case": case_json_schema,
    "reply": reply_json_schema,
    "record": record_json_schema,
    **DOCUMENT_SCHEMAS,
}


def json_schema(kind: str, registry: Registry) -> dict[str, Any]:
    """Return a JSON Schema (2020-12) by the name that ``rageval schema`` has for it.

    Args:
        kind: one of ``KINDS`` of that command.
        registry: metrics that thresholds.toml may name.
    """
    if kind == "thresholds":
        return thresholds_json_schema(registry)
    schema = _MADE[kind]()
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
    for module in (cases, record, reply, numbers, gate, config, own_metric, settings, verdict):
        found |= dict(_classes(module))
    return found


def _classes(module: ModuleType) -> Iterator[tuple[str, dict[str, str]]]:
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ClassDef):
            yield node.name, dict(_fields(node))


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, below in zip(node.body, node.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match below:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    text = " ".join(text.replace("``", "`").split())
                    yield field.target.id, re.sub(r"\bNone\b", "null", text)
