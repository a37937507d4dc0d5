"""One connection to a database that processes and threads share, and what goes wrong with it."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pytest_rageval.support.sql import (
    IN_MEMORY,
    file_of,
    make_folder,
    parse_url,
    read_only_uris,
    show,
    without_password,
)
from pytest_rageval.values.errors import StorageError

if TYPE_CHECKING:
    from sqlalchemy import Connection, CursorResult, Engine, Executable, Row, Select
    from sqlalchemy.exc import DBAPIError

T = TypeVar("T")

BUSY_S: Final = 30.0
"""How long one waits for others that write; a write takes less than a millisecond."""
_UNWRITABLE: Final = frozenset(
    {sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}
)
_BROKEN: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class Database:
    """An SQLite file or a PostgreSQL database; every statement commits by itself.

    One connection under a lock serves all threads: a statement takes well under a millisecond,
    and a judge's answer takes seconds. After a fork, the child opens its own.

    Args:
        url_or_path: path of an SQLite file, or an SQLAlchemy URL.
        prepare: called with each new connection, the name to show and whether it is to be written,
            to make or check the tables. It raises StorageError if they are not as they should be,
            and lets through what SQLite says of a file that cannot be written.

    Raises:
        ConfigError: the URL cannot be read, is of another kind, or its driver is missing.
        StorageError: the database cannot be opened.
    """

    def __init__(
        self, url_or_path: str | Path, prepare: Callable[[Connection, str, bool], None]
    ) -> None:
        self._url = parse_url(url_or_path)
        self._file = file_of(self._url)
        self._prepare = prepare
        self.shown: Final = show(self._url)
        """File or URL without credentials and query, for messages."""
        self.is_sqlite: Final = self._url.get_backend_name() == "sqlite"
        self.warning: str | None = None
        """One line for the user about what is not kept; None: all is well."""
        self.writable = True
        self._inherited: list[Connection] = []
        self._start()

    def _start(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        with self._named_errors():
            self._open()

    def warn(self, text: str) -> None:
        """Keep the first thing that went wrong, for the user."""
        self.warning = self.warning or f"{self.shown}: {text}"

    def close(self) -> None:
        """Let go of the database; a second call does nothing."""
        connection, self._connection = self._connection, None
        if connection is not None and os.getpid() == self._pid:
            connection.close()
            connection.engine.dispose()

    # --- statements ------------------------------------------------------------------------

    def read(
        self, statement: Executable, values: Mapping[str, Any] | None = None
    ) -> Sequence[Row[Any]]:
        """Return all rows of a query.

        Raises:
            StorageError: it could not be answered.
        """
        with self._named_errors():
            return self._execute(statement, values, lambda result: result.all())

    def look_up(self, statement: Select[Any], key: str) -> Sequence[Any] | None:
        """Return the row that a query with the parameter ``the_key`` finds; None: there is none.

        Raises:
            StorageError: it could not be answered.
        """
        if self.is_sqlite:
            # Past SQLAlchemy, which takes three times as long as SQLite to find a row. What goes
            # wrong here goes wrong below too, where it gets its name.
            with suppress(sqlite3.Error):
                return self._look_up_plainly(_sqlite_text(statement), key)
        rows = self.read(statement, {"the_key": key})
        return rows[0] if rows else None

    def _look_up_plainly(self, query: str, key: str) -> Sequence[Any] | None:
        with self._held() as connection:
            found = connection.connection.cursor().execute(query, (key,)).fetchone()
        row: Sequence[Any] | None = found
        return row

    def change(self, statement: Executable, values: Mapping[str, Any] | None = None) -> int:
        """Run a statement that writes; return how many rows it touched.

        Raises:
            StorageError: it failed.
        """
        with self._named_errors():
            return self._execute(statement, values, lambda result: result.rowcount)

    def keep(self, statement: Executable, values: Mapping[str, Any]) -> bool:
        """Run a statement that writes, where that can be done; say whether it was.

        The first failure ends all writing and becomes the warning: a full disk should not end a
        run whose verdicts are paid for.

        Raises:
            StorageError: the file is broken.
        """
        from sqlalchemy.exc import DBAPIError

        if not self.writable:
            return False
        try:
            self.change(statement, values)
        except StorageError as error:
            cause = error.__cause__
            if not isinstance(cause, DBAPIError) or _code(cause) in _BROKEN:
                raise
            self._stop_writing(self._reason(cause))
            return False
        return True

    def _execute(
        self,
        statement: Executable,
        values: Mapping[str, Any] | None,
        take: Callable[[CursorResult[Any]], T],
    ) -> T:
        from sqlalchemy.exc import DBAPIError

        with self._held() as connection:
            try:
                return take(connection.execute(statement, values))
            except DBAPIError as error:
                if not error.connection_invalidated:
                    raise
                # The server was restarted, or cut a quiet connection: once more on a new one.
                connection.rollback()
                return take(connection.execute(statement, values))

    @contextmanager
    def _held(self) -> Iterator[Connection]:
        if os.getpid() != self._pid:
            # Neither SQLite nor PostgreSQL lets a child use a connection of its parent, nor close
            # it: the server would then end the parent's session.
            if self._connection is None:
                raise StorageError(f"{self.shown}: the cache is closed")
            self._inherited.append(self._connection)
            self._start()
        with self._lock:
            if self._connection is None:
                raise StorageError(f"{self.shown}: the cache is closed")
            yield self._connection

    # --- opening ---------------------------------------------------------------------------

    def _open(self) -> None:
        from sqlalchemy.exc import OperationalError

        if self._file is not None:
            if self._file.is_dir():
                raise StorageError(f"{self.shown}: a folder stands here, expected a file")
            try:
                make_folder(self._file)
            except (FileExistsError, NotADirectoryError):
                raise StorageError(
                    f"{self.shown}: a file stands where its folder should be"
                ) from None
            except OSError as error:
                self._open_read_only(error.strerror or str(error))
                return
        try:
            self._connection = self._connect(_engine(self._url), writable=True)
        except OperationalError as error:
            if self._file is None or _code(error) not in _UNWRITABLE:
                raise
            self._open_read_only(self._reason(error))

    def _open_read_only(self, reason: str) -> None:
        """Read the file without a right to write it or its folder; without a file, be empty."""
        from sqlalchemy.exc import OperationalError

        self._stop_writing(reason)
        for uri in read_only_uris(self._file):
            with suppress(OperationalError):
                engine = _read_only_engine(uri)
                self._connection = self._connect(engine, writable=uri == IN_MEMORY)
                return
        raise StorageError(f"{self.shown}: can be neither written nor read: {reason}")

    def _stop_writing(self, reason: str) -> None:
        self.writable = False
        self.warn(f"new verdicts are not kept: {reason}")

    def _connect(self, engine: Engine, *, writable: bool) -> Connection:
        try:
            connection = engine.connect()
            try:
                if self.is_sqlite and writable:
                    _prepare_sqlite(connection)
                self._prepare(connection, self.shown, writable)
            except BaseException:
                connection.close()
                raise
        except BaseException:
            engine.dispose()
            raise
        return connection

    # --- errors ----------------------------------------------------------------------------

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        from sqlalchemy.exc import DBAPIError, SQLAlchemyError

        try:
            yield
        except DBAPIError as error:
            advice = ""
            if _code(error) in _BROKEN:
                advice = "; delete the file, and what it held is asked again"
            raise StorageError(f"{self.shown}: {self._reason(error)}{advice}") from error
        except SQLAlchemyError as error:
            reason = without_password(str(error), self._url)
            raise StorageError(f"{self.shown}: {reason}") from error

    def _reason(self, error: DBAPIError) -> str:
        lines = str(error.orig).strip().splitlines() or [type(error.orig).__name__]
        return without_password(lines[0], self._url)


@cache
def _sqlite_text(statement: Select[Any]) -> str:
    """Return a query as SQLite reads it."""
    from sqlalchemy.dialects import sqlite

    return str(statement.compile(dialect=sqlite.dialect()))


def _code(error: DBAPIError) -> int | None:
    """Return SQLite's primary result code."""
    code = getattr(error.orig, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _engine(url: Any) -> Engine:
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool, StaticPool

    # Committing each statement by itself leaves no transaction open between two judgements.
    options: dict[str, Any] = {"isolation_level": "AUTOCOMMIT", "hide_parameters": True}
    if url.get_backend_name() != "sqlite":
        return create_engine(url, poolclass=NullPool, **options)
    in_memory = file_of(url) is None
    return create_engine(
        url,
        poolclass=StaticPool if in_memory else NullPool,
        connect_args={"timeout": BUSY_S, "check_same_thread": False},
        **options,
    )


def _read_only_engine(uri: str) -> Engine:
    from sqlalchemy import create_engine
    from sqlalchemy.pool import StaticPool

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(uri, uri=True, timeout=BUSY_S, check_same_thread=False)

    # A pool of one, since a database in memory lives as long as its connection.
    return create_engine(
        "sqlite://",
        creator=connect,
        poolclass=StaticPool,
        isolation_level="AUTOCOMMIT",
        hide_parameters=True,
    )


def _prepare_sqlite(connection: Connection) -> None:
    """Let readers and a writer work at once."""
    _turn_on_wal(connection)
    # Without a sync at each commit a loss of power may cost the last verdicts, never the file.
    connection.exec_driver_sql("PRAGMA synchronous=NORMAL")


def _turn_on_wal(connection: Connection) -> None:
    from sqlalchemy.exc import OperationalError

    give_up = time.monotonic() + BUSY_S
    while True:
        try:
            if connection.exec_driver_sql("PRAGMA journal_mode").scalar() not in ("wal", "memory"):
                connection.exec_driver_sql("PRAGMA journal_mode=WAL").close()
            return
        except OperationalError as error:
            # Processes that start at once get in each other's way, and here SQLite does not wait.
            if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(0.02)
