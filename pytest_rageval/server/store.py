"""Cache of built indexes on disk, keyed by their inputs and written atomically."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import shutil
import sqlite3
import time
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from pytest_rageval.server.chunking import CHUNKER_VERSION, Chunk
from pytest_rageval.server.config import ReferenceConfig
from pytest_rageval.server.index import INDEX_FORMAT, Index, build_index, embedder_of, with_findings
from pytest_rageval.server.terms import LexicalIndex, TermFrequencies
from pytest_rageval.server.vault import Finding, Note
from pytest_rageval.server.vector import LsaModel

KEPT_INDEXES = 8
"""Maximum number of entries of a cache folder; the least recently used are removed first."""

_DATABASE, _ARRAYS = "index.sqlite", "vectors.npz"
_SCRATCH = ".building-"
_DAMAGE = (
    OSError, ValueError, KeyError, TypeError, EOFError, RecursionError, sqlite3.Error,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""Errors of reading an entry that is damaged."""
_COLUMNS = tuple(field.name for field in fields(Chunk))
_log = logging.getLogger("rageval.reference")


def index_key(config: ReferenceConfig, notes: Sequence[Note]) -> str:
    """Return 32 hex digits over everything the index depends on: note bytes and build settings."""
    settings = {
        "format": INDEX_FORMAT,
        "chunker": CHUNKER_VERSION,
        "vault": config.effective_vault_name,
        "chunk_tokens": config.chunk_tokens,
        "chunk_overlap": config.chunk_overlap,
        "embedding_model": config.embedding_model,
        "embedder_url": config.embedder_url if config.embedder == "endpoint" else None,
        "notes": [[note.rel_path, note.digest] for note in notes],
    }
    return hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:32]


def index_version(key: str) -> str:
    """Return the value of `indexing_coverage.index_version` for a key."""
    return f"{INDEX_FORMAT}-{key[:12]}"


def open_index(
    config: ReferenceConfig, notes: Sequence[Note], findings: Sequence[Finding]
) -> Index:
    """Load the index of these notes from the cache, or build and keep it."""
    key = index_key(config, notes)
    entry = config.cache_dir / key if config.cache_dir else None
    if entry is not None and entry.is_dir():
        try:
            loaded = _load(entry, config)
        except _DAMAGE as error:
            _log.warning("cached index %s is damaged (%s); building it again", key, error)
        else:
            return with_findings(loaded, notes, findings)
    index = build_index(config, notes, version=index_version(key), findings=findings)
    if entry is not None:
        try:
            _save(index, entry)
        except (OSError, sqlite3.Error) as error:
            # A read-only or full disk costs time at the next start, not this one.
            _log.warning("index not cached in %s: %s", entry.parent, error)
    return index


def _save(index: Index, entry: Path) -> None:
    """Write an entry to a temporary name, then rename it: it is never seen incomplete."""
    folder = entry.parent
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    scratch = entry.with_name(f"{_SCRATCH}{os.urandom(4).hex()}")
    scratch.mkdir()
    try:
        _write_database(index, scratch / _DATABASE)
        _write_arrays(index, scratch / _ARRAYS)
        if entry.exists():
            os.replace(entry, scratch / "replaced")
        # Another process may have finished the same entry in the meantime: keep that one.
        with contextlib.suppress(OSError):
            os.rename(scratch, entry)
            shutil.rmtree(entry / "replaced", ignore_errors=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    _drop_oldest(entry)


def _drop_oldest(entry: Path) -> None:
    def last_used(path: Path) -> float:
        with contextlib.suppress(OSError):
            return path.stat().st_mtime
        return 0.0

    names = (path for path in entry.parent.iterdir() if (path / _ARRAYS).is_file())
    others = sorted((path for path in names if path != entry), key=last_used)
    day_ago = time.time() - 24 * 3600  # younger ones may be written now, others' process was killed
    left = (path for path in entry.parent.glob(f"{_SCRATCH}*") if last_used(path) < day_ago)
    for path in (*others[: max(0, len(others) + 1 - KEPT_INDEXES)], *left):
        shutil.rmtree(path, ignore_errors=True)


def _write_database(index: Index, path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as target:
        index.lexical.copy_to(target)
        target.execute(f"CREATE TABLE chunk ({', '.join(_COLUMNS)})")
        marks = ", ".join("?" * len(_COLUMNS))
        target.executemany(
            f"INSERT INTO chunk VALUES ({marks})",
            ([getattr(chunk, name) for name in _COLUMNS] for chunk in index.chunks),
        )
        target.execute("CREATE TABLE meta (name PRIMARY KEY, value)")
        values = {
            "coverage": index.coverage,
            "frequencies": index.frequencies.by_term,
            "vocabulary": list(index.lsa.vocabulary) if index.lsa else None,
        }
        target.executemany(
            "INSERT INTO meta VALUES (?, ?)", [(k, json.dumps(v)) for k, v in values.items()]
        )
        target.commit()


def _write_arrays(index: Index, path: Path) -> None:
    arrays = {"vectors": index.vectors}
    if index.lsa:
        arrays["projection"] = index.lsa.projection
    with path.open("wb") as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]


def _load(entry: Path, config: ReferenceConfig) -> Index:
    with contextlib.suppress(OSError):
        os.utime(entry)
    with np.load(entry / _ARRAYS, allow_pickle=False) as arrays:
        vectors = arrays["vectors"]
        projection = arrays["projection"] if "projection" in arrays else None
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    try:
        chunks, meta = _read_database(entry / _DATABASE, connection)
    except BaseException:
        connection.close()
        raise
    lsa = None
    if projection is not None:
        rows = {term: row for row, term in enumerate(meta["vocabulary"])}
        lsa = LsaModel(rows, projection)
    return Index(
        chunks=chunks,
        frequencies=TermFrequencies(len(chunks), meta["frequencies"]),
        lexical=LexicalIndex(connection, len(chunks)),
        vectors=vectors,
        lsa=lsa,
        embedder=embedder_of(config),
        coverage=meta["coverage"],
        origin="loaded",
    )


def _read_database(
    path: Path, connection: sqlite3.Connection
) -> tuple[tuple[Chunk, ...], dict[str, Any]]:
    """Copy a stored database into an open one, so that no file stays open."""
    with contextlib.closing(
        sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    ) as source:
        source.backup(connection)
    rows = connection.execute(f"SELECT {', '.join(_COLUMNS)} FROM chunk ORDER BY rowid")
    chunks = tuple(Chunk(**dict(zip(_COLUMNS, row, strict=True))) for row in rows)
    meta = {name: json.loads(value) for name, value in connection.execute("SELECT * FROM meta")}
    return chunks, meta
