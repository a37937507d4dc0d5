"""Database of the index of runs, shared by processes: connection, version, errors.

Importing it without SQLAlchemy raises a ``ConfigError`` that names the extra.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from pytest_rageval.support import sqlite
from pytest_rageval.support.http.address import blot_out
from pytest_rageval.support.process import Closing
from pytest_rageval.values.errors import ConfigError, StorageError

_INDEX: Final = "index of runs"

try:
    import sqlalchemy as sa
    from sqlalchemy import exc
    from sqlalchemy.pool import NullPool

    from pytest_rageval.runs.history.run_rows import TABLES
except ImportError:
    raise ConfigError.of(_INDEX, "needs_extra", extra="history") from None

_EXAMPLES: Final = (
    "a path, sqlite:///evals/cache/history.sqlite or postgresql+psycopg://user@host/database"
)
_MISTYPED: Final = re.compile(
    r"\s*(?:postgres|sqlite)[\w+]*:(?!//)|(?![a-z]:[/\\])(?!.*://)[^@]*:[^@]*@", re.IGNORECASE
)
"""A URL with too few slashes or no scheme, which may contain a password; not a drive."""
_PSYCOPG: Final = {
    "connect_timeout": 5,  # a server that is down must not delay the end of a run
    "tcp_user_timeout": 10_000,
    # Prepared statements do not outlive a transaction behind a connection pooler.
    "prepare_threshold": None,
}
_LOCK: Final = "SELECT pg_advisory_xact_lock(7205759403)"
_TOO_LARGE: Final = "54"
"""Class of PostgreSQL's errors about values that are too large."""
INDEX_VERSION: Final = 6
"""Another version is rebuilt from the folders, not migrated."""
_VERSION: Final = sa.Table(
    "rageval_history",
    TABLES,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("version", sa.Integer, nullable=False),
)


class RowError(StorageError):
    """The rows of one run cannot be kept; other runs are not affected."""


class IndexDatabase(Closing):
    """An SQLite file or a PostgreSQL database with the tables of the index; a context manager.

    Args:
        url_or_path: path of an SQLite file, or an SQLAlchemy URL.
        rootdir: base of a relative path.
        write: create missing files and tables, to fill them; one process writes at a time.
        anew: drop tables of another version.
        patience_s: maximum wait for other writers, in seconds.

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
        self._url = url = parse_url(url_or_path)
        self.shown = shown_url(url)
        """File or URL without credentials and query, for messages."""
        if url.drivername == "sqlite":
            file = rootdir / self.shown
            self.shown = str(file)
            if not write and not file.exists():
                raise StorageError.of(file, "no_index")
            try:
                sqlite.make_folder(file)
            except OSError as error:
                raise StorageError.of(file, "no_folder", reason=error.strerror or error) from error
            creator = partial(sqlite.connect, file, patience_s=patience_s, write=write)
            engine = sa.create_engine("sqlite://", creator=creator, poolclass=NullPool)
            begin = ["BEGIN IMMEDIATE"] if write else []
        else:
            known = _PSYCOPG if url.get_driver_name() == "psycopg" else {}
            options = {key: value for key, value in known.items() if key not in url.query}
            engine = sa.create_engine(
                url, connect_args=options, poolclass=NullPool, hide_parameters=True
            )
            # For this transaction only, since a connection pool may reuse the session afterwards.
            begin = [f"SET LOCAL lock_timeout = {int(patience_s * 1000)}"]
            begin += [_LOCK] if write else []

        @sa.event.listens_for(engine, "begin")
        def start(connection: sa.Connection) -> None:
            for statement in begin:
                connection.exec_driver_sql(statement)

        with self._named_errors(), ExitStack() as opened:
            self._connection = opened.enter_context(engine.connect())
            with self.transaction() as connection:
                self._check_tables(connection, write=write, anew=anew)
            opened.pop_all()

    def _check_tables(self, connection: sa.Connection, *, write: bool, anew: bool) -> None:
        names, found = sa.inspect(connection).get_table_names(), None
        if _VERSION.name in names:
            found = connection.execute(sa.select(_VERSION.c.version)).scalar()
        if found is None and write and (taken := [name for name in TABLES.tables if name in names]):
            raise StorageError.of(self.shown, "other_table", found=repr(taken[0]))
        if write and (found is None or (anew and found != INDEX_VERSION)):
            TABLES.drop_all(connection)
            TABLES.create_all(connection)
            found = INDEX_VERSION
            connection.execute(_VERSION.insert().values(id=1, version=found))
        if found is None:
            raise StorageError.of(self.shown, "no_index")
        if found != INDEX_VERSION:
            raise StorageError.of(
                self.shown, "index_version", found=repr(found), expected=INDEX_VERSION
            )

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """Apply several statements together or not at all, apart from other writers.

        Raises:
            RowError: a row cannot be kept.
            StorageError: any other failure.
        """
        with self._named_errors(), self._connection.begin():
            yield self._connection

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except UnicodeEncodeError:  # a name that is no text, of a folder
            raise
        except (exc.SQLAlchemyError, ValueError) as error:  # a ValueError: a damaged value
            cause = getattr(error, "orig", None) or error
            secrets = [value for name, value in self._url.query.items() if "password" in name]
            reason = blot_out(sqlite.reason(cause), [self._url.password or "", *map(str, secrets)])
            state = getattr(cause, "sqlstate", None) or ""
            odd_row = isinstance(error, exc.DataError | exc.IntegrityError)
            if odd_row or state.startswith(_TOO_LARGE):
                raise RowError(reason) from error
            file = Path(self.shown).name if sqlite.is_broken(cause) else None
            raise StorageError.of(
                self.shown, "database_failed", reason=reason, file=file
            ) from error


def parse_url(text: str) -> sa.URL:
    """Read a path of an SQLite file or an SQLAlchemy URL.

    PostgreSQL without a named driver means psycopg, which the package's extra installs.

    Raises:
        ConfigError: the URL cannot be read, is of another kind, or its driver is missing.
    """
    # The text is not shown, since it may contain a password anywhere. A mistyped one, taken as a
    # path, would create a file of this name and show the password.
    got = "a URL that cannot be read"
    if not _MISTYPED.match(text):
        if "://" not in text:
            return sa.URL.create("sqlite", database=text)
        with suppress(exc.ArgumentError, ValueError):
            url = sa.make_url(text)
            kind = url.get_backend_name()
            got = "a database in memory" if kind == "sqlite" else f"a URL of {url.drivername!r}"
            if kind == "sqlite" and url.database not in (None, "", ":memory:"):
                return url.set(drivername="sqlite")
            if kind in ("postgres", "postgresql"):
                if url.drivername == kind:
                    url = url.set(drivername="postgresql+psycopg")
                try:
                    url.get_dialect().import_dbapi()
                except ImportError as error:
                    raise ConfigError.of(
                        _INDEX, "needs_extra", extra="postgres", reason=error
                    ) from None
                return url
    raise ConfigError.of(_INDEX, "value", found=got, expected=_EXAMPLES)


def shown_url(url: sa.URL) -> str:
    """Return the file of a URL, or the URL without credentials and query."""
    if url.drivername == "sqlite":
        return str(url.database)
    bare = sa.URL.create(url.drivername, host=url.host, port=url.port, database=url.database)
    return bare.render_as_string()
