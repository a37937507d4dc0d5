"""Verdicts and output levels, stored by hashes of everything they depend on."""

from __future__ import annotations

import hashlib
import json
import math
import re
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from pytest_rageval.judges.cache import database as sql
from pytest_rageval.support.closing import Closing
from pytest_rageval.support.http.address import (
    without_query_secrets,
    without_secrets,
    without_user_info,
)
from pytest_rageval.support.json_ascii import ascii_json
from pytest_rageval.support.text import clean
from pytest_rageval.values.errors import StorageError

MAX_DOCUMENT_BYTES: Final = 1_000_000
FLUSH_S: Final = 0.5
"""Longest time in seconds that a verdict is in memory alone."""
_MAX_PENDING: Final = 64
"""Verdicts that are written in one transaction."""
_DAY_S: Final = 86_400
"""A use is noted at most once a day: a run with 2,000 hits should not write 2,000 times."""
_MAX_USED: Final = 500
"""Uses that are noted in one transaction."""


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

    A verdict is written at once, or with those of the next ``FLUSH_S`` if one was written a moment
    ago; this process sees it in any case. A file that cannot be written is still read, and sets
    ``warning``.

    Args:
        file: of SQLite, whose folder is made where it is missing.
        clock: seconds since 1970.

    Raises:
        StorageError: the file cannot be opened or read, or another version wrote it.
    """

    def __init__(self, file: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._database = sql.Database(file)
        self.shown: Final = self._database.shown
        """File, for messages."""
        self._clock = clock
        self._pending: dict[str, dict[str, Any]] = {}
        self._used: set[str] = set()
        self._written_s = -math.inf
        self._lock = threading.RLock()
        self._timer: threading.Timer | None = None

    @property
    def read_only(self) -> bool:
        """Whether new verdicts are not kept; ``warning`` holds the reason."""
        return not self._database.writable

    @property
    def warning(self) -> str | None:
        """One line for the user about data that is not kept; None: no problem."""
        return self._database.warning

    def close(self) -> None:
        """Write what is pending and close the database; a second call does nothing."""
        with self._lock, suppress(StorageError):
            if self._timer is not None:
                self._timer.cancel()
            self.flush()
            self._note_uses()
        self._database.close()

    # --- entries ---------------------------------------------------------------------------

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the document of a key; None: it is missing or not a JSON object.

        Raises:
            StorageError: the database cannot be read, or the cache is closed.
        """
        if (pending := self._pending.get(key)) is not None:
            text, used_at = pending["document"], pending["used_at"]
        elif rows := self._database.read(sql.GET, key=key):
            text, used_at = rows[0]
        else:
            return None
        if self._clock() - used_at >= _DAY_S:
            self._note_use(key)
        return self._document(key, text)

    def put(self, key: str, document: Mapping[str, Any], *, identity: str) -> bool:
        """Keep a document under a key, in place of an earlier one.

        Args:
            key: from ``judgement_key``.
            document: JSON values without secrets.
            identity: identity of the judge, to prune by; credentials in a URL are removed.

        Returns:
            Whether it was kept, or will be. Documents above ``MAX_DOCUMENT_BYTES`` are not, nor are
            any if the database cannot be written; both set ``warning``.

        Raises:
            ValueError: the document contains a value that is not JSON, such as NaN.
            StorageError: the file is broken, or the cache is closed.
        """
        text = self._text(document)
        if text is None:
            return False
        row = {
            "key": key,
            "identity": _encoded_identity(identity),
            "document": text,
            "used_at": int(self._clock()),
        }
        with self._lock:
            self._database.check_open()
            if not self._database.writable:
                return False
            self._pending[key] = row
            late = time.monotonic() - self._written_s >= FLUSH_S
            if late or len(self._pending) >= _MAX_PENDING:
                return self.flush()
            if self._timer is None:
                self._timer = threading.Timer(FLUSH_S, self._flush_late)
                self._timer.daemon = True
                self._timer.start()
            return True

    def flush(self) -> bool:
        """Write the pending verdicts; return whether they were kept.

        Raises:
            StorageError: the file is broken.
        """
        with self._lock:
            rows, self._pending = [*self._pending.values()], {}
            kept = not rows or self._database.keep(sql.PUT, *rows)
            self._written_s = time.monotonic()
            return kept

    def _flush_late(self) -> None:
        with self._lock, suppress(StorageError):  # raised again by the next verdict
            self._timer = None
            self.flush()

    def get_level(self, endpoint: str, model: str) -> dict[str, Any] | None:
        """Return the form of request that an endpoint and model accept; see ``get``."""
        key = level_key(endpoint, model)
        rows = self._database.read(sql.GET_LEVEL, key=key)
        return self._document(key, rows[0][0]) if rows else None

    def put_level(self, endpoint: str, model: str, document: Mapping[str, Any]) -> bool:
        """Store the form of request that an endpoint and model accept; see ``put``."""
        text = self._text(document)
        if text is None:
            return False
        row = {"key": level_key(endpoint, model), "document": text}
        return self._database.keep(sql.PUT_LEVEL, row)

    def _document(self, key: str, text: str) -> dict[str, Any] | None:
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            document = None
        if isinstance(document, dict):
            return document
        # It costs one question, and the answer replaces the broken entry.
        self._database.warn(f"entry {key[:12]}: no JSON object, asked again")
        return None

    def _text(self, document: Mapping[str, Any]) -> str | None:
        text = encode(dict(document))
        if len(text) <= MAX_DOCUMENT_BYTES:
            return text
        self._database.warn(f"a verdict of {len(text):,} bytes is too long to be kept")
        return None

    # --- maintenance ----------------------------------------------------------------------

    def _note_use(self, key: str) -> None:
        with self._lock:
            self._used.add(key)
            if len(self._used) >= _MAX_USED:
                # Another process may be writing for a long time; only an age is lost.
                with suppress(StorageError):
                    self._note_uses()

    def _note_uses(self) -> None:
        with self._lock:
            used, self._used = sorted(self._used), set()
            if used and self._database.writable:
                now = int(self._clock())
                self._database.change(sql.NOTE_USE, *({"key": key, "now": now} for key in used))

    def prune(self, *, older_than: timedelta | None = None, identity: str | None = None) -> int:
        """Delete verdicts and return their number; the file shrinks unless others read it.

        Args:
            older_than: delete only verdicts that were not used for so long, to the day.
            identity: delete only verdicts of this judge.

        Raises:
            ValueError: both are None, or the age is below 0.
            StorageError: the database cannot be written.
        """
        if older_than is None and identity is None:
            raise ValueError("prune: got nothing, expected an age or a judge")
        if older_than is not None and older_than < timedelta():
            raise ValueError(f"prune: got {older_than}, expected 0 or more")
        if self.read_only:
            raise StorageError(self.warning or f"{self.shown}: cannot be written")
        self.flush()
        self._note_uses()
        judge = None if identity is None else _encoded_identity(identity)
        before = None if older_than is None else int(self._clock() - older_than.total_seconds())
        gone = self._database.change(sql.DELETE, {"identity": judge, "before": before})
        if gone:
            with suppress(StorageError):
                self._database.change(sql.SHRINK, {})
        return gone

    def stats(self) -> CacheStats:
        """Count the entries of the cache.

        Raises:
            StorageError: the database cannot be read, or an entry of it is damaged.
        """
        with suppress(StorageError):
            self.flush()
            self._note_uses()
        rows = self._database.read(sql.COUNT)
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
            raise StorageError(
                f"{self.shown}: an entry is damaged ({clean(str(error), 200)}); delete the file, "
                "and what it held is asked again"
            ) from error


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
        without_secrets(word) if "://" in word else word for word in identity.split(" ")
    )


def _encoded_identity(identity: str) -> str:
    return ascii_json(public_identity(identity))


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
