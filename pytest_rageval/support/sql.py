"""Databases of SQLite and PostgreSQL: their URLs, connections, versions and errors."""

from __future__ import annotations

import re
import sqlite3
import sys
import time
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from pytest_rageval.support.http.address import blot_out
from pytest_rageval.values.errors import ConfigError, StorageError

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine

IN_MEMORY: Final = ":memory:"
_FILE_URL: Final = "sqlite:///"
_GITIGNORE: Final = "# Made by pytest-rageval; this folder can be deleted at any time.\n*\n"
_BROKEN: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_MISTYPED: Final = re.compile(
    r"\s*(?:postgres|sqlite)[\w+]*:(?!//)|(?![a-z]:[/\\])(?!.*://)[^@]*:[^@]*@", re.IGNORECASE
)
"""A URL with too few slashes or no scheme, which may contain a password; a drive is none."""
_CONNECT_S: Final = 5
"""Limit of connecting: a server that is down must not delay the end of a run."""
_DEAD_MS: Final = 10_000
"""Limit of waiting for a server that does not answer any more."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """A database: its address, its name in messages, and its errors.

    SQLAlchemy is imported for PostgreSQL, and for an engine.
    """

    file: Path | None = None
    """File of SQLite; None: in memory, or PostgreSQL."""
    url: URL | None = None
    """URL of PostgreSQL; None: SQLite."""

    @cached_property
    def shown(self) -> str:
        """The file, or the URL without credentials and query."""
        url = self.url
        if url is None:
            return "sqlite://" if self.file is None else str(self.file)
        from sqlalchemy import URL

        bare = URL.create(url.drivername, host=url.host, port=url.port, database=url.database)
        return bare.render_as_string()

    @property
    def is_sqlite(self) -> bool:
        """Whether it is SQLite; else it is PostgreSQL."""
        return self.url is None

    def engine(self, *, patience_s: float, write: bool = True, **options: Any) -> Engine:
        """Make an engine without a pool of connections; see ``connect_file``."""
        from sqlalchemy import create_engine
        from sqlalchemy.pool import NullPool

        options = {"poolclass": NullPool, "hide_parameters": True, **options}
        url = self.url
        if url is None:
            made = partial(self.connect_file, patience_s=patience_s, write=write)
            return create_engine("sqlite://", creator=made, **options)
        wanted = {
            "connect_timeout": _CONNECT_S,
            "tcp_user_timeout": _DEAD_MS,
            # Prepared statements do not outlive a transaction behind a connection pooler.
            "prepare_threshold": None,
        }
        known = wanted if url.get_driver_name() == "psycopg" else {}
        arguments = {key: value for key, value in known.items() if key not in url.query}
        return create_engine(url, connect_args=arguments, **options)

    def connect_file(self, *, patience_s: float, write: bool = True) -> sqlite3.Connection:
        """Open SQLite for any thread; transactions are the caller's.

        Args:
            patience_s: maximum wait for other writers, in seconds.
            write: whether to write the file; otherwise it may be read-only, or missing, which
                counts as empty.
        """
        if not write:
            return _connect_to_read(self.file, patience_s)
        name = IN_MEMORY if self.file is None else str(self.file)
        connection = _open_sqlite(name, patience_s)
        try:
            _turn_on_wal(connection, patience_s)
        except BaseException:
            connection.close()
            raise
        return connection

    def make_folder(self, file: Path) -> None:
        """Create the folder of a file; a new or empty one gets a ``.gitignore``.

        Raises:
            StorageError: the file is a folder.
            OSError: its folder cannot be made.
        """
        if file.is_dir():
            raise StorageError(f"{self.shown}: a folder stands here, expected a file")
        folder = file.parent
        if folder.is_dir() and any(folder.iterdir()):
            # Such as the root of a project, where the rule would ignore everything.
            return
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text(_GITIGNORE, encoding="utf-8")

    def reason(self, error: BaseException | None) -> str:
        """Return the first line of a driver's message, without the passwords of the URL."""
        error = driver_error(error) or error
        if isinstance(error, UnicodeDecodeError):
            return "the file is damaged"
        lines = str(error).strip().splitlines() or [type(error).__name__]
        if self.url is None:
            return lines[0]
        hidden = [self.url.password or ""]
        for name, value in self.url.query.items():
            if "password" in name:
                hidden += [value] if isinstance(value, str) else value
        return blot_out(lines[0], hidden)


@dataclass(frozen=True, slots=True)
class NamedErrors:
    """Context that raises errors of a database in its block as a ``StorageError`` that names it.

    Usable again, and by several threads at once.
    """

    place: Place
    if_broken: str

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and driver_error(error) is not None:
            advice = f"; {self.if_broken}" if is_broken(error) else ""
            message = f"{self.place.shown}: {self.place.reason(error)}{advice}"
            raise StorageError(message) from error


def parse_place(url_or_path: str | Path, *, what: str, examples: str) -> Place:
    """Read a path of an SQLite file or an SQLAlchemy URL.

    PostgreSQL without a named driver means psycopg, which the package's extra installs.

    Raises:
        ConfigError: the URL cannot be read, is of another kind, or what it needs is missing.
    """
    text = str(url_or_path)
    if isinstance(url_or_path, str) and _MISTYPED.match(text):
        # Taken as a path, it would create a file of this name and show the password.
        raise ConfigError(f"{what}: got a URL that cannot be read, expected {examples}")
    if isinstance(url_or_path, Path) or "://" not in text:
        return _sqlite_place(text)
    if text.startswith(_FILE_URL) and "?" not in text:
        return _sqlite_place(text.removeprefix(_FILE_URL))

    need_sqlalchemy(what, "postgres")
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        # The text is not shown, since it may contain a password anywhere.
        raise ConfigError(f"{what}: got a URL that cannot be read, expected {examples}") from None
    if url.drivername in ("postgres", "postgresql"):
        url = url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() == "sqlite":
        return _sqlite_place(url.database)
    if url.get_backend_name() != "postgresql":
        raise ConfigError(f"{what}: got a URL of {url.drivername!r}, expected {examples}")
    _check_driver(url, what, examples)
    return Place(url=url)


def need_sqlalchemy(what: str, extra: str) -> None:
    """Check that SQLAlchemy is installed, which an extra of the package brings.

    Raises:
        ConfigError: it is not.
    """
    try:
        import sqlalchemy  # noqa: F401
    except ImportError:
        raise ConfigError(
            f"{what}: needs SQLAlchemy, which is not installed "
            f"(pip install 'pytest-rageval[{extra}]')"
        ) from None


def _sqlite_place(name: str | None) -> Place:
    return Place(file=None if name in (None, "", IN_MEMORY) else Path(str(name)))


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


def driver_error(error: BaseException | None) -> BaseException | None:
    """Return a database driver's error, without SQLAlchemy's around it; None: another error."""
    # The driver decodes messages of SQLite, which quote a damaged file.
    if isinstance(error, sqlite3.Error | UnicodeDecodeError):
        return error
    library = sys.modules.get("sqlalchemy.exc")  # not imported: none of its errors
    if library is None or not isinstance(error, library.SQLAlchemyError):
        return None
    original: BaseException | None = getattr(error, "orig", None)
    return original or error


def sqlite_code(error: BaseException | None) -> int | None:
    """Return SQLite's primary result code; None: not an error of SQLite."""
    code = getattr(driver_error(error), "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def is_broken(error: BaseException | None) -> bool:
    """Return whether an SQLite file is damaged, or not a database."""
    return isinstance(error, UnicodeDecodeError) or sqlite_code(error) in _BROKEN


def _connect_to_read(file: Path | None, patience_s: float) -> sqlite3.Connection:
    """Open a file that other processes may write, or that is read-only.

    A left-over log (``-wal``) is read too; without one SQLite tries to create it, unless the file
    is declared immutable. Without a file: an empty database in memory.
    """
    uris = [IN_MEMORY]
    if file is not None and file.exists():
        name = f"file:{quote(str(file.resolve()))}"
        uris = [f"{name}?mode={mode}" for mode in ("rw", "ro", "ro&immutable=1")]
    failure: sqlite3.OperationalError | None = None
    for uri in uris:
        connection = _open_sqlite(uri, patience_s, uri=True)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").close()
            return connection
        except sqlite3.OperationalError as error:
            connection.close()
            failure = failure or error
    assert failure is not None  # one of them was tried
    raise failure


def _open_sqlite(name: str, patience_s: float, *, uri: bool = False) -> sqlite3.Connection:
    # The driver must not begin transactions: it would do so at the first change, too late for
    # reads that belong to the transaction.
    return sqlite3.connect(
        name,
        uri=uri,
        timeout=patience_s,
        check_same_thread=False,
        isolation_level=None,
    )


def _turn_on_wal(driver: sqlite3.Connection, patience_s: float) -> None:
    """Allow concurrent readers and a writer.

    Without a sync at each commit a power failure may lose the last changes, but not the file.
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
            # Processes that start at once block each other, and SQLite does not wait here.
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(0.02)
