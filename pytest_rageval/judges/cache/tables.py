"""The tables of the cache and the statements over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from pytest_rageval.support.sql import stored_version, version_table
from pytest_rageval.values.errors import StorageError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Delete, Executable, Select, Table

CACHE_VERSION: Final = 1
"""1: the first one. Another version is refused, not migrated: a cache can be made anew."""

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
        """Delete the entries of one judge (None: of all), last used before a time (None: any)."""
        verdicts = _tables().verdicts
        statement = verdicts.delete()
        if identity is not None:
            statement = statement.where(verdicts.c.identity == identity)
        if before is not None:
            statement = statement.where(verdicts.c.used_at <= before)
        return statement

    def delete_but(self, identity: str | None, n: int) -> Delete:
        """Delete all entries of one judge (None: of all) but the ``n`` used last."""
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
