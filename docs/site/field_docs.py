"""Descriptions of fields: the docstrings below them in the package's values."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from types import ModuleType

from pytest_rageval.runs.record_json import PARTS
from pytest_rageval.values import case as cases
from pytest_rageval.values import gate, numbers, record, reply

Docs = dict[str, dict[str, str]]
"""Description by class and field."""

_OF_REPLY = {"UsualReply": "AskResponse", "Debug": "AskResponse", "Folders": "FolderSelection"}
_OF_REPLY |= {"Chunk": "RetrievedChunk", "Reference": "Citation"}
_OF_PART = {"case": "Case", "response": "AskResponse", "scores": "CaseScores"}
_OF_PART |= {"verdicts": "CaseVerdicts"}


def field_docs() -> Docs:
    """Return the descriptions of fields by type, under the names that schemas have for them."""
    found: Docs = {}
    for module in (cases, record, reply, numbers, gate):
        found |= dict(_classes(module))
    found |= {name: found[own] for name, own in _OF_REPLY.items()}
    line = dict(found["CaseRecord"])
    for part, names in PARTS.items():
        own = found.get(_OF_PART[part], {})
        line |= {name: own[field] for name, field in names.items() if field in own}
    return {
        **found,
        "Record": line,
        "Metrics": found["Aggregate"],
        "Latency": found["LatencySummary"],
    }


def _classes(module: ModuleType) -> Iterator[tuple[str, dict[str, str]]]:
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ClassDef):
            yield node.name, dict(_fields(node))


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, below in zip(node.body, node.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match below:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield field.target.id, " ".join(text.replace("``", "`").split())
