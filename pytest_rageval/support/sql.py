"""Where a cache lies: a file or a URL, and how it is named in messages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from pytest_rageval.support.http.address import blot_out
from pytest_rageval.values.errors import ConfigError

if TYPE_CHECKING:
    from sqlalchemy import URL

IN_MEMORY: Final = ":memory:"
_GITIGNORE: Final = "# Made by pytest-rageval; this folder can be deleted at any time.\n*\n"
_EXAMPLES: Final = "sqlite:///evals/cache/judge.sqlite or postgresql+psycopg://user@host/database"


def parse_url(
    url_or_path: str | Path, *, what: str = "judge cache", examples: str = _EXAMPLES
) -> URL:
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
        return URL.create("sqlite", database=str(url_or_path))
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
    return url


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


def file_of(url: URL) -> Path | None:
    """Return the file of an SQLite URL; None: it has none, as one in memory."""
    if url.get_backend_name() != "sqlite" or url.database in (None, "", IN_MEMORY):
        return None
    return Path(str(url.database))


def show(url: URL) -> str:
    """Return the file, or the URL without credentials and query."""
    from sqlalchemy import URL

    file = file_of(url)
    if file is not None:
        return str(file)
    bare = URL.create(url.drivername, host=url.host, port=url.port, database=url.database)
    return bare.render_as_string()


def without_password(text: str, url: URL) -> str:
    """Blot the passwords of a URL out of a message of its driver."""
    hidden: list[str] = []
    for name, value in url.query.items():
        if "password" in name:
            hidden += [value] if isinstance(value, str) else value
    return blot_out(text, [*hidden, url.password or ""])


def make_folder(file: Path) -> None:
    """Make the folder of a cache; one that was missing or empty tells git to leave it alone.

    Raises:
        OSError: it cannot be made.
    """
    folder = file.parent
    if folder.is_dir() and any(folder.iterdir()):
        # Such as the root of a project, where the rule would hide everything.
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text(_GITIGNORE, encoding="utf-8")


def read_only_uris(file: Path | None) -> list[str]:
    """Return how to read a file that cannot be written, best way first.

    A file whose log (``-wal``) was left over is read with it; without one SQLite wants to make
    it, unless it is told that nobody changes the file. No file: an empty database in memory.
    """
    if file is None or not file.exists():
        return [IN_MEMORY]
    name = f"file:{quote(str(file.resolve()))}?mode=ro"
    return [name, f"{name}&immutable=1"]
