"""The distinct chunks that the questions of a run retrieved, and their labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_rageval.metrics.matching import (
    DocumentKey,
    PathCase,
    Segments,
    anchor_segments,
    document_key,
    norm_heading,
)
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import RetrievedChunk

ChunkKey = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctChunk:
    """A chunk that one or more questions retrieved."""

    chunk: RetrievedChunk
    """As the first of them retrieved it."""
    document: DocumentKey
    section: Segments | None
    """Most specific gold section that any case found it at."""

    def label(self, name: str) -> tuple[object, ...] | None:
        """Return its label by the name of a grouping (``embeddings.LABELS``); None: it has none."""
        vault, path = self.document
        folders = path.split("/")[:-1]
        if name == "document":
            return self.document
        if name == "folder":
            return (vault, *folders)
        if name == "top_folder":
            return (vault, *folders[:1])
        return None if self.section is None else (self.document, self.section)


def cut_of(record: CaseRecord) -> tuple[RetrievedChunk, ...]:
    """Return the chunks within the cutoff of a record."""
    return (record.reply.retrieved_chunks or ())[: record.k]


def chunk_key(chunk: RetrievedChunk, path_case: PathCase) -> ChunkKey:
    """Return what makes a chunk the same in several replies.

    Its document and id; without an id, its document, heading and text.
    """
    identity = chunk.chunk_id or (norm_heading(chunk.heading_path), chunk.text)
    return (document_key(chunk, path_case), identity)


def distinct_chunks(
    records: Iterable[CaseRecord], path_case: PathCase
) -> dict[ChunkKey, DistinctChunk]:
    """Return each chunk within the cutoffs once, in the order of the records."""
    chunks: dict[ChunkKey, RetrievedChunk] = {}
    sections: dict[ChunkKey, Segments] = {}
    for record in records:
        for chunk in cut_of(record):
            key = chunk_key(chunk, path_case)
            chunks.setdefault(key, chunk)
            golds = record.case.gold_supports
            for index in sorted({*(chunk.matched_golds or ())}):
                if index >= len(golds):
                    continue
                section = anchor_segments(golds[index])
                if key not in sections or len(section) > len(sections[key]):
                    sections[key] = section
    return {
        key: DistinctChunk(
            chunk=chunk, document=document_key(chunk, path_case), section=sections.get(key)
        )
        for key, chunk in chunks.items()
    }
