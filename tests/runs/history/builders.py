"""Runs with all their figures on disk, and what an index says of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_rageval.runs.history.database import IndexDatabase
from pytest_rageval.runs.history.sync import Origin, RunIndex, SyncResult
from pytest_rageval.values.record import CaseRecord
from tests.build.postgres import execute
from tests.build.records import failed
from tests.build.runs import scored, write_run
from tests.build.verdicts import called

RESULTS = Path("evals/results")
TABLES = ("evaluation_runs", "test_results", "metrics", "rageval_history")
OURS = Origin(project="acme/bot", source="here")


def cases(n: int = 6, missed: Sequence[int] = (), **fields: Any) -> list[CaseRecord]:
    """Records of n cases in two categories and two tags, the last of them an error."""
    found = [
        scored(
            f"c-{i:03}",
            float(i not in missed),
            category="multi_hop" if i % 2 else "factual",
            tags=("work", "old") if i % 3 else ("old",),
            failure_stage="not_retrieved" if i in missed else None,
            judgements=called(10),
            **fields,
        )
        for i in range(n - 1)
    ]
    return [*found, failed(f"c-{n - 1:03}", case_hash="e-content", category="factual")]


def some_runs(n: int = 3) -> None:
    """Write n runs that differ in what they miss."""
    for day in range(1, n + 1):
        write_run(RESULTS, f"r{day}", cases(missed=range(day % 4)), day=day)


def sync(url: str, *, rebuild: bool = False, origin: Origin = OURS) -> SyncResult:
    """Sync the folders of the project in hand."""
    root = Path.cwd()
    with IndexDatabase(url, rootdir=root, write=True, anew=rebuild) as database:
        return RunIndex(database, origin, root / RESULTS).sync(rebuild=rebuild)


def rows(url: str, table: str, columns: str = "*", rest: str = "") -> list[tuple[Any, ...]]:
    """Return what is in a table of an index, past everything that wrote it."""
    statement = f"SELECT {columns} FROM {table} {rest}"
    if url.startswith("postgresql"):
        return execute(url, statement)
    connection = sqlite3.connect(url)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


def change(url: str, statement: str) -> None:
    """Change an index by hand."""
    if url.startswith("postgresql"):
        execute(url, statement)
        return
    connection = sqlite3.connect(url)
    with connection:
        connection.execute(statement)
    connection.close()


def indexed_runs(url: str, project: str = "acme/bot") -> list[str]:
    """Return the ids of the runs of a project."""
    found = rows(url, "evaluation_runs", "run_id", f"WHERE project = '{project}'")
    return sorted(row[0] for row in found)
