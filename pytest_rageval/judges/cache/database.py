"""Database of the judge cache, shared by processes and threads: tables, statements, errors."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pytest_rageval.support.sql import (
    connect,
    is_broken,
    parse_place,
    sqlite_code,
    stored_version,
    version_table,
)
from pytest_rageval.values.errors import StorageError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Delete, Executable, Select, Table

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection, CursorResult, Executable, Row, Select

T = TypeVar("T")

BUSY_S: Final = 30.0
"""Maximum wait for other writers in seconds; a write takes less than a millisecond."""
_EXAMPLES: Final = "sqlite:///evals/cache/judge.sqlite or postgresql+psycopg://user@host/database"
_UNWRITABLE: Final = frozenset(
    {sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}
)


class Database:
    """An SQLite file or a PostgreSQL database; every statement is its own transaction.

    One connection under a lock serves all threads: a statement takes well under a millisecond,
    and a judge's answer takes seconds. After a fork, the child opens its own.

    Args:
        url_or_path: path of an SQLite file, or an SQLAlchemy URL.
        prepare: called with each new connection, the name to show and whether it can be written,
            to make or check the tables. It raises StorageError if they are not as expected, and
            passes on SQLite's errors about a file that cannot be written.

    Raises:
        ConfigError: the URL cannot be read, is of another kind, or its driver is missing.
        StorageError: the database cannot be opened.
    """

    def __init__(
        self, url_or_path: str | Path, prepare: Callable[[Connection, str, bool], None]
    ) -> None:
        self._place = parse_place(url_or_path, what="judge cache", examples=_EXAMPLES)
        self._prepare = prepare
        self.shown: Final = self._place.shown
        """File or URL without credentials and query, for messages."""
        self.is_sqlite: Final = self._place.is_sqlite
        self.warning: str | None = None
        """One line for the user about data that is not kept; None: no problem."""
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
        """Store the first problem as the warning for the user."""
        self.warning = self.warning or f"{self.shown}: {text}"

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
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
            StorageError: the query failed.
        """
        with self._named_errors():
            return self._execute(statement, values, lambda result: result.all())

    def look_up(self, statement: Select[Any], key: str) -> Sequence[Any] | None:
        """Return the row that a query with the parameter ``the_key`` finds; None: not found.

        Raises:
            StorageError: the query failed.
        """
        if self.is_sqlite:
            # Past SQLAlchemy, which takes three times as long as SQLite to find a row. An error
            # here occurs below too, where it is translated.
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
        """Run a statement that writes; return the number of rows affected.

        Raises:
            StorageError: it failed.
        """
        with self._named_errors():
            return self._execute(statement, values, lambda result: result.rowcount)

    def keep(self, statement: Executable, values: Mapping[str, Any]) -> bool:
        """Run a statement that writes, if the database can be written; return whether it ran.

        The first failure stops all writing and becomes the warning: a full disk should not end a
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
            if not isinstance(cause, DBAPIError) or is_broken(cause):
                raise
            self._stop_writing(self._place.reason(cause))
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
                # The server restarted or closed an idle connection: retry on a new one.
                connection.rollback()
                return take(connection.execute(statement, values))

    @contextmanager
    def _held(self) -> Iterator[Connection]:
        if os.getpid() != self._pid:
            # A child must neither use nor close a connection of its parent: the server would then
            # end the parent's session.
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

        file = self._place.file
        if file is not None:
            try:
                self._place.make_folder(file)
            except (FileExistsError, NotADirectoryError):
                raise StorageError(
                    f"{self.shown}: a file stands where its folder should be"
                ) from None
            except OSError as error:
                self._open_read_only(file, error.strerror or str(error))
                return
        try:
            self._connection = self._connect(write=True, prepare=True)
        except OperationalError as error:
            if file is None or sqlite_code(error) not in _UNWRITABLE:
                raise
            self._open_read_only(file, self._place.reason(error))

    def _open_read_only(self, file: Path, reason: str) -> None:
        """Open the file without permission to write it or its folder; empty without a file."""
        from sqlalchemy.exc import OperationalError

        self._stop_writing(reason)
        try:
            self._connection = self._connect(write=False, prepare=not file.exists())
        except OperationalError as error:
            raise StorageError(
                f"{self.shown}: can be neither written nor read: {reason}"
            ) from error

    def _stop_writing(self, reason: str) -> None:
        self.writable = False
        self.warn(f"new verdicts are not kept: {reason}")

    def _connect(self, *, write: bool, prepare: bool) -> Connection:
        # Autocommit leaves no transaction open between two judgements.
        engine = self._place.engine(patience_s=BUSY_S, write=write, isolation_level="AUTOCOMMIT")
        return connect(engine, lambda opened: self._prepare(opened, self.shown, prepare))

    def _named_errors(self) -> AbstractContextManager[None]:
        return self._place.named_errors("delete the file, and what it held is asked again")


@cache
def _sqlite_text(statement: Select[Any]) -> str:
    """Return a query in the SQL of SQLite."""
    from sqlalchemy.dialects import sqlite

    return str(statement.compile(dialect=sqlite.dialect()))


CACHE_VERSION: Final = 1
"""1: the first one. Another version is refused, not migrated: a cache can be created again."""

_CREATE_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tables:
    version: Table
    verdicts: Table
    levels: Table


@cache
def _tables() -> _Tables:
    from sqlalchemy import BigInteger, Column, MetaData, String, Table, Text

    # Prefixed, since a PostgreSQL database may hold other tables.
    metadata = MetaData()
    return _Tables(
        version=version_table("rageval_judge_cache", metadata),
        verdicts=Table(
            "rageval_judge_verdicts",
            metadata,
            Column("key", String(64), primary_key=True),
            Column("identity", Text, nullable=False),
            Column("document", Text, nullable=False),
            Column("created_at", BigInteger, nullable=False),
            Column("used_at", BigInteger, nullable=False),
        ),
        levels=Table(
            "rageval_judge_levels",
            metadata,
            Column("key", String(64), primary_key=True),
            Column("document", Text, nullable=False),
        ),
    )


def prepare(connection: Connection, shown: str, writable: bool) -> None:
    """Make the tables where they are missing, and refuse those of another version.

    Args:
        connection: a connection in autocommit mode.
        shown: name of the database, for messages.
        writable: whether tables can be made.

    Raises:
        StorageError: another version made them.
        sqlalchemy.exc.OperationalError: the file cannot be written.
    """
    from sqlalchemy import false

    version = _tables().version
    is_file = connection.dialect.name == "sqlite"
    found = stored_version(connection, version)
    if found is None and writable:
        _create(connection)
        found = stored_version(connection, version)
    if found is None:
        raise StorageError(f"{shown}: holds no judge cache, and none can be made in it")
    if found != CACHE_VERSION:
        names = ", ".join(table.name for table in version.metadata.sorted_tables)
        way = "delete the file" if is_file else f"drop its tables {names}"
        raise StorageError(
            f"{shown}: a judge cache of version {found!r}, expected {CACHE_VERSION}; {way}, and "
            "what it held is asked again"
        )
    if writable and is_file:
        # SQLite also opens a file that it may not write; only a write shows it.
        connection.execute(version.update().where(false()).values(id=1))


def _create(connection: Connection) -> None:
    from sqlalchemy.exc import IntegrityError, ProgrammingError
    from sqlalchemy.schema import CreateTable

    tables = _tables()
    for attempt in range(_CREATE_ATTEMPTS):
        try:
            for table in (tables.levels, tables.verdicts, tables.version):
                connection.execute(CreateTable(table, if_not_exists=True))
            break
        except (IntegrityError, ProgrammingError):
            # IF NOT EXISTS can fail in PostgreSQL if two processes create a table at once.
            if attempt + 1 == _CREATE_ATTEMPTS:
                raise
    statement = _insert(connection.dialect.name)(tables.version)
    values = {"id": 1, "version": CACHE_VERSION}
    connection.execute(statement.values(values).on_conflict_do_nothing())


def _insert(dialect: str) -> Callable[[Table], Any]:
    # Typed as Any: the two have no common type with ``on_conflict_…``.
    from sqlalchemy.dialects import postgresql, sqlite

    return sqlite.insert if dialect == "sqlite" else postgresql.insert


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements:
    """Statements over the tables; made once, so that SQLAlchemy compiles each one once."""

    get: Select[Any]
    """Document and last use, by ``the_key``."""
    put: Executable
    get_level: Select[Any]
    put_level: Executable
    note_uses: Executable
    """Sets ``keys`` to have been used ``now``."""
    count: Executable
    """Per judge: entries, size, oldest and newest use."""
    shrink: Executable

    def delete(self, identity: str | None, before: int | None) -> Delete:
        """Return a statement deleting one judge's entries (None: all) last used before a time."""
        verdicts = _tables().verdicts
        statement = verdicts.delete()
        if identity is not None:
            statement = statement.where(verdicts.c.identity == identity)
        if before is not None:
            statement = statement.where(verdicts.c.used_at <= before)
        return statement

    def delete_but(self, identity: str | None, n: int) -> Delete:
        """Return a statement deleting one judge's entries (None: all) but the ``n`` used last."""
        from sqlalchemy import select

        verdicts = _tables().verdicts
        rest = select(verdicts.c.key)
        if identity is not None:
            rest = rest.where(verdicts.c.identity == identity)
        order = (verdicts.c.used_at.desc(), verdicts.c.created_at.desc(), verdicts.c.key)
        return verdicts.delete().where(verdicts.c.key.in_(rest.order_by(*order).offset(n)))


@cache
def statements(dialect: str) -> Statements:
    """Return the statements in the dialect ``sqlite`` or ``postgresql``."""
    from sqlalchemy import bindparam, func, select, text, update

    verdicts, levels = _tables().verdicts, _tables().levels
    return Statements(
        get=select(verdicts.c.document, verdicts.c.used_at).where(
            verdicts.c.key == bindparam("the_key")
        ),
        put=_upsert(dialect, verdicts, ("identity", "document", "created_at", "used_at")),
        get_level=select(levels.c.document).where(levels.c.key == bindparam("the_key")),
        put_level=_upsert(dialect, levels, ("document",)),
        note_uses=update(verdicts)
        .where(verdicts.c.key.in_(bindparam("keys", expanding=True)))
        .values(used_at=bindparam("now")),
        count=select(
            verdicts.c.identity,
            func.count().label("entries"),
            func.sum(func.length(verdicts.c.document)).label("size"),
            func.min(verdicts.c.used_at).label("oldest"),
            func.max(verdicts.c.used_at).label("newest"),
        )
        .group_by(verdicts.c.identity)
        .order_by(verdicts.c.identity),
        shrink=text("VACUUM"),
    )


def _upsert(dialect: str, table: Table, columns: tuple[str, ...]) -> Executable:
    # An update, so that the next answer replaces an entry that cannot be read.
    statement = _insert(dialect)(table)
    changes = {name: statement.excluded[name] for name in columns}
    upsert: Executable = statement.on_conflict_do_update(index_elements=["key"], set_=changes)
    return upsert
