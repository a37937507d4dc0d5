"""Files of SQLite that several processes share: connections, folders and the reasons of errors."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

from pytest_rageval.values.errors import StorageError

_GITIGNORE: Final = "# Made by pytest-rageval; this folder can be deleted at any time.\n*\n"
_BROKEN: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
DRIVER_ERRORS: Final = (sqlite3.Error, UnicodeDecodeError)
"""The driver decodes messages of SQLite, which quote a damaged file."""


def connect(file: Path, *, patience_s: float, write: bool = True) -> sqlite3.Connection:
    """Open a file for any thread; transactions are the caller's.

    Args:
        file: the file.
        patience_s: maximum wait for other writers, in seconds.
        write: whether to write the file; otherwise it may be read-only, or missing, which
            counts as empty.
    """
    if not write:
        return _connect_to_read(file, patience_s)
    connection = _open(str(file), patience_s)
    # A log allows concurrent readers and a writer. Without a sync at each commit a power failure
    # may lose the last changes, but not the file. Of processes that start at once one turns it on,
    # and a file that is damaged or cannot be written fails at the first statement.
    with suppress(sqlite3.DatabaseError):
        connection.executescript("PRAGMA synchronous=NORMAL; PRAGMA journal_mode=WAL")
    return connection


def make_folder(file: Path) -> None:
    """Create the folder of a file; a new or empty one gets a ``.gitignore``.

    Raises:
        StorageError: the file is a folder.
        OSError: its folder cannot be made.
    """
    if file.is_dir():
        raise StorageError.of(file, "folder_there")
    folder = file.parent
    if folder.is_dir() and any(folder.iterdir()):
        # Such as the root of a project, where the rule would ignore everything.
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text(_GITIGNORE, encoding="utf-8")


@contextmanager
def named_errors(shown: str) -> Iterator[None]:
    """Raise errors of SQLite in its block as a ``StorageError`` that names the file."""
    try:
        yield
    except DRIVER_ERRORS as error:
        file = Path(shown).name if is_broken(error) else None
        raise StorageError.of(shown, "database_failed", reason=reason(error), file=file) from error


def reason(error: BaseException) -> str:
    """Return the first line of an error of SQLite."""
    if isinstance(error, ValueError):
        return "the file is damaged"
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def result_code(error: BaseException | None) -> int | None:
    """Return SQLite's primary result code; None: not an error of SQLite."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def is_broken(error: BaseException | None) -> bool:
    """Return whether a file is damaged, or not a database."""
    return isinstance(error, ValueError) or result_code(error) in _BROKEN


def _connect_to_read(file: Path, patience_s: float) -> sqlite3.Connection:
    """Open a file that other processes may write, or that is read-only.

    A left-over log (``-wal``) is read too; without one SQLite tries to create it, unless the file
    is declared immutable. Without a file: an empty database in memory.
    """
    if not file.exists():
        return _open(":memory:", patience_s)
    name = f"file:{quote(str(file.resolve()))}"
    failure: sqlite3.OperationalError | None = None
    for mode in ("rw", "ro", "ro&immutable=1"):
        connection = _open(f"{name}?mode={mode}", patience_s, uri=True)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").close()
            return connection
        except sqlite3.OperationalError as error:
            connection.close()
            failure = failure or error
    assert failure is not None  # one of them was tried
    raise failure


def _open(name: str, patience_s: float, *, uri: bool = False) -> sqlite3.Connection:
    # The driver must not begin transactions: it would do so at the first change, too late for
    # reads that belong to the transaction.
    return sqlite3.connect(
        name,
        uri=uri,
        timeout=patience_s,
        check_same_thread=False,
        isolation_level=None,
    )
