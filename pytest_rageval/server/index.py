"""The search index of a vault: chunks, full text, vectors and findings about omitted files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pytest_rageval.server.chunking import CHUNKER_VERSION, Chunk, chunk_note
from pytest_rageval.server.config import ReferenceConfig
from pytest_rageval.server.terms import LexicalIndex, TermFrequencies, terms
from pytest_rageval.server.upstream import Endpoint, EndpointEmbedder
from pytest_rageval.server.vault import Finding, Note, content_findings, finding_lines
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
    origin: Literal["built", "loaded"]

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
    config: ReferenceConfig,
    notes: Sequence[Note],
    *,
    version: str,
    findings: Sequence[Finding],
    known: Index | None = None,
) -> Index:
    """Chunk, count, embed and store notes in memory.

    Args:
        config: Chunk sizes and embedder.
        notes: In the order that breaks ties of scores.
        version: Value of `index_version`.
        findings: Files left out or read with loss, reported with the coverage.
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
        coverage=_coverage(by_note, reason, skipped, version, _warnings(findings, notes, chunks)),
        origin="built",
    )


def with_findings(index: Index, notes: Sequence[Note], findings: Sequence[Finding]) -> Index:
    """Return the index with other findings, which depend on the folder, not on the notes read."""
    warnings = _warnings(findings, notes, index.chunks)
    return replace(index, coverage={**index.coverage, "warnings": warnings})


def _warnings(
    findings: Sequence[Finding], notes: Sequence[Note], chunks: Sequence[Chunk]
) -> list[str]:
    return finding_lines([*findings, *content_findings(notes, chunks)])


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


def _coverage(
    by_note: Sequence[Sequence[Chunk]],
    reason: str,
    skipped: int,
    version: str,
    warnings: Sequence[str],
) -> dict[str, Any]:
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
        "index_version": version,
        "by_doc_type": {DOC_TYPE: totals},
        "warnings": list(warnings),
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
