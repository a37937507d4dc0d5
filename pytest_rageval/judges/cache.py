"""Verdicts and forms of requests, stored by hashes of everything they depend on.

One file of SQLite, by the standard library alone, that processes and threads of many runs share.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from pytest_rageval.support import sqlite
from pytest_rageval.support.http.address import (
    without_query_secrets,
    without_secrets,
    without_user_info,
)
from pytest_rageval.support.process import Closing
from pytest_rageval.support.text import clean
from pytest_rageval.values.errors import StorageError

BUSY_S: Final = 30.0
"""Maximum wait for other writers in seconds; a write takes less than a millisecond."""
CACHE_VERSION: Final = 1
"""Another version is refused, not migrated: a cache can be created again."""
MAX_DOCUMENT_BYTES: Final = 1_000_000
_DAY_S: Final = 86_400
"""A use is noted at most once a day: a run with 2,000 hits should not write 2,000 times."""
_UNWRITABLE: Final = frozenset(
    {sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}
)

_VERSION: Final = "rageval_judge_cache"
_VERDICTS: Final = "rageval_judge_verdicts"
_LEVELS: Final = "rageval_judge_levels"
_CREATE: Final = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS {_LEVELS} (
    key VARCHAR(64) NOT NULL PRIMARY KEY, document TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS {_VERDICTS} (
    key VARCHAR(64) NOT NULL PRIMARY KEY, identity TEXT NOT NULL, document TEXT NOT NULL,
    created_at BIGINT NOT NULL, used_at BIGINT NOT NULL
);
CREATE TABLE IF NOT EXISTS {_VERSION} (id INTEGER NOT NULL PRIMARY KEY, version INTEGER NOT NULL);
INSERT INTO {_VERSION} (id, version) VALUES (1, {CACHE_VERSION}) ON CONFLICT DO NOTHING;
COMMIT;
"""
_PUT: Final = (
    f"INSERT OR REPLACE INTO {_VERDICTS} (key, identity, document, created_at, used_at)"
    " VALUES (:key, :identity, :document, :now, :now)"
)
_COUNT: Final = (
    "SELECT identity, count(*), sum(length(document)), min(used_at), max(used_at)"
    f" FROM {_VERDICTS} GROUP BY identity ORDER BY identity"
)
_DELETE: Final = (
    f"DELETE FROM {_VERDICTS} WHERE (:identity IS NULL OR identity = :identity)"
    " AND (:before IS NULL OR used_at <= :before)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStats:
    """Number, size and age of the entries of a cache."""

    entries: int = 0
    document_bytes: int = 0
    """Total size of the documents; a file is a little larger."""
    by_identity: Mapping[str, int] = field(default_factory=dict)
    """Judge to its number of entries, in the order of their names."""
    oldest_use: datetime | None = None
    """To the day; None: the cache is empty."""
    newest_use: datetime | None = None


class JudgeCache(Closing):
    """Verdicts that the processes and threads of many runs share; usable as a context manager.

    A file that cannot be written is still read, and sets ``warning``: a full disk should not end a
    run whose verdicts are paid for.

    Args:
        file: of SQLite, whose folder is made where it is missing.
        clock: seconds since 1970.

    Raises:
        StorageError: the file cannot be opened or read, or another version wrote it.
    """

    def __init__(self, file: Path, *, clock: Callable[[], float] = time.time) -> None:
        self.shown: Final = str(file)
        """File, for messages."""
        self.warning: str | None = None
        """One line for the user about data that is not kept; None: no problem."""
        self.read_only = False
        """Whether new verdicts are not kept; ``warning`` holds the reason."""
        self._file = file
        self._clock = clock
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        with self._named_errors():
            self._open()

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    # --- entries ---------------------------------------------------------------------------

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the document of a key; None: it is missing or not a JSON object.

        Raises:
            StorageError: the file cannot be read, or the cache is closed.
        """
        rows = self._read(f"SELECT document, used_at FROM {_VERDICTS} WHERE key = :key", key=key)
        if not rows:
            return None
        text, used_at = rows[0]
        now = int(self._clock())
        if now - used_at >= _DAY_S and not self.read_only:
            # Another process may be writing for a long time; only an age is lost.
            with suppress(StorageError):
                self._change(
                    f"UPDATE {_VERDICTS} SET used_at = :now WHERE key = :key", key=key, now=now
                )
        return self._document(key, text)

    def put(self, key: str, document: Mapping[str, Any], *, identity: str) -> bool:
        """Keep a document under a key, in place of an earlier one.

        Args:
            key: from ``judgement_key``.
            document: JSON values without secrets.
            identity: identity of the judge, to prune by; credentials in a URL are removed.

        Returns:
            Whether it was kept. Documents above ``MAX_DOCUMENT_BYTES`` are not, nor are any if the
            file cannot be written; both set ``warning``.

        Raises:
            ValueError: the document contains a value that is not JSON, such as NaN.
            StorageError: the file is broken, or the cache is closed.
        """
        identity, now = _encoded_identity(identity), int(self._clock())
        return self._keep(_PUT, document, key=key, identity=identity, now=now)

    def get_level(self, endpoint: str, model: str) -> dict[str, Any] | None:
        """Return the form of request that an endpoint and model accept; see ``get``."""
        key = level_key(endpoint, model)
        rows = self._read(f"SELECT document FROM {_LEVELS} WHERE key = :key", key=key)
        return self._document(key, rows[0][0]) if rows else None

    def put_level(self, endpoint: str, model: str, document: Mapping[str, Any]) -> bool:
        """Store the form of request that an endpoint and model accept; see ``put``."""
        put = f"INSERT OR REPLACE INTO {_LEVELS} (key, document) VALUES (:key, :document)"
        return self._keep(put, document, key=level_key(endpoint, model))

    def _document(self, key: str, text: str) -> dict[str, Any] | None:
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            document = None
        if isinstance(document, dict):
            return document
        # It costs one question, and the answer replaces the broken entry.
        self._warn(f"entry {key[:12]}: no JSON object, asked again")
        return None

    # --- maintenance ----------------------------------------------------------------------

    def prune(self, *, older_than: timedelta | None = None, identity: str | None = None) -> int:
        """Delete verdicts and return their number; the file shrinks unless others read it.

        Args:
            older_than: delete only verdicts that were not used for so long, to the day.
            identity: delete only verdicts of this judge.

        Raises:
            ValueError: both are None, or the age is below 0.
            StorageError: the file cannot be written.
        """
        if older_than is None and identity is None:
            raise ValueError("prune: got nothing, expected an age or a judge")
        if older_than is not None and older_than < timedelta():
            raise ValueError(f"prune: got {older_than}, expected 0 or more")
        if self.read_only:
            raise StorageError.of("", "invalid", reason=self.warning or self.shown)
        gone = self._change(
            _DELETE,
            identity=None if identity is None else _encoded_identity(identity),
            before=None if older_than is None else int(self._clock() - older_than.total_seconds()),
        )
        if gone:
            with suppress(StorageError):
                self._change("VACUUM")
        return gone

    def stats(self) -> CacheStats:
        """Count the entries of the cache.

        Raises:
            StorageError: the file cannot be read, or an entry of it is damaged.
        """
        rows = self._read(_COUNT)
        try:
            return CacheStats(
                entries=sum(entries for _, entries, *_ in rows),
                document_bytes=sum(size for _, _, size, *_ in rows),
                by_identity={_identity(identity): entries for identity, entries, *_ in rows},
                oldest_use=_time(min((oldest for *_, oldest, _ in rows), default=None)),
                newest_use=_time(max((newest for *_, newest in rows), default=None)),
            )
        except (OSError, OverflowError, RecursionError, TypeError, ValueError) as error:
            # SQLite keeps values of any type in any column.
            raise StorageError.of(self.shown, "cache_row", reason=clean(str(error), 200)) from error

    # --- statements ------------------------------------------------------------------------

    def _named_errors(self) -> AbstractContextManager[None]:
        return sqlite.named_errors(self.shown)

    def _warn(self, text: str) -> None:
        """Store the first problem as the warning for the user."""
        self.warning = self.warning or f"{self.shown}: {text}"

    def _read(self, sql: str, **values: Any) -> Sequence[tuple[Any, ...]]:
        with self._named_errors(), self._lock:
            return self._open_connection().execute(sql, values).fetchall()

    def _change(self, sql: str, **values: Any) -> int:
        with self._named_errors(), self._lock:
            return self._open_connection().execute(sql, values).rowcount

    def _open_connection(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StorageError.of(self.shown, "unusable", reason="it is closed")
        return self._connection

    def _keep(self, sql: str, document: Mapping[str, Any], **values: Any) -> bool:
        """Write a document; the first failure stops all writing and becomes the warning."""
        text = encode(dict(document))
        if len(text) > MAX_DOCUMENT_BYTES:
            self._warn(f"a verdict of {len(text):,} bytes is too long to be kept")
            return False
        self._open_connection()
        if self.read_only:
            return False
        try:
            self._change(sql, document=text, **values)
        except StorageError as error:
            cause = error.__cause__
            if not isinstance(cause, sqlite.DRIVER_ERRORS) or sqlite.is_broken(cause):
                raise
            self._stop_writing(sqlite.reason(cause))
            return False
        return True

    # --- opening ---------------------------------------------------------------------------

    def _open(self) -> None:
        try:
            sqlite.make_folder(self._file)
            self._connection = self._connect(write=True, create=True)
        except (FileExistsError, NotADirectoryError):
            raise StorageError.of(self.shown, "file_there") from None
        except OSError as error:
            self._open_read_only(error.strerror or str(error))
        except sqlite3.OperationalError as error:
            if sqlite.result_code(error) not in _UNWRITABLE:
                raise
            self._open_read_only(sqlite.reason(error))

    def _open_read_only(self, reason: str) -> None:
        """Open the file without permission to write it or its folder; empty without a file."""
        self._stop_writing(reason)
        try:
            self._connection = self._connect(write=False, create=not self._file.exists())
        except sqlite3.OperationalError as error:
            raise StorageError.of(self.shown, "unusable", reason=reason) from error

    def _stop_writing(self, reason: str) -> None:
        self.read_only = True
        self._warn(f"new verdicts are not kept: {reason}")

    def _connect(self, *, write: bool, create: bool) -> sqlite3.Connection:
        connection = sqlite.connect(self._file, patience_s=BUSY_S, write=write)
        try:
            found = _version(connection)
            if found is None and create:
                connection.executescript(_CREATE)
                found = _version(connection)
            if found is None:
                raise StorageError.of(self.shown, "no_cache")
            if found != CACHE_VERSION:
                raise StorageError.of(
                    self.shown, "cache_version", found=repr(found), expected=CACHE_VERSION
                )
            if create:
                # SQLite also opens a file that it may not write; only a write shows it.
                connection.execute(f"UPDATE {_VERSION} SET id = 1 WHERE 1 = 0")
        except BaseException:
            connection.close()
            raise
        return connection


def _version(connection: sqlite3.Connection) -> Any:
    """Return the version of the tables; None: they are missing."""
    found = f"SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '{_VERSION}'"
    if connection.execute(found).fetchone() is None:
        return None
    row = connection.execute(f"SELECT version FROM {_VERSION}").fetchone()
    return row and row[0]


def _identity(text: str) -> str:
    found = json.loads(text)
    if not isinstance(found, str):
        raise ValueError("identity: expected a text")
    return found


def _time(seconds: int | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


_SHA256: Final = re.compile(r"[0-9a-f]{64}")


def judgement_key(
    prompt_sha256: str,
    repeat: int,
    *,
    identity: str,
    parameters: Mapping[str, Any],
    rubric_version: str,
    level: str,
) -> str:
    """Return the key of a judgement: 64 hex digits.

    Neither the order of parameters nor the way a number is written matters: 0 is 0.0.

    Args:
        prompt_sha256: hash of the rendered prompt, 64 hex digits.
        repeat: number of the sampling repeat, from 0.
        identity: identity of the judge, with base URL and model; credentials in the URL do not
            count, so that a new API key finds verdicts paid for with the old one.
        parameters: parameters sent besides the prompt; JSON values without secrets.
        rubric_version: name and hash of the rubric.
        level: output level of the request.

    Raises:
        ValueError: the hash is malformed, or a parameter is not a JSON value.
    """
    if not _SHA256.fullmatch(prompt_sha256):
        raise ValueError(f"prompt_sha256: got {prompt_sha256[:70]!r}, expected 64 hex digits")
    return _sha256(
        _sorted_json(
            {
                "identity": _without_credentials(identity),
                "level": level,
                "parameters": _canonical(parameters),
                "prompt_sha256": prompt_sha256,
                "repeat": repeat,
                "rubric_version": rubric_version,
            }
        )
    )


def level_key(endpoint: str, model: str) -> str:
    """Return the key of the output level of an endpoint and model: 64 hex digits."""
    return _sha256(_sorted_json([_without_credentials(endpoint), model]))


def public_identity(identity: str) -> str:
    """Remove possible secrets from a judge's identity that contains a URL.

    >>> public_identity("gpt-5 at https://user:s3cret@example.org/v1?key=s3cret")
    'gpt-5 at https://example.org/v1'
    """
    return " ".join(
        without_secrets(part) if "://" in part else part for part in identity.split(" ")
    )


def _encoded_identity(identity: str) -> str:
    return json.dumps(public_identity(identity))


@lru_cache(maxsize=64)
def _without_credentials(text: str) -> str:
    return without_query_secrets(without_user_info(text))


def encode(value: Any) -> str:
    """Encode a JSON value as ASCII, so that halves of surrogate pairs and NUL can be kept too.

    Raises:
        ValueError: NaN, an infinite number, or not a JSON value.
    """
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except TypeError as error:
        raise ValueError(f"got {error}, expected JSON values") from None


def _sorted_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _canonical(value: Any) -> Any:
    if isinstance(value, Mapping):
        if wrong := [key for key in value if not isinstance(key, str)]:
            raise ValueError(f"got the key {wrong[0]!r:.80}, expected a text")
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_canonical(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise ValueError(f"got {value!r:.80}, expected a JSON value")
