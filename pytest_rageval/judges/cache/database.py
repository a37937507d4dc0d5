"""Database of the judge cache, shared by processes and threads: connections, tables, errors.

A file of SQLite, by the standard library alone.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, TypeVar

from pytest_rageval.support import sqlite
from pytest_rageval.values.errors import StorageError

T = TypeVar("T")

BUSY_S: Final = 30.0
"""Maximum wait for other writers in seconds; a write takes less than a millisecond."""
CACHE_VERSION: Final = 1
"""1: the first one. Another version is refused, not migrated: a cache can be created again."""
_UNWRITABLE: Final = frozenset(
    {sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}
)

# --- statements ----------------------------------------------------------------------------

_VERSION: Final = "rageval_judge_cache"
_VERDICTS: Final = "rageval_judge_verdicts"
_LEVELS: Final = "rageval_judge_levels"
_TABLES: Final = (
    f"CREATE TABLE IF NOT EXISTS {_LEVELS} (key VARCHAR(64) NOT NULL, document TEXT NOT NULL,"
    " PRIMARY KEY (key))",
    f"CREATE TABLE IF NOT EXISTS {_VERDICTS} (key VARCHAR(64) NOT NULL, identity TEXT NOT NULL,"
    " document TEXT NOT NULL, created_at BIGINT NOT NULL, used_at BIGINT NOT NULL,"
    " PRIMARY KEY (key))",
    f"CREATE TABLE IF NOT EXISTS {_VERSION} (id INTEGER NOT NULL, version INTEGER NOT NULL,"
    " PRIMARY KEY (id))",
)
_PUT_VERSION: Final = (
    f"INSERT INTO {_VERSION} (id, version) VALUES (1, {CACHE_VERSION}) ON CONFLICT DO NOTHING"
)
_STORED_VERSION: Final = f"SELECT version FROM {_VERSION}"
_CHANGE_NOTHING: Final = f"UPDATE {_VERSION} SET id = 1 WHERE 1 = 0"
GET: Final = f"SELECT document, used_at FROM {_VERDICTS} WHERE key = :key"
# An update, so that the next answer replaces an entry that cannot be read.
PUT: Final = (
    f"INSERT INTO {_VERDICTS} (key, identity, document, created_at, used_at)"
    " VALUES (:key, :identity, :document, :used_at, :used_at) ON CONFLICT (key) DO UPDATE SET"
    " identity = excluded.identity, document = excluded.document,"
    " created_at = excluded.created_at, used_at = excluded.used_at"
)
GET_LEVEL: Final = f"SELECT document FROM {_LEVELS} WHERE key = :key"
PUT_LEVEL: Final = (
    f"INSERT INTO {_LEVELS} (key, document) VALUES (:key, :document)"
    " ON CONFLICT (key) DO UPDATE SET document = excluded.document"
)
NOTE_USE: Final = f"UPDATE {_VERDICTS} SET used_at = :now WHERE key = :key"
COUNT: Final = (
    "SELECT identity, count(*), sum(length(document)), min(used_at), max(used_at)"
    f" FROM {_VERDICTS} GROUP BY identity ORDER BY identity"
)
"""Per judge: entries, size, oldest and newest use."""
SHRINK: Final = "VACUUM"
DELETE: Final = (
    f"DELETE FROM {_VERDICTS} WHERE (CAST(:identity AS TEXT) IS NULL OR identity = :identity)"
    " AND (CAST(:before AS BIGINT) IS NULL OR used_at <= :before)"
)
"""Entries of one judge (None: all) last used before a time (None: ever)."""


class Session:
    """A connection to a file; every call is its own transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def fetch(self, sql: str, values: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
        """Return all rows of a query."""
        return self._connection.execute(sql, values).fetchall()

    def change(self, sql: str, rows: Sequence[Mapping[str, Any]]) -> int:
        """Run a statement that writes, once for each of its values; return the rows affected."""
        if len(rows) == 1:
            return self._connection.execute(sql, rows[0]).rowcount
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            return self._connection.executemany(sql, rows).rowcount

    def has_version(self) -> bool:
        """Return whether the tables are there."""
        found = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = :name"
        return bool(self.fetch(found, {"name": _VERSION}))

    def create(self) -> None:
        """Make the tables."""
        for statement in _TABLES:
            self._connection.execute(statement)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _prepare(session: Session, file: Path, *, writable: bool) -> None:
    """Make the tables where they are missing, and refuse those of another version.

    Raises:
        StorageError: another version made them.
        sqlite3.OperationalError: the file cannot be written.
    """
    found = _version(session)
    if found is None and writable:
        session.create()
        session.change(_PUT_VERSION, [{}])
        found = _version(session)
    if found is None:
        raise StorageError(f"{file}: holds no judge cache, and none can be made in it")
    if found != CACHE_VERSION:
        raise StorageError(
            f"{file}: a judge cache of version {found!r}, expected {CACHE_VERSION}; delete "
            "the file, and what it held is asked again"
        )
    if writable:
        # SQLite also opens a file that it may not write; only a write shows it.
        session.change(_CHANGE_NOTHING, [{}])


def _version(session: Session) -> Any:
    """Return the version of the tables; None: they are missing."""
    rows = session.fetch(_STORED_VERSION, {}) if session.has_version() else ()
    return rows[0][0] if rows else None


class Database:
    """An SQLite file; every statement is its own transaction.

    One connection under a lock serves all threads: a statement takes well under a millisecond,
    and a judge's answer takes seconds.

    Args:
        file: where it is, or will be made.

    Raises:
        StorageError: the database cannot be opened, or another version made its tables.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self.shown: Final = str(file)
        """File, for messages."""
        self.warning: str | None = None
        """One line for the user about data that is not kept; None: no problem."""
        self.writable = True
        self._lock = threading.Lock()
        self._session: Session | None = None
        with self._named_errors():
            self._open()

    def _named_errors(self) -> AbstractContextManager[None]:
        return sqlite.named_errors(self.shown, "delete the file, and what it held is asked again")

    def warn(self, text: str) -> None:
        """Store the first problem as the warning for the user."""
        self.warning = self.warning or f"{self.shown}: {text}"

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

    # --- statements ------------------------------------------------------------------------

    def read(self, sql: str, **values: Any) -> Sequence[Sequence[Any]]:
        """Return all rows of a query.

        Raises:
            StorageError: the query failed.
        """
        return self._call(lambda session: session.fetch(sql, values))

    def change(self, sql: str, *rows: Mapping[str, Any]) -> int:
        """Run a statement that writes, once for each of its values, all of them or none.

        Returns:
            Number of rows affected.

        Raises:
            StorageError: it failed.
        """
        return self._call(lambda session: session.change(sql, rows))

    def _call(self, statement: Callable[[Session], T]) -> T:
        with self._named_errors(), self._lock:
            return statement(self.check_open())

    def keep(self, sql: str, *rows: Mapping[str, Any]) -> bool:
        """Run a statement that writes, if the database can be written; return whether it ran.

        The first failure stops all writing and becomes the warning: a full disk should not end a
        run whose verdicts are paid for.

        Raises:
            StorageError: the file is broken.
        """
        if not self.writable:
            return False
        try:
            self.change(sql, *rows)
        except StorageError as error:
            cause = error.__cause__
            if not isinstance(cause, sqlite.DRIVER_ERRORS) or sqlite.is_broken(cause):
                raise
            self._stop_writing(sqlite.reason(cause))
            return False
        return True

    def check_open(self) -> Session:
        """Return the connection.

        Raises:
            StorageError: the cache is closed.
        """
        if self._session is None:
            raise StorageError(f"{self.shown}: the cache is closed")
        return self._session

    # --- opening ---------------------------------------------------------------------------

    def _open(self) -> None:
        file = self._file
        try:
            sqlite.make_folder(file)
        except (FileExistsError, NotADirectoryError):
            raise StorageError(f"{self.shown}: a file stands where its folder should be") from None
        except OSError as error:
            self._open_read_only(file, error.strerror or str(error))
            return
        try:
            self._session = self._connect(write=True, prepare=True)
        except sqlite3.OperationalError as error:
            if sqlite.result_code(error) not in _UNWRITABLE:
                raise
            self._open_read_only(file, sqlite.reason(error))

    def _open_read_only(self, file: Path, reason: str) -> None:
        """Open the file without permission to write it or its folder; empty without a file."""
        self._stop_writing(reason)
        try:
            self._session = self._connect(write=False, prepare=not file.exists())
        except sqlite3.OperationalError as error:
            raise StorageError(
                f"{self.shown}: can be neither written nor read: {reason}"
            ) from error

    def _stop_writing(self, reason: str) -> None:
        self.writable = False
        self.warn(f"new verdicts are not kept: {reason}")

    def _connect(self, *, write: bool, prepare: bool) -> Session:
        session = Session(sqlite.connect(self._file, patience_s=BUSY_S, write=write))
        try:
            _prepare(session, self._file, writable=prepare)
        except BaseException:
            session.close()
            raise
        return session
