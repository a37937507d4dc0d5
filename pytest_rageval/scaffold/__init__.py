"""A working project to start from: cases, notes, limits and a CI job."""

from __future__ import annotations

from pytest_rageval.scaffold.plan import Addition, PlannedFile, Scaffold, plan_scaffold
from pytest_rageval.scaffold.writing import ScaffoldError, Written, read_project, write_scaffold

__all__ = [
    "Addition",
    "PlannedFile",
    "Scaffold",
    "ScaffoldError",
    "Written",
    "plan_scaffold",
    "read_project",
    "write_scaffold",
]
