"""The search index of a vault: chunks, full text and vectors, and its cache on disk."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_rageval.server.chunking import CHUNKER_VERSION, Chunk, chunk_note
from pytest_rageval.server.config import ReferenceConfig
from pytest_rageval.server.terms import LexicalIndex, TermFrequencies, terms
from pytest_rageval.server.upstream import Endpoint, EndpointEmbedder
from pytest_rageval.server.vault import Note
from pytest_rageval.server.vector import LsaModel, fit_lsa, unit_rows

INDEX_FORMAT = "1"
DOC_TYPE = "markdown"


@dataclass(frozen=True, kw_only=True)
class Index:
    """An index as it was built or loaded; never changed, only replaced."""

    chunks: tuple[Chunk, ...]
    frequencies: TermFrequencies
    lexical: LexicalIndex
    vectors: NDArray[np.float32]
    """One unit vector for each chunk; zeros without one."""
    lsa: LsaModel | None
    """None: an endpoint embeds."""
    embedder: EndpointEmbedder | None
    coverage: Mapping[str, Any]
    """`debug.indexing_coverage`."""

    @cached_property
    def folder_of(self) -> tuple[str, ...]:
        """The folder of each chunk's note; `.` for the top of the vault."""
        return tuple(str(PurePosixPath(chunk.rel_path).parent) for chunk in self.chunks)

    def similarities(self, question: str) -> NDArray[np.float64]:
        """Return the cosine of the question with every chunk.

        Raises:
            UpstreamError: The embedding endpoint failed.
        """
        if not len(self.chunks):
            return np.zeros(0)
        if self.lsa is not None:
            vector: NDArray[np.float32] | None = self.lsa.embed(question)
        else:
            assert self.embedder is not None
            vector = self.embedder.embed([question])[0]
        if vector is None or vector.shape != self.vectors.shape[1:]:
            return np.zeros(len(self.chunks))
        # Not `@`: threads of BLAS are slower on one vector, and its sums depend on their number, so
        # ranks could differ between machines.
        cosines = np.einsum("ij,j->i", self.vectors, unit_rows(vector[None, :])[0])
        similarities: NDArray[np.float64] = cosines.astype(np.float64)
        return similarities


def embedder_of(config: ReferenceConfig) -> EndpointEmbedder | None:
    """Return the endpoint that embeds, None for LSA."""
    if config.embedder == "lsa":
        return None
    endpoint = Endpoint(
        url=str(config.embedder_url),
        model=str(config.embedder_model),
        api_key_env=config.embedder_api_key_env,
    )
    return EndpointEmbedder(endpoint)


def build_index(
    config: ReferenceConfig, notes: Sequence[Note], *, known: Index | None = None
) -> Index:
    """Chunk, count, embed and store notes in memory.

    Args:
        config: Chunk sizes and embedder.
        notes: In the order that breaks ties of scores.
        known: An earlier index of the same settings whose vectors from an endpoint are reused.
    """
    by_note = [
        chunk_note(
            vault=config.effective_vault_name,
            rel_path=note.rel_path,
            data=note.data,
            max_tokens=config.chunk_tokens,
            overlap=config.chunk_overlap,
        )
        for note in notes
    ]
    chunks = tuple(chunk for found in by_note for chunk in found)
    chunk_terms = [terms(f"{chunk.heading_path}\n{chunk.text}") for chunk in chunks]
    frequencies = TermFrequencies.count(chunk_terms)
    embedder = embedder_of(config)
    lsa: LsaModel | None = None
    if embedder is None:
        lsa, vectors = fit_lsa(chunk_terms, frequencies)
        reason = "no_known_words"
    else:
        vectors = _embed(embedder, chunks, known)
        reason = "refused_by_embedder"
    skipped = len(chunks) - int(np.count_nonzero(vectors.any(axis=1)))
    return Index(
        chunks=chunks,
        frequencies=frequencies,
        lexical=LexicalIndex(chunks),
        vectors=vectors,
        lsa=lsa,
        embedder=embedder,
        coverage={
            **_coverage(by_note, reason, skipped),
            "index_version": f"{INDEX_FORMAT}-{index_key(config, notes)[:12]}",
        },
    )


def _embed(
    embedder: EndpointEmbedder, chunks: Sequence[Chunk], known: Index | None
) -> NDArray[np.float32]:
    ready: dict[str, NDArray[np.float32] | None] = {}
    if known is not None:
        ready = {c.chunk_id: v for c, v in zip(known.chunks, known.vectors, strict=True)}
    missing = [chunk for chunk in chunks if chunk.chunk_id not in ready]
    texts = [f"{chunk.heading_path}\n\n{chunk.text}".strip() for chunk in missing]
    fresh = embedder.embed(texts)
    ready.update((chunk.chunk_id, vector) for chunk, vector in zip(missing, fresh, strict=True))
    width = max((len(v) for v in ready.values() if v is not None), default=1)
    rows = np.zeros((len(chunks), width), dtype=np.float32)
    for row, chunk in enumerate(chunks):
        vector = ready[chunk.chunk_id]
        if vector is not None and len(vector) == width:
            rows[row] = vector
    return unit_rows(rows)


def _coverage(by_note: Sequence[Sequence[Chunk]], reason: str, skipped: int) -> dict[str, Any]:
    attempted = sum(len(found) for found in by_note)
    totals = {
        "docs_processed": len(by_note),
        "docs_with_0_chunks": sum(not found for found in by_note),
        "chunks_attempted": attempted,
        "chunks_embedded": attempted - skipped,
        "chunks_skipped": skipped,
        "chunks_skipped_reasons": {reason: skipped} if skipped else {},
    }
    sizes = [chunk.token_count for found in by_note for chunk in found]
    return {
        **totals,
        "chunk_token_stats": _token_stats(sizes),
        "chunker_version": CHUNKER_VERSION,
        "by_doc_type": {DOC_TYPE: totals},
    }


def _token_stats(sizes: Sequence[int]) -> dict[str, float | None]:
    if not sizes:
        return {"min": None, "max": None, "mean": None, "p95": None}
    return {
        "min": min(sizes),
        "max": max(sizes),
        "mean": round(float(np.mean(sizes)), 3),
        "p95": round(float(np.percentile(sizes, 95)), 3),
    }


# --- on disk

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


def open_index(config: ReferenceConfig, notes: Sequence[Note]) -> Index:
    """Load the index of these notes from the cache, or build and keep it."""
    key = index_key(config, notes)
    entry = config.cache_dir / f"{key}{_SUFFIX}" if config.cache_dir else None
    if entry is not None and entry.is_file():
        try:
            return _load(entry, config)
        except Exception as error:  # of many types, where an entry is damaged
            _log.warning("cached index %s is damaged (%s); building it again", key, error)
    index = build_index(config, notes)
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
    )
