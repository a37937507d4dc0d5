"""Database of the index of runs, shared by processes: connection, tables, version, errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_rageval.analysis.aggregate.case_groups import CASE_OUTCOMES
from pytest_rageval.project.options import VERSIONS
from pytest_rageval.support.closing import Closing
from pytest_rageval.support.sql import NamedErrors, Place, need_sqlalchemy, parse_place
from pytest_rageval.values.errors import ConfigError, StorageError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

_WHAT: Final = "index of runs"
_EXAMPLES: Final = (
    "a path, sqlite:///evals/cache/history.sqlite or postgresql+psycopg://user@host/database"
)
_TOO_LARGE: Final = "54"
"""Class of PostgreSQL's errors about values that are too large."""


class RowError(StorageError):
    """The rows of one run cannot be kept; other runs are not affected."""


class IndexDatabase(Closing):
    """An SQLite file or a PostgreSQL database with the tables of the index; a context manager.

    Args:
        url_or_path: path of an SQLite file, or an SQLAlchemy URL.
        rootdir: base of a relative path.
        write: create missing files and tables, to fill them.
        anew: drop tables of another version.
        patience_s: maximum wait for other writers of the same rows, in seconds.

    Raises:
        ConfigError: the URL cannot be read, is of another kind, or its driver is missing.
        StorageError: the database cannot be opened, or holds another version of the index.
    """

    def __init__(
        self,
        url_or_path: str,
        *,
        rootdir: Path,
        write: bool,
        anew: bool = False,
        patience_s: float = 60.0,
    ) -> None:
        self._place = _find_place(url_or_path, rootdir)
        self.shown: Final = self._place.shown
        """File or URL without credentials and query, for messages."""
        self.is_sqlite: Final = self._place.is_sqlite
        self._write, self._patience_s = write, patience_s
        with self._named_errors():
            self._open(anew=anew)

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        self._connection.close()
        self._connection.engine.dispose()

    @contextmanager
    def transaction(self, lock: str | None = None) -> Iterator[Connection]:
        """Apply several statements together or not at all.

        Args:
            lock: name of the written rows, which no other process may write meanwhile. In SQLite
                one process writes at a time, for any name; None: nothing is written.

        Raises:
            RowError: a row cannot be kept.
            StorageError: any other failure.
        """
        with self._named_errors():
            with self._connection.begin():
                if not self.is_sqlite:
                    self._lock(lock)
                yield self._connection

    def _lock(self, lock: str | None) -> None:
        from sqlalchemy import text

        # For this transaction only, since a connection pool may reuse the session afterwards.
        limit = f"SET LOCAL lock_timeout = {int(self._patience_s * 1000)}"
        self._connection.exec_driver_sql(limit)
        if lock is not None:
            key = {"name": f"rageval:{lock}"}
            statement = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")
            self._connection.execute(statement, key)

    # --- opening -----------------------------------------------------------------------------

    def _open(self, *, anew: bool) -> None:
        from sqlalchemy import event

        if self._place.file is not None:
            self._look_at(self._place.file)

        engine = self._place.engine(patience_s=self._patience_s, write=self._write)
        if self.is_sqlite and self._write:
            event.listen(engine, "begin", lambda held: held.exec_driver_sql("BEGIN IMMEDIATE"))
        with ExitStack() as opened:
            opened.callback(engine.dispose)
            self._connection = opened.enter_context(engine.connect())
            with self.transaction("tables" if self._write else None) as connection:
                if self._write:
                    make_tables(connection, self.shown, anew=anew)
                else:
                    check_tables(connection, self.shown)
            opened.pop_all()

    def _look_at(self, file: Path) -> None:
        if not self._write and not file.exists():
            raise StorageError(f"{self.shown}: there is no such index; rageval runs sync makes one")
        try:
            self._place.make_folder(file)
        except OSError as error:
            reason = error.strerror or str(error)
            raise StorageError(f"{self.shown}: its folder cannot be made: {reason}") from error

    # --- errors ------------------------------------------------------------------------------

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        from sqlalchemy.exc import DataError, DBAPIError, IntegrityError

        with NamedErrors(self._place, "delete the file and sync again"):
            try:
                yield
            except DBAPIError as error:
                state = getattr(error.orig, "sqlstate", None) or ""
                if isinstance(error, DataError | IntegrityError) or state.startswith(_TOO_LARGE):
                    raise RowError(self._place.reason(error)) from error
                raise


def _find_place(text: str, rootdir: Path) -> Place:
    place = parse_place(text, what=_WHAT, examples=_EXAMPLES)
    if not place.is_sqlite:
        return place
    need_sqlalchemy(_WHAT, "history")
    if place.file is None:
        raise ConfigError(f"{_WHAT}: got a database in memory, expected {_EXAMPLES}")
    return Place(file=rootdir / place.file)


INDEX_VERSION: Final = 4
"""1: the first one. 2: marks partial runs. 3: counts flawed cases. 4: has failure stages.

Another version is rebuilt from the folders, not migrated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Tables of the index."""

    version: Table
    runs: Table
    """One row per run."""
    results: Table
    """One row per case and repeat."""
    metrics: Table
    """One row per figure of a run: overall, and of each category, tag, ..."""

    @property
    def of_a_run(self) -> tuple[Table, Table, Table]:
        """Tables with rows of a run, in the order of deletion."""
        return (self.metrics, self.results, self.runs)


@cache
def tables() -> Tables:
    """Return the tables; made once."""
    import sqlalchemy as sa

    metadata = sa.MetaData()
    return Tables(
        version=sa.Table(
            "rageval_history",
            metadata,
            sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
            sa.Column("version", sa.Integer, nullable=False),
        ),
        runs=sa.Table(
            "evaluation_runs",
            metadata,
            *_columns(sa.Text, "project", "run_id", key=True),
            sa.Column("source", sa.Text, nullable=False),
            sa.Column("ran_at", sa.DateTime(timezone=True), nullable=False),
            sa.Column("tags", sa.Text, nullable=False),
            *_columns(sa.Text, "verdict", "judge", "config_hash", "dataset_hash", "git_commit"),
            sa.Column("git_dirty", sa.Boolean),
            *_columns(sa.Text, *VERSIONS, "package_version"),
            *_columns(sa.BigInteger, "metric_definitions_version", "k", "n_cases"),
            *_columns(sa.BigInteger, *CASE_OUTCOMES.values()),
            sa.Column("partial", sa.Boolean, nullable=False),
            sa.Column("has_metrics", sa.Boolean, nullable=False),
            sa.Column("has_records", sa.Boolean, nullable=False),
            *_columns(sa.Text, "unreadable", "config", "stamp", "content_hash", null=False),
            sa.Column("synced_at", sa.DateTime(timezone=True), nullable=False),
        ),
        results=sa.Table(
            "test_results",
            metadata,
            *_columns(sa.Text, "project", "run_id", "file", "case_id", "parameters", key=True),
            sa.Column("repeat", sa.Integer, primary_key=True, autoincrement=False),
            *_columns(sa.Text, "case_hash", "category", "difficulty", "tags"),
            *_columns(sa.Boolean, "answerable", "required", "counted"),
            *_columns(sa.Text, "status", "outcome", "failure_stage", "error_kind"),
            *_columns(sa.BigInteger, "attempts"),
            *_columns(sa.Boolean, "unchecked", "abstained"),
            *_columns(sa.BigInteger, "k"),
            *_columns(sa.Double, "total_ms", "judge_ms", "judge_cost_usd"),
            *_columns(sa.BigInteger, "judge_prompt_tokens", "judge_completion_tokens"),
            sa.Column("metrics", sa.Text, nullable=False),
        ),
        metrics=sa.Table(
            "metrics",
            metadata,
            *_columns(sa.Text, "project", "run_id", "scope", "group_name", "metric", key=True),
            *_columns(sa.Double, "value"),
            *_columns(sa.BigInteger, "n", "n_not_applicable", "n_error"),
            *_columns(sa.Double, "median", "low", "high", "se"),
        ),
    )


def _columns(kind: Any, *names: str, key: bool = False, null: bool = True) -> list[Any]:
    from sqlalchemy import Column

    return [Column(name, kind, primary_key=key, nullable=null and not key) for name in names]


# --- versions --------------------------------------------------------------------------------


def _stored_version(connection: Connection) -> int | None:
    """Return the version of the tables; None: there are none."""
    from sqlalchemy import inspect, select

    table = tables().version
    if not inspect(connection).has_table(table.name):
        return None
    found: int | None = connection.execute(select(table.c.version)).scalar()
    return found


def check_tables(connection: Connection, shown: str) -> None:
    """Refuse a database without an index, or with another version of it.

    Raises:
        StorageError: the database is refused.
    """
    found = _stored_version(connection)
    if found is None:
        raise StorageError(f"{shown}: holds no index of runs; rageval runs sync makes one")
    if found != INDEX_VERSION:
        raise StorageError(
            f"{shown}: an index of version {found!r}, expected {INDEX_VERSION}; rageval runs sync "
            "--rebuild makes it anew, and every other project in it has to sync again"
        )


def make_tables(connection: Connection, shown: str, *, anew: bool) -> None:
    """Make missing tables, or ``anew`` those of another version; other writers are locked out.

    Raises:
        StorageError: another version made them, or other programs own tables of these names.
    """
    from sqlalchemy import inspect

    known = tables()
    found = _stored_version(connection)
    if found is None:
        names = [table.name for table in known.of_a_run]
        taken = [name for name in names if inspect(connection).has_table(name)]
        if taken:
            raise StorageError(
                f"{shown}: holds a table {taken[0]!r} that belongs to no index of runs; name "
                "another file or database, or another schema by ?options=-csearch_path%3DNAME"
            )
    elif found != INDEX_VERSION and anew:
        known.runs.metadata.drop_all(connection)
        found = None
    if found is None:
        known.runs.metadata.create_all(connection)
        connection.execute(known.version.insert().values(id=1, version=INDEX_VERSION))
    check_tables(connection, shown)
