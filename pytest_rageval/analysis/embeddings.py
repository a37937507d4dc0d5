"""Figures about the embeddings of a whole run, not for gates (docs/studies.md).

Needs numpy, and is imported only where vectors are stored. Vectors are those of stored questions
and chunk texts: a target need not report any.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pytest_rageval.analysis.aggregate.case_groups import (
    ERROR,
    NOT_APPLICABLE,
    CaseGroup,
    fold_repeats,
    group_repeats,
)
from pytest_rageval.analysis.aggregate.summaries import summarise_groups, summarise_metric
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.matching import (
    DocumentKey,
    PathCase,
    Segments,
    anchor_segments,
    document_key,
    norm_heading,
)
from pytest_rageval.metrics.registry import MetricInfo
from pytest_rageval.metrics.similarity import Floats, Vector, compute_query_similarity, unit_vector
from pytest_rageval.metrics.whole_run import (
    CrossLingualConsistency,
    cross_lingual_consistency,
    retrieved_documents,
)
from pytest_rageval.values.numbers import MetricSummary
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


CaseKey = tuple[str, str]
"""File and id of a case."""


def _info(key: str, title: str) -> MetricInfo:
    return replace(
        BUILT_IN.cases["query_chunk_similarity"],
        key=key,
        title=title,
        population=f"{BUILT_IN.cases['hit_at_k'].population} with vectors, and hold such chunks",
    )


SIMILARITIES: Final[Mapping[str, MetricInfo]] = MappingProxyType(
    {
        info.key: info
        for info in (
            BUILT_IN.cases["query_chunk_similarity"],
            _info("query_gold_similarity", "Similarity of query and relevant chunks"),
            _info("query_other_similarity", "Similarity of query and other chunks"),
            BUILT_IN.cases["similarity_margin"],
        )
    }
)
"""The figures of a case; two of them are also in the metric registry."""
LABELS: Final = ("document", "folder", "top_folder", "gold_section")
"""Groupings of chunks: by document, its folder, the first segment of its path, and the most
specific gold section that any case of the run found them at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorTable:
    """Vectors of one length, by text and by chunk id."""

    by_text: Mapping[str, Floats]
    by_chunk_id: Mapping[str, Floats] = field(default_factory=dict)

    def of_chunk(self, chunk: RetrievedChunk) -> Floats | None:
        """Return the vector of a chunk, by its id or else by its text."""
        found = self.by_chunk_id.get(chunk.chunk_id) if chunk.chunk_id is not None else None
        if found is None and chunk.text is not None:
            found = self.by_text.get(chunk.text)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedTexts:
    """The distinct texts of a run, in the order of its records."""

    questions: tuple[str, ...]
    chunks: tuple[str, ...]
    n_cut: int
    """Number of chunk texts that are only the beginning of their passage."""
    n_textless: int
    """Number of chunks within the cutoff without text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SilhouetteSummary:
    """Silhouette of the chunks by one kind of label."""

    value: float | None
    """-1 to 1, higher is better; None unless 2 <= ``n_labels`` <= ``n`` - 1."""
    n: int
    """Distinct chunks that have the label and a vector with a direction."""
    n_labels: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingAnalysis:
    """Figures based on the vectors of a run."""

    similarity: Mapping[str, MetricSummary]
    """By the keys of ``SIMILARITIES``: means over cases."""
    silhouette: Mapping[str, SilhouetteSummary]
    """By the names of ``LABELS``."""
    n_chunks: int
    """Distinct chunks within the cutoff."""
    n_chunks_with_vector: int


def wanted_texts(
    records: Iterable[CaseRecord], chunk_ids: Mapping[str, object] | None = None
) -> WantedTexts:
    """Collect the texts to embed: questions with chunks, and the chunks of their cuts.

    Args:
        records: of a stored run.
        chunk_ids: chunks that already have a vector.
    """
    questions: dict[str, None] = {}
    texts: dict[str, bool] = {}
    textless = 0
    for record in records:
        for chunk in cut_of(record):
            questions[record.case.question] = None
            if chunk.chunk_id is not None and chunk.chunk_id in (chunk_ids or {}):
                continue
            if chunk.text is None or not chunk.text.strip():
                textless += 1
            else:
                texts[chunk.text] = texts.get(chunk.text, False) or chunk.text_truncated
    return WantedTexts(
        questions=tuple(q for q in questions if q.strip()),
        chunks=tuple(texts),
        n_cut=sum(texts.values()),
        n_textless=textless,
    )


def analyse_embeddings(
    records: Iterable[CaseRecord], vectors: VectorTable, *, path_case: PathCase = "sensitive"
) -> EmbeddingAnalysis:
    """Compare questions with their retrieved chunks, and chunks with each other.

    Only the first ``k`` chunks of a case count. A case is not applicable where its question or
    one of its chunks has no vector: means over only the chunks with a vector would not be
        comparable. Similarity to gold and to other chunks covers only cases whose gold is scored.

    Args:
        records: of one run, with ``matched_golds`` decided.
        vectors: of questions and chunks.
        path_case: as in the run.
    """
    cases = group_repeats(records)
    measured = [
        (case, [_similarities(record, vectors) for record in case.records]) for case in cases
    ]
    values = {key: [_value(*of_case, key) for of_case in measured] for key in SIMILARITIES}
    chunks = distinct_chunks([r for case in cases for r in case.records], path_case)
    found = [(c, v) for c in chunks.values() if (v := vectors.of_chunk(c.chunk)) is not None]
    directed = [(c, v) for c, v in found if v.any()]
    return EmbeddingAnalysis(
        similarity={
            key: summarise_groups(cases, values[key], info) for key, info in SIMILARITIES.items()
        },
        silhouette={name: _silhouette(directed, name) for name in LABELS},
        n_chunks=len(chunks),
        n_chunks_with_vector=len(found),
    )


def compare_translations(
    records: Iterable[CaseRecord], *, path_case: PathCase = "sensitive"
) -> tuple[MetricSummary, CrossLingualConsistency[CaseKey]]:
    """Compare the documents that cases and their translations retrieved; needs no vectors.

    Several translations of one case are correlated and form a cluster.
    """
    cases = {(case.first.file, case.first.name): case for case in group_repeats(records)}
    pairs = [
        (key, (key[0], original + case.first.parameters))
        for key, case in cases.items()
        if (original := case.first.case.translation_of) is not None
    ]
    documents = {
        key: [retrieved_documents(record, path_case) for record in case.records]
        for key, case in cases.items()
    }
    found = cross_lingual_consistency(documents, pairs)
    absent = {"error": ERROR, "not_applicable": NOT_APPLICABLE}
    summary = summarise_metric(
        [absent[pair.status] if pair.value is None else pair.value for pair in found.pairs],
        BUILT_IN.runs["cross_lingual_consistency"],
        clusters=["\n".join(pair.original) for pair in found.pairs],
    )
    return summary, found


# --- one value per case --------------------------------------------------------------------


def _value(case: CaseGroup, measured: Sequence[Mapping[str, float | None]], key: str) -> float:
    """Return the mean of the case's scored repeats, else `ERROR` or `NOT_APPLICABLE`."""
    coded = []
    for record, similarities in zip(case.records, measured, strict=True):
        outside = key != "query_chunk_similarity" and "hit_at_k" in record.scores.not_applicable
        erred = record.status == "error" and record.reply.retrieved_chunks is None and not outside
        value = similarities.get(key)
        coded.append(value if value is not None else ERROR if erred else NOT_APPLICABLE)
    return fold_repeats(coded)


def _similarities(record: CaseRecord, vectors: VectorTable) -> dict[str, float | None]:
    query = vectors.by_text.get(record.case.question)
    cut = cut_of(record)
    embedded = [v for chunk in cut if (v := vectors.of_chunk(chunk)) is not None]
    if query is None or not cut or len(embedded) != len(cut):
        return {}
    found = compute_query_similarity(query, embedded, [bool(c.matched_golds) for c in cut])
    similarities = {"query_chunk_similarity": found.query_chunk_similarity}
    # Reasons why gold is not scored (no gold, headings not reported) apply here as well.
    if record.scores.metrics.get("hit_at_k") is not None:
        similarities |= {
            "query_gold_similarity": found.query_relevant_similarity,
            "query_other_similarity": found.query_other_similarity,
            "similarity_margin": found.similarity_margin,
        }
    return similarities


# --- chunks against chunks -----------------------------------------------------------------


def _silhouette(chunks: Sequence[tuple[DistinctChunk, Floats]], name: str) -> SilhouetteSummary:
    labelled = [(label, v) for c, v in chunks if (label := c.label(name)) is not None]
    labels = [label for label, _ in labelled]
    return SilhouetteSummary(
        value=compute_silhouette([vector for _, vector in labelled], labels),
        n=len(labels),
        n_labels=len(set(labels)),
    )


Vectors = Sequence[Vector] | Floats
_ROUNDING = 1e-12
_CELLS = 4_000_000
"""Maximum number of distances in memory, 32 MB."""


def compute_silhouette(vectors: Vectors, labels: Sequence[Hashable]) -> float | None:
    """Mean silhouette of labelled vectors under cosine distance (Rousseeuw 1987).

    Equal to scikit-learn's ``silhouette_score(metric="cosine")``: a label with one vector scores 0,
    and a zero vector is at distance 1 from every other.

    Args:
        vectors: one per chunk, all of one length.
        labels: document or gold section of each.

    Returns:
        -1 to 1, higher is better; None unless 2 <= labels <= vectors - 1.

    Raises:
        ValueError: there are not as many labels as vectors.
    """
    if len(labels) != len(vectors):
        raise ValueError(f"labels: expected {len(vectors)}, got {len(labels)}")
    codes = {label: code for code, label in enumerate(dict.fromkeys(labels))}
    if not 2 <= len(codes) <= len(labels) - 1:
        return None
    own = np.asarray([codes[label] for label in labels])
    order = np.argsort(own, kind="stable")
    own, sizes = own[order], np.bincount(own)
    unit = unit_vector(np.asarray(vectors, dtype=np.float64))[order]
    totals = np.add.reduceat(unit, np.cumsum(sizes) - sizes, axis=0)
    scores = np.empty(len(own))
    step = max(1, _CELLS // len(sizes))
    for begin in range(0, len(own), step):
        rows = slice(begin, begin + step)
        scores[rows] = _silhouettes(_summed(unit[rows], own[rows], totals, sizes), own[rows], sizes)
    return float(np.mean(scores))


def _summed(unit: Floats, own: npt.NDArray[Any], totals: Floats, sizes: npt.NDArray[Any]) -> Floats:
    """Return the summed cosine distances of vectors to every label (vectors x labels).

    A cosine distance is linear in each vector: the distances to a label sum to its size minus the
    product with the sum of its vectors, which takes no table of all pairs.
    """
    sums: Floats = sizes - unit @ totals.T
    # A vector is at distance 0 from itself; for a zero vector the product says 1.
    sums[np.arange(len(own)), own] -= 1.0 - (unit**2).sum(axis=1)
    # Equal directions differ only by rounding, which a silhouette would magnify to -1 or 1.
    sums[sums < _ROUNDING * sizes] = 0.0
    return sums


def _silhouettes(sums: Floats, own: npt.NDArray[Any], sizes: npt.NDArray[Any]) -> Floats:
    """Score each vector from its summed distances to every label (vectors x labels)."""
    rows = np.arange(len(own))
    own_sizes = sizes[own]
    within = sums[rows, own] / np.maximum(own_sizes - 1, 1)
    means = sums / sizes
    means[rows, own] = np.inf
    nearest = means.min(axis=1)
    larger = np.maximum(within, nearest)
    spread = np.divide(nearest - within, larger, out=np.zeros_like(larger), where=larger > 0)
    return np.where(own_sizes > 1, spread, 0.0)
