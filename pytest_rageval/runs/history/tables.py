"""The tables of the index, and the version of them in a database."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from pytest_rageval.support.sql import stored_version, version_table
from pytest_rageval.values.errors import StorageError

if TYPE_CHECKING:
    from sqlalchemy import Connection, MetaData, Table

INDEX_VERSION: Final = 2
"""1: the first one. 2: marks partial runs.

Another version is rebuilt from the folders, not migrated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Tables of the index."""

    version: Table
    runs: Table
    """One row a run."""
    results: Table
    """One row a case and repeat."""
    metrics: Table
    """One row a figure of a run: overall, and of each category, tag, ..."""

    @property
    def metadata(self) -> MetaData:
        """All of them."""
        return self.runs.metadata

    @property
    def of_a_run(self) -> tuple[Table, Table, Table]:
        """Those with rows of a run, in the order to delete them in."""
        return (self.metrics, self.results, self.runs)


@cache
def tables() -> Tables:
    """Return the tables; made once."""
    from sqlalchemy import Boolean, Column, DateTime, Integer, MetaData, Table, Text

    metadata = MetaData()
    return Tables(
        version=version_table("rageval_history", metadata),
        runs=Table(
            "evaluation_runs",
            metadata,
            *_key("project", "run_id"),
            Column("source", Text, nullable=False),
            Column("ran_at", DateTime(timezone=True), nullable=False),
            Column("tags", Text, nullable=False),
            *_texts("verdict", "judge", "config_hash", "dataset_hash", "git_commit"),
            Column("git_dirty", Boolean),
            *_texts(
                "dataset_version", "index_build_version", "retriever_version", "answerer_version"
            ),
            *_texts("package_version"),
            *_counts("metric_definitions_version", "k"),
            *_counts("n_cases", "passed", "missed", "errored", "unchecked"),
            Column("partial", Boolean, nullable=False),
            Column("has_metrics", Boolean, nullable=False),
            Column("has_records", Boolean, nullable=False),
            Column("unreadable", Text, nullable=False),
            Column("config", Text, nullable=False),
            Column("stamp", Text, nullable=False),
            Column("content_hash", Text, nullable=False),
            Column("synced_at", DateTime(timezone=True), nullable=False),
        ),
        results=Table(
            "test_results",
            metadata,
            *_key("project", "run_id", "file", "case_id", "parameters"),
            Column("repeat", Integer, primary_key=True, autoincrement=False),
            *_texts("case_hash", "category", "difficulty", "tags"),
            Column("answerable", Boolean),
            Column("required", Boolean),
            Column("counted", Boolean),
            *_texts("status", "outcome", "failure_stage", "error_kind"),
            *_counts("attempts"),
            Column("unchecked", Boolean),
            Column("abstained", Boolean),
            *_counts("k"),
            *_numbers("total_ms", "judge_ms", "judge_cost_usd"),
            *_counts("judge_prompt_tokens", "judge_completion_tokens"),
            Column("metrics", Text, nullable=False),
        ),
        metrics=Table(
            "metrics",
            metadata,
            *_key("project", "run_id", "scope", "group_name", "metric"),
            *_numbers("value"),
            *_counts("n", "n_not_applicable", "n_error"),
            *_numbers("median", "low", "high", "se"),
        ),
    )


def _key(*names: str) -> list[Any]:
    from sqlalchemy import Column, Text

    return [Column(name, Text, primary_key=True) for name in names]


def _texts(*names: str) -> list[Any]:
    from sqlalchemy import Column, Text

    return [Column(name, Text) for name in names]


def _counts(*names: str) -> list[Any]:
    from sqlalchemy import BigInteger, Column

    return [Column(name, BigInteger) for name in names]


def _numbers(*names: str) -> list[Any]:
    from sqlalchemy import Column, Double

    return [Column(name, Double) for name in names]


# --- versions --------------------------------------------------------------------------------


def check_tables(connection: Connection, shown: str) -> None:
    """Refuse a database without an index, or with one of another version.

    Raises:
        StorageError: the database is refused.
    """
    found = stored_version(connection, tables().version)
    if found is None:
        raise StorageError(f"{shown}: holds no index of runs; rageval runs sync makes one")
    if found != INDEX_VERSION:
        raise StorageError(
            f"{shown}: an index of version {found!r}, expected {INDEX_VERSION}; rageval runs sync "
            "--rebuild makes it anew, and every other project in it has to sync again"
        )


def make_tables(connection: Connection, shown: str, *, anew: bool) -> None:
    """Make missing tables; within a transaction that locks out other writers.

    Args:
        connection: of the database.
        shown: its name, for messages.
        anew: drop those of another version first.

    Raises:
        StorageError: another version made them, or other programs own tables of these names.
    """
    from sqlalchemy import inspect

    known = tables()
    found = stored_version(connection, known.version)
    if found is None:
        names = [table.name for table in known.of_a_run]
        taken = [name for name in names if inspect(connection).has_table(name)]
        if taken:
            raise StorageError(
                f"{shown}: holds a table {taken[0]!r} that belongs to no index of runs; name "
                "another file or database, or another schema by ?options=-csearch_path%3DNAME"
            )
    elif found != INDEX_VERSION and anew:
        known.metadata.drop_all(connection)
        found = None
    if found is None:
        known.metadata.create_all(connection)
        connection.execute(known.version.insert().values(id=1, version=INDEX_VERSION))
    check_tables(connection, shown)
