"""The connection to an index that processes share, and its errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from pytest_rageval.runs.history.tables import check_tables, make_tables
from pytest_rageval.support.sql import Place, connect, parse_place
from pytest_rageval.values.errors import ConfigError, StorageError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

_WHAT: Final = "index of runs"
_EXAMPLES: Final = (
    "a path, sqlite:///evals/cache/history.sqlite or postgresql+psycopg://user@host/database"
)
_MISTYPED: Final = re.compile(r"\s*(?:postgres|sqlite)[\w+]*:(?!//)", re.IGNORECASE)
"""A URL with too few slashes, which may hold a password."""
_TOO_LARGE: Final = "54"
"""Class of PostgreSQL's errors about what is larger than it can keep."""


class RowError(StorageError):
    """The rows of one run cannot be kept; other runs are not affected."""


class IndexDatabase:
    """An SQLite file or a PostgreSQL database with the tables of the index; a context manager.

    Args:
        url_or_path: path of an SQLite file, or an SQLAlchemy URL.
        rootdir: base of a relative path.
        write: whether it is to be filled: makes a missing file and tables.
        anew: drop tables of another version.
        patience_s: longest wait for other processes that write the same, in seconds.

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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

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

        # Of this transaction alone, as a pool in between may give the session to others after it.
        limit = f"SET LOCAL lock_timeout = {int(self._patience_s * 1000)}"
        self._connection.exec_driver_sql(limit)
        if lock is not None:
            key = {"name": f"rageval:{lock}"}
            statement = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")
            self._connection.execute(statement, key)

    # --- opening -----------------------------------------------------------------------------

    def _open(self, *, anew: bool) -> None:
        if self._place.file is not None:
            self._look_at(self._place.file)

        def prepare(connection: Connection) -> None:
            self._connection = connection
            with self.transaction("tables" if self._write else None):
                if self._write:
                    make_tables(connection, self.shown, anew=anew)
                else:
                    check_tables(connection, self.shown)

        connect(self._engine(), prepare)

    def _engine(self) -> Engine:
        from sqlalchemy import event

        engine = self._place.engine(patience_s=self._patience_s, write=self._write)
        if self.is_sqlite and self._write:
            event.listen(engine, "begin", lambda held: held.exec_driver_sql("BEGIN IMMEDIATE"))
        return engine

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

        with self._place.named_errors("delete the file and sync again"):
            try:
                yield
            except DBAPIError as error:
                state = getattr(error.orig, "sqlstate", None) or ""
                if isinstance(error, DataError | IntegrityError) or state.startswith(_TOO_LARGE):
                    raise RowError(self._place.reason(error)) from error
                raise


def _find_place(text: str, rootdir: Path) -> Place:
    if _MISTYPED.match(text):
        # As a path it would make a file of this name, and show it.
        raise ConfigError(f"{_WHAT}: got a URL that cannot be read, expected {_EXAMPLES}")
    place = parse_place(text, what=_WHAT, examples=_EXAMPLES)
    if not place.is_sqlite:
        return place
    if place.file is None:
        raise ConfigError(f"{_WHAT}: got a database in memory, expected {_EXAMPLES}")
    return Place(url=place.url.set(database=str(rootdir / place.file)))
