"""Cache of built indexes on disk, keyed by their inputs and written atomically."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from pytest_rageval.server.chunking import CHUNKER_VERSION, Chunk
from pytest_rageval.server.config import ReferenceConfig
from pytest_rageval.server.index import INDEX_FORMAT, Index, build_index, embedder_of, with_findings
from pytest_rageval.server.terms import LexicalIndex, TermFrequencies
from pytest_rageval.server.vault import Finding, Note
from pytest_rageval.server.vector import LsaModel

KEPT_INDEXES = 8
"""Maximum number of entries of a cache folder; the least recently used are removed first."""

_SUFFIX, _SCRATCH = ".npz", ".building-"
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
    entry = config.cache_dir / f"{key}{_SUFFIX}" if config.cache_dir else None
    if entry is not None and entry.is_file():
        try:
            loaded = _load(entry, config)
        except Exception as error:  # of many types, where an entry is damaged
            _log.warning("cached index %s is damaged (%s); building it again", key, error)
        else:
            return with_findings(loaded, notes, findings)
    index = build_index(config, notes, version=index_version(key), findings=findings)
    if entry is not None:
        try:
            _save(index, entry)
        except OSError as error:
            # A read-only or full disk costs time at the next start, not this one.
            _log.warning("index not cached in %s: %s", entry.parent, error)
    return index


def _save(index: Index, entry: Path) -> None:
    """Write an entry to a temporary name, then rename it: it is never seen incomplete."""
    folder = entry.parent
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    content = {
        "chunks": [asdict(chunk) for chunk in index.chunks],
        "coverage": index.coverage,
        "frequencies": index.frequencies.by_term,
        "vocabulary": list(index.lsa.vocabulary) if index.lsa else None,
    }
    arrays = {
        "vectors": index.vectors,
        "content": np.frombuffer(json.dumps(content).encode(), np.uint8),
    }
    if index.lsa:
        arrays["projection"] = index.lsa.projection
    scratch = folder / f"{_SCRATCH}{os.urandom(4).hex()}"
    try:
        with scratch.open("wb") as stream:
            np.savez(stream, **arrays)  # type: ignore[arg-type]
        os.replace(scratch, entry)
    finally:
        scratch.unlink(missing_ok=True)
    _drop_oldest(folder)


def _drop_oldest(folder: Path) -> None:
    def last_used(path: Path) -> float:
        with contextlib.suppress(OSError):
            return path.stat().st_mtime
        return 0.0

    # Those that a killed process did not finish are among them.
    entries = [*folder.glob(f"*{_SUFFIX}"), *folder.glob(f"{_SCRATCH}*")]
    for path in sorted(entries, key=last_used)[:-KEPT_INDEXES]:
        with contextlib.suppress(OSError):
            path.unlink()


def _load(entry: Path, config: ReferenceConfig) -> Index:
    with contextlib.suppress(OSError):
        os.utime(entry)
    # numpy leaves a damaged file open that it opened itself.
    with entry.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        content = json.loads(arrays["content"].tobytes())
        vectors, lsa = arrays["vectors"], None
        if "projection" in arrays:
            rows = {term: row for row, term in enumerate(content["vocabulary"])}
            lsa = LsaModel(rows, arrays["projection"])
    chunks = tuple(Chunk(**row) for row in content["chunks"])
    return Index(
        chunks=chunks,
        frequencies=TermFrequencies(len(chunks), content["frequencies"]),
        lexical=LexicalIndex(chunks),
        vectors=vectors,
        lsa=lsa,
        embedder=embedder_of(config),
        coverage=content["coverage"],
        origin="loaded",
    )
