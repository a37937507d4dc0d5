"""Databases of SQLite and PostgreSQL: their URLs, connections, versions and errors."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from pytest_rageval.support.http.address import blot_out
from pytest_rageval.values.errors import ConfigError, StorageError

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine, MetaData, Table
    from sqlalchemy.exc import DBAPIError

IN_MEMORY: Final = ":memory:"
_GITIGNORE: Final = "# Made by pytest-rageval; this folder can be deleted at any time.\n*\n"
_BROKEN: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_CONNECT_S: Final = 5
"""A server that is down must not hold up the end of a run."""
_DEAD_MS: Final = 10_000
"""How long one waits for a server that no longer answers."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """A database: its URL, its name in messages, and what goes wrong with it."""

    url: URL

    @cached_property
    def file(self) -> Path | None:
        """The file of an SQLite URL; None: it has none, as one in memory."""
        if not self.is_sqlite or self.url.database in (None, "", IN_MEMORY):
            return None
        return Path(str(self.url.database))

    @cached_property
    def shown(self) -> str:
        """The file, or the URL without credentials and query."""
        from sqlalchemy import URL

        if self.file is not None:
            return str(self.file)
        url = self.url
        bare = URL.create(url.drivername, host=url.host, port=url.port, database=url.database)
        return bare.render_as_string()

    @property
    def is_sqlite(self) -> bool:
        """Whether it is SQLite; else it is PostgreSQL."""
        return self.url.get_backend_name() == "sqlite"

    def engine(self, *, patience_s: float, write: bool = True, **options: Any) -> Engine:
        """Make an engine that opens a connection whenever one is asked for.

        Args:
            patience_s: how long SQLite waits for others that write, in seconds.
            write: whether an SQLite file is to be written; otherwise it may also be one that
                nobody can write, or be missing, which is as good as empty.
            options: further ones of ``create_engine``.
        """
        from sqlalchemy import create_engine, event
        from sqlalchemy.pool import NullPool

        options = {"poolclass": NullPool, "hide_parameters": True, **options}
        url = self.url
        if not self.is_sqlite:
            wanted = {
                "connect_timeout": _CONNECT_S,
                "tcp_user_timeout": _DEAD_MS,
                # Prepared statements do not outlive a transaction where a pool stands in between.
                "prepare_threshold": None,
            }
            known = wanted if url.get_driver_name() == "psycopg" else {}
            arguments = {key: value for key, value in known.items() if key not in url.query}
            return create_engine(url, connect_args=arguments, **options)
        if not write:
            return create_engine(
                url, creator=lambda: _connect_to_read(self.file, patience_s), **options
            )
        # The driver begins no transaction by itself: it would do so at the first change, which is
        # too late to read within it what is to be changed.
        options["connect_args"] = {
            "timeout": patience_s,
            "check_same_thread": False,
            "isolation_level": None,
        }
        engine = create_engine(url, **options)
        event.listen(engine, "connect", lambda driver, _: _turn_on_wal(driver, patience_s))
        return engine

    def make_folder(self, file: Path) -> None:
        """Make the folder of a file; one that was missing or empty tells git to leave it alone.

        Raises:
            StorageError: the file is a folder.
            OSError: its folder cannot be made.
        """
        if file.is_dir():
            raise StorageError(f"{self.shown}: a folder stands here, expected a file")
        folder = file.parent
        if folder.is_dir() and any(folder.iterdir()):
            # Such as the root of a project, where the rule would hide everything.
            return
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text(_GITIGNORE, encoding="utf-8")

    @contextmanager
    def named_errors(self, if_broken: str) -> Iterator[None]:
        """Raise what goes wrong within the block as an error that names the database.

        Args:
            if_broken: advice where an SQLite file is broken.

        Raises:
            StorageError: something did.
        """
        from sqlalchemy.exc import DBAPIError, SQLAlchemyError

        try:
            yield
        except DBAPIError as error:
            advice = f"; {if_broken}" if is_broken(error) else ""
            raise StorageError(f"{self.shown}: {self.reason(error)}{advice}") from error
        except SQLAlchemyError as error:
            raise StorageError(f"{self.shown}: {self._first_line(error)}") from error

    def reason(self, error: DBAPIError) -> str:
        """Return the first line of a driver's message, without the passwords of the URL."""
        return self._first_line(error.orig)

    def _first_line(self, error: BaseException | None) -> str:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        hidden = [self.url.password or ""]
        for name, value in self.url.query.items():
            if "password" in name:
                hidden += [value] if isinstance(value, str) else value
        return blot_out(lines[0], hidden)


def parse_place(url_or_path: str | Path, *, what: str, examples: str) -> Place:
    """Read a path of an SQLite file or an SQLAlchemy URL.

    PostgreSQL without a named driver means psycopg, which the package's extra installs.

    Args:
        url_or_path: as a user gave it.
        what: name of what lies there, for messages.
        examples: what could have been given, for messages.

    Raises:
        ConfigError: the URL cannot be read, is of another kind, or its driver is missing.
    """
    from sqlalchemy import URL, make_url
    from sqlalchemy.exc import ArgumentError

    if isinstance(url_or_path, Path) or "://" not in url_or_path:
        return Place(url=URL.create("sqlite", database=str(url_or_path)))
    try:
        url = make_url(url_or_path)
    except (ArgumentError, ValueError):
        # The text itself is kept back: what cannot be read may hold a password anywhere.
        raise ConfigError(f"{what}: got a URL that cannot be read, expected {examples}") from None
    if url.drivername in ("postgres", "postgresql"):
        url = url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise ConfigError(f"{what}: got a URL of {url.drivername!r}, expected {examples}")
    _check_driver(url, what, examples)
    return Place(url=url)


def _check_driver(url: URL, what: str, examples: str) -> None:
    from sqlalchemy.exc import NoSuchModuleError

    try:
        url.get_dialect().import_dbapi()
    except NoSuchModuleError:
        raise ConfigError(f"{what}: got a URL of {url.drivername!r}, expected {examples}") from None
    except ImportError as error:
        raise ConfigError(
            f"{what}: a URL of {url.drivername!r} needs the module {error.name!r}, which is "
            "not installed (pip install 'pytest-rageval[postgres]')"
        ) from None


def connect(engine: Engine, prepare: Callable[[Connection], None]) -> Connection:
    """Open a connection and prepare it; nothing stays open where that fails."""
    try:
        connection = engine.connect()
        try:
            prepare(connection)
        except BaseException:
            connection.close()
            raise
    except BaseException:
        engine.dispose()
        raise
    return connection


def sqlite_code(error: DBAPIError) -> int | None:
    """Return SQLite's primary result code; None: it is not an error of SQLite."""
    code = getattr(error.orig, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def is_broken(error: DBAPIError) -> bool:
    """Whether an SQLite file is damaged, or no database at all."""
    return sqlite_code(error) in _BROKEN


def version_table(name: str, metadata: MetaData) -> Table:
    """Return a table of one row, which holds the version of the tables beside it."""
    from sqlalchemy import Column, Integer, Table

    return Table(
        name,
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("version", Integer, nullable=False),
    )


def stored_version(connection: Connection, table: Table) -> int | None:
    """Return the version that a table of ``version_table`` holds; None: there is none."""
    from sqlalchemy import inspect, select

    if not inspect(connection).has_table(table.name):
        return None
    found: int | None = connection.execute(select(table.c.version)).scalar()
    return found


def _connect_to_read(file: Path | None, patience_s: float) -> sqlite3.Connection:
    """Open a file that others may be writing, or that nobody can write.

    A file whose log (``-wal``) was left over is read with it; without one SQLite wants to make
    it, unless it is told that nobody changes the file. No file: an empty database in memory.
    """
    uris = [IN_MEMORY]
    if file is not None and file.exists():
        name = f"file:{quote(str(file.resolve()))}"
        uris = [f"{name}?mode={mode}" for mode in ("rw", "ro", "ro&immutable=1")]
    failure: sqlite3.OperationalError | None = None
    for uri in uris:
        connection = sqlite3.connect(
            uri, uri=True, timeout=patience_s, check_same_thread=False, isolation_level=None
        )
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").close()
            return connection
        except sqlite3.OperationalError as error:
            connection.close()
            failure = failure or error
    assert failure is not None  # one of them was tried
    raise failure


def _turn_on_wal(driver: Any, patience_s: float) -> None:
    """Let readers and a writer work at once.

    Without a sync at each commit a loss of power may cost the last changes, never the file.
    """
    give_up = time.monotonic() + patience_s
    while True:
        try:
            (mode,) = driver.execute("PRAGMA journal_mode").fetchone()
            if mode not in ("wal", "memory"):
                driver.execute("PRAGMA journal_mode=WAL").close()
            driver.execute("PRAGMA synchronous=NORMAL").close()
            return
        except sqlite3.OperationalError as error:
            # Processes that start at once get in each other's way, and here SQLite does not wait.
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(0.02)
