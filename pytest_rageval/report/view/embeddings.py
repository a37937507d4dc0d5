"""The embedding analysis of a run as a document and as text, without questions or chunk text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from msgspec import to_builtins

from pytest_rageval.report.view.blocks import Block, Table, paragraph
from pytest_rageval.report.view.summary import interval_text
from pytest_rageval.support.text import part

if TYPE_CHECKING:
    from pytest_rageval.analysis.embeddings import (
        CaseKey,
        EmbeddingAnalysis,
        SilhouetteSummary,
        VectorTable,
        WantedTexts,
    )
    from pytest_rageval.metrics.cross_lingual import CrossLingualConsistency
    from pytest_rageval.values.numbers import MetricSummary
    from pytest_rageval.values.run import StoredRun

_CONSISTENCY: Final = "cross_lingual_consistency"
_COLUMNS: Final = ("n", "n_not_applicable", "n_error", "mean")


@dataclass(frozen=True, slots=True, kw_only=True)
class ObtainedVectors:
    """Vectors from an API or a file."""

    vectors: VectorTable
    source: Mapping[str, Any]
    """The source for the document: model and address, or the name of the file."""
    warnings: tuple[str, ...] = ()


def embedding_document(
    run: StoredRun,
    wanted: WantedTexts,
    obtained: ObtainedVectors,
    analysis: EmbeddingAnalysis,
    translations: tuple[MetricSummary, CrossLingualConsistency[CaseKey]],
) -> dict[str, Any]:
    """Return the content of embeddings.json as plain JSON values, without NaN."""
    summary, consistency = translations
    vectors = obtained.vectors
    n_questions = sum(question in vectors.by_text for question in wanted.questions)
    found = (*vectors.by_text.values(), *vectors.by_chunk_id.values())
    return {
        "run_id": run.run_id,
        "source": {**obtained.source, "dimensions": len(found[0]) if found else None},
        "n_cases": len({(record.file, record.name) for record in run.records}),
        "questions": {"n": len(wanted.questions), "n_with_vector": n_questions},
        "chunks": {
            "n": analysis.n_chunks,
            "n_with_vector": analysis.n_chunks_with_vector,
            "n_cut_texts": wanted.n_cut,
        },
        "statistics": to_builtins({**analysis.similarity, _CONSISTENCY: summary}),
        "embedding_silhouette": {
            name: _silhouette_document(one) for name, one in analysis.silhouette.items()
        },
        "translations": {
            "n_unpaired": consistency.n_unpaired,
            "pairs": [
                {
                    "file": pair.case[0],
                    "case_id": pair.case[1],
                    "translation_of": pair.original[1],
                    "status": pair.status,
                    "value": pair.value,
                }
                for pair in consistency.pairs
            ],
        },
        "warnings": [
            *run.notes,
            *obtained.warnings,
            *_warnings(wanted, analysis, n_questions, consistency),
        ],
    }


def _silhouette_document(found: SilhouetteSummary) -> dict[str, Any]:
    document = {"value": found.value, "n": found.n, "n_labels": found.n_labels}
    if found.value is None:
        return {**document, "reason": "needs at least 2 labels, and fewer labels than chunks"}
    return document


def _warnings(
    wanted: WantedTexts,
    analysis: EmbeddingAnalysis,
    n_questions: int,
    consistency: CrossLingualConsistency[CaseKey],
) -> Iterator[str]:
    if wanted.n_cut:
        yield f"chunk texts cut when they were stored: {wanted.n_cut} of {len(wanted.chunks)}"
    if wanted.n_textless:
        yield f"chunks without text: {wanted.n_textless} (counted at every case)"
    if missing := len(wanted.questions) - n_questions:
        yield f"questions without vector: {missing} of {len(wanted.questions)}"
    if missing := analysis.n_chunks - analysis.n_chunks_with_vector:
        yield f"chunks without vector: {missing} of {analysis.n_chunks}"
    if consistency.n_unpaired:
        yield f"cases whose translation_of names no other case: {consistency.n_unpaired}"


def embedding_lines(document: Mapping[str, Any]) -> Iterator[Block]:
    """Yield the document as blocks of a terminal."""
    yield paragraph(_heading(document))
    yield from embedding_tables(document)


def embedding_tables(document: Mapping[str, Any]) -> Iterator[Table]:
    """Yield means over cases, and how well the chunks of each label lie together."""
    rows = [
        (key, *(row[name] for name in _COLUMNS), interval_text(row["low"], row["high"]))
        for key, row in document["statistics"].items()
    ]
    yield Table(("mean over cases", ">n", ">n/a", ">errors", ">value", ">95% CI"), rows)
    silhouettes = document["embedding_silhouette"].items()
    labels = [(name, row["n"], row["n_labels"], row["value"]) for name, row in silhouettes]
    yield Table(("silhouette of chunks by", ">n", ">labels", ">value"), labels)


def _heading(document: Mapping[str, Any]) -> str:
    source = document["source"]
    where = source["file"] if source["kind"] == "file" else f"{source['model']}, {source['url']}"
    numbers = part("{} numbers", source["dimensions"]) or "no vectors"
    chunks = document["chunks"]
    cut = ", some texts cut" if chunks["n_cut_texts"] else ""
    return (
        f"{document['run_id']}: {document['n_cases']} cases, {chunks['n']} distinct chunks{cut}; "
        f"vectors of {where} ({numbers})"
    )
