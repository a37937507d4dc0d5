"""Maps of embeddings for tests of their page: a small one, and one hostile in every field."""

from __future__ import annotations

from typing import Any

import numpy as np

from pytest_rageval.analysis.embedding_map import EmbeddingMap, Projection, build_map, project_pca
from pytest_rageval.analysis.embeddings import VectorTable
from pytest_rageval.report.html.embedding_map import render_map
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.record import CaseRecord, ScoreSettings
from tests.report.html.builders import HOSTILE, chunk, missed, passed

GOLD = Anchor(rel_path="docs/file1.md", heading_path="# File 1 > ## Part")


def built(records: list[CaseRecord], texts: dict[Anchor, str] | None = None) -> EmbeddingMap:
    """A map with a vector of its own for every text."""
    words = [*(texts or {}).values()]
    for record in records:
        words += [
            record.case.question,
            *(one.text or "" for one in record.reply.retrieved_chunks or ()),
        ]
    rows = np.random.default_rng(7).normal(size=(len(words), 6))
    table = VectorTable(by_text=dict(zip(words, rows, strict=True)))
    return build_map(records, table, ScoreSettings(), texts)


def document(**fields: Any) -> dict[str, Any]:
    counts = {"n": 2, "n_not_applicable": 0, "n_error": 0}
    figure = {"mean": 0.5, "low": 0.4, "high": 0.6, **counts}
    return {
        "run_id": "run-1",
        "source": {"kind": "endpoint", "model": "lsa", "url": "http://h/v1/embeddings"},
        "warnings": ["a warning"],
        "statistics": {"query_gold_similarity": figure},
        "embedding_silhouette": {"document": {"value": -0.25, "n": 3, "n_labels": 2}},
        **fields,
    }


def page_of(found: EmbeddingMap, projection: Projection | None = None, **fields: Any) -> str:
    return "".join(render_map(found, projection or project_pca(found.vectors), document(**fields)))


def example() -> EmbeddingMap:
    return built([passed("alpha"), missed("beta")], {GOLD: "Whole text of the gold."})


def hostile_map() -> EmbeddingMap:
    records = []
    for number, text in enumerate(HOSTILE):
        gold = Anchor(rel_path=f"{text}/x{number}.md", heading_path=text)
        records.append(
            missed(
                f"{text}-{number}",
                question=f"{text} {number}",
                retrieved_chunks=(
                    chunk(1, rel_path=text, heading_path=text, text=text, chunk_id=str(number)),
                ),
                case=Case(
                    id=f"{text}-{number}", question=f"{text} {number}", gold_supports=(gold,)
                ),
            )
        )
    return built(records)


def many(n_cases: int) -> list[CaseRecord]:
    """Cases with nine chunks of 300 characters each."""
    found = []
    for number in range(n_cases):
        chunks = tuple(
            chunk(
                rank,
                rel_path=f"folder{number % 17}/file{number % 60}.md",
                chunk_id=f"{number}-{rank}",
                text=f"{number} {rank} " + "A sentence of the document. " * 11,
            )
            for rank in range(1, 10)
        )
        make = missed if number % 3 == 0 else passed
        found.append(make(f"case-{number}", retrieved_chunks=chunks, lineno=number, k=9))
    return found
