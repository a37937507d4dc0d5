"""The connection to an index that processes share, and what goes wrong with it."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import quote

from pytest_rageval.runs.history.tables import check_tables, make_tables
from pytest_rageval.support.sql import (
    file_of,
    make_folder,
    parse_url,
    read_only_uris,
    show,
    without_password,
)
from pytest_rageval.values.errors import ConfigError, StorageError

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine
    from sqlalchemy.exc import DBAPIError

_WHAT: Final = "index of runs"
_EXAMPLES: Final = (
    "a path, sqlite:///evals/cache/history.sqlite or postgresql+psycopg://user@host/database"
)
_MISTYPED: Final = re.compile(r"\s*(?:postgres|sqlite)[\w+]*:(?!//)", re.IGNORECASE)
"""A URL with too few slashes, which may hold a password."""
_CONNECT_S: Final = 5
"""A server that is down must not hold up the end of a run."""
_DEAD_MS: Final = 10_000
"""How long one waits for a server that no longer answers."""
_BROKEN: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})

_TOO_LARGE: Final = "54"
"""Class of PostgreSQL's errors about what is larger than it can keep."""


class RowError(StorageError):
    """The rows of one run cannot be kept; those of others can."""


class IndexDatabase:
    """An SQLite file or a PostgreSQL database with the tables of the index; a context manager.

    Args:
        url_or_path: path of an SQLite file, or an SQLAlchemy URL.
        rootdir: where a relative path begins.
        write: whether it is to be filled: makes what is missing.
        anew: drop tables of another version.
        patience_s: how long to wait for others who write the same.

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
        self._url = _read_url(url_or_path, rootdir)
        self.shown: Final = show(self._url)
        """File or URL without credentials and query, for messages."""
        self.is_sqlite: Final = self._url.get_backend_name() == "sqlite"
        self._write, self._patience_s = write, patience_s
        with self._named_errors():
            self._open(anew=anew)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database; a second call does nothing."""
        self._connection.close()
        self._connection.engine.dispose()

    @contextmanager
    def transaction(self, lock: str | None = None) -> Iterator[Connection]:
        """Do several things at once or not at all.

        Args:
            lock: name of what is written, which nobody else may write meanwhile. In SQLite one
                writes at a time, whatever it is; None: nothing is written.

        Raises:
            RowError: a row cannot be kept as it is.
            StorageError: anything else went wrong.
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
        file = file_of(self._url)
        if file is not None:
            self._look_at(file)
        engine = _engine(self._url, write=self._write, patience_s=self._patience_s)
        try:
            self._connection = engine.connect()
        except BaseException:
            engine.dispose()
            raise
        try:
            with self.transaction("tables" if self._write else None) as connection:
                if self._write:
                    make_tables(connection, self.shown, anew=anew)
                else:
                    check_tables(connection, self.shown)
        except BaseException:
            self.close()
            raise

    def _look_at(self, file: Path) -> None:
        if file.is_dir():
            raise StorageError(f"{self.shown}: a folder stands here, expected a file")
        if not self._write and not file.exists():
            raise StorageError(f"{self.shown}: there is no such index; rageval runs sync makes one")
        try:
            make_folder(file)
        except OSError as error:
            reason = error.strerror or str(error)
            raise StorageError(f"{self.shown}: its folder cannot be made: {reason}") from error

    # --- errors ------------------------------------------------------------------------------

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, SQLAlchemyError

        try:
            yield
        except (DataError, IntegrityError) as error:
            raise RowError(self._reason(error)) from error
        except DBAPIError as error:
            if (getattr(error.orig, "sqlstate", None) or "").startswith(_TOO_LARGE):
                raise RowError(self._reason(error)) from error
            code = getattr(error.orig, "sqlite_errorcode", None)
            broken = code is not None and code & 0xFF in _BROKEN
            advice = "; delete the file and sync again" if broken else ""
            raise StorageError(f"{self.shown}: {self._reason(error)}{advice}") from error
        except SQLAlchemyError as error:
            reason = without_password(str(error).splitlines()[0], self._url)
            raise StorageError(f"{self.shown}: {reason}") from error

    def _reason(self, error: DBAPIError) -> str:
        lines = str(error.orig).strip().splitlines() or [type(error.orig).__name__]
        return without_password(lines[0], self._url)


def _read_url(text: str, rootdir: Path) -> URL:
    if _MISTYPED.match(text):
        # As a path it would make a file of this name, and show it.
        raise ConfigError(f"{_WHAT}: got a URL that cannot be read, expected {_EXAMPLES}")
    url = parse_url(text, what=_WHAT, examples=_EXAMPLES)
    if url.get_backend_name() != "sqlite":
        return url
    file = file_of(url)
    if file is None:
        raise ConfigError(f"{_WHAT}: got a database in memory, expected {_EXAMPLES}")
    return url.set(database=str(rootdir / file))


def _engine(url: URL, *, write: bool, patience_s: float) -> Engine:
    from sqlalchemy import create_engine, event
    from sqlalchemy.pool import NullPool

    if url.get_backend_name() != "sqlite":
        # Prepared statements do not outlive a transaction where a pool stands in between.
        wanted = {
            "connect_timeout": _CONNECT_S,
            "tcp_user_timeout": _DEAD_MS,
            "prepare_threshold": None,
        }
        known = wanted if url.get_driver_name() == "psycopg" else {}
        arguments = {key: value for key, value in known.items() if key not in url.query}
        return create_engine(url, poolclass=NullPool, hide_parameters=True, connect_args=arguments)
    if not write:
        return create_engine(
            url,
            poolclass=NullPool,
            hide_parameters=True,
            creator=lambda: _connect_to_read(Path(str(url.database)), patience_s),
        )
    engine = create_engine(
        url, poolclass=NullPool, hide_parameters=True, connect_args={"timeout": patience_s}
    )
    # The driver would begin a transaction at the first change, which is too late to read within it
    # what is to be changed, and would commit before tables are made.
    event.listen(engine, "connect", lambda driver, _: _prepare_to_write(driver, patience_s))
    event.listen(engine, "begin", lambda held: held.exec_driver_sql("BEGIN IMMEDIATE"))
    return engine


def _connect_to_read(file: Path, patience_s: float) -> sqlite3.Connection:
    """Open a file that others may be writing, or that nobody can write."""
    first = ""
    for uri in [f"file:{quote(str(file))}?mode=rw", *read_only_uris(file)]:
        connection = sqlite3.connect(uri, uri=True, timeout=patience_s)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").close()
            return connection
        except sqlite3.OperationalError as error:
            connection.close()
            first = first or str(error)
    raise sqlite3.OperationalError(first)


def _prepare_to_write(driver: Any, patience_s: float) -> None:
    driver.isolation_level = None
    give_up = time.monotonic() + patience_s
    while True:
        try:
            # Readers and a writer work at once; a loss of power may cost the last runs, which the
            # next sync puts in again, and never the file.
            driver.execute("PRAGMA journal_mode=WAL").close()
            driver.execute("PRAGMA synchronous=NORMAL").close()
            return
        except sqlite3.OperationalError as error:
            # Processes that start at once get in each other's way, and here SQLite does not wait.
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(0.02)
