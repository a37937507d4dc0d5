"""The figures of a standard suite and of an embedding analysis, as documents and as lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from msgspec import to_builtins

from pytest_rageval.report.view.blocks import HEAD, Block, Fact, Line, Row, Status, Table, paragraph
from pytest_rageval.report.view.summary import interval_text
from pytest_rageval.support.text import counted, part

if TYPE_CHECKING:
    from pytest_rageval.analysis.embeddings import (
        CaseKey,
        EmbeddingAnalysis,
        SilhouetteSummary,
        VectorTable,
        WantedTexts,
    )
    from pytest_rageval.analysis.suites import SuiteStudy, Verdict
    from pytest_rageval.metrics.whole_run import CrossLingualConsistency
    from pytest_rageval.values.numbers import MetricSummary
    from pytest_rageval.values.run import StoredRun

_WORDS: Final[Mapping[Verdict, tuple[str, Status]]] = {
    "below": ("below", "bad"),
    "in_range": ("in the range", "good"),
    "above": ("above", "warn"),
}
_MEANINGS: Final[Mapping[Verdict, str]] = {
    "below": "below what BM25 reaches in the literature: look for documents that were not indexed "
    "or cut, ids that do not match, or a limit on the number of results",
    "in_range": "where the literature puts BM25: indexing, search and matching work",
    "above": "above what BM25 reaches in the literature, as a better ranking is",
}


def study_document(study: SuiteStudy) -> dict[str, Any]:
    """Return the figures of a suite as plain JSON values."""
    return {
        "verdict": study.verdict,
        "n_questions": study.n,
        "left_out": dict(study.left_out),
        "figures": {
            one.published.key: {
                "value": one.value,
                "low": one.low,
                "high": one.high,
                "published": dict(one.published.values),
                "verdict": one.verdict,
            }
            for one in study.figures
        },
        "not_measured": [one.key for one in study.not_measured],
    }


def suite_notes(study: SuiteStudy, *, k: int, sent: bool = True) -> Iterator[str]:
    """Yield remarks for readers of the figures, one sentence each.

    Args:
        study: the figures.
        k: cutoff of the run.
        sent: whether the target was asked for k chunks.
    """
    if study.left_out:
        reasons = ", ".join(f"{n} {reason}" for reason, n in study.left_out.items())
        yield f"questions without figures: {reasons}"
    for one in study.not_measured:
        yield f"{one.key} is not measured with -k {k}; use -k {one.k}"
    if all(figure.value == 0 for figure in study.figures):
        yield "no question found any of its documents, so their names may not match the golds"
    deepest = max(figure.published.k for figure in study.figures)
    if study.cap is not None:
        though = part(", though {} were asked for", sent and k)
        yield (
            f"no answer has more than {counted(study.cap, 'chunk')}{though}: a limit of the target "
            f"lowers the figures at {deepest}"
        )
    if study.n_crowded:
        yield (
            f"{counted(study.n_crowded, 'answer')} of {k} chunks from fewer than {deepest} "
            "documents: with a larger -k more documents are compared"
        )


def catalogue_rows(suites: Sequence[Mapping[str, Any]]) -> Table:
    """Return the entries of ``rageval suite list`` for a terminal."""
    rows: list[Row] = []
    for one in suites:
        sizes = f"{one['n_documents']:>9,} documents {one['n_questions']:>5,} questions"
        figures = ", ".join(f"{key} {_range(values)}" for key, values in one["published"].items())
        facts: Line = (("\n", ""), (one["kind"], "weak"), ("\n", ""), (f"BM25: {figures}", "weak"))
        rows.append((((one["name"], "strong"),), ((sizes, ""), *facts)))
    return Table(("", ""), rows)


def _range(values: Mapping[str, float]) -> str:
    return " to ".join(f"{value:.4f}" for value in sorted(set(values.values())))


def suite_lines(document: Mapping[str, Any]) -> Iterator[Block]:
    """Yield the document of ``rageval suite run`` as lines for a terminal."""
    sizes = f"{document['n_documents']:,} documents, {document['n_questions']:,} questions"
    yield Fact("suite", f"{document['suite']}: {document['title']}, {sizes}")
    yield Fact("target", document["target"])
    rows: list[Row] = []
    for key, row in document["figures"].items():
        interval = "" if row["low"] is None else f"{row['low']:.3f} to {row['high']:.3f}"
        published = _range(row["published"])
        verdict = (_WORDS[row["verdict"]],)
        rows.append((key, row["value"], interval, published, verdict))
    yield Table(("", ">measured", ">95% CI", ">published", "verdict"), rows)
    yield Fact("source", document["source"])
    for note in document["notes"]:
        yield Fact("note", note, "warn", "warn")
    yield f"{'run':<{HEAD}}{document['run']}"  # whole, to be copied
    found = document["verdict"]
    yield Fact("verdict", _MEANINGS[found], _WORDS[found][1])


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
