""""""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.analysis.embeddings import (
    EmbeddingAnalysis,
    VectorTable,
    analyse_embeddings,
    compare_translations,
    compute_silhouette,
    wanted_texts,
)
from pytest_rageval.metrics.similarity import compute_query_similarity
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import RetrievedChunk
from tests.build.records import changed, failed, record
from tests.build.scores import case, chunk


def table(by_chunk_id: dict[str, list[float]] | None = None, **texts: list[float]) -> VectorTable:
    return VectorTable(
        by_text={text: np.asarray(v, dtype=np.float64) for text, v in texts.items()},
        by_chunk_id={
            key: np.asarray(v, dtype=np.float64) for key, v in (by_chunk_id or {}).items()
        },
    )


def gold(where: str, text: str, **fields: Any) -> RetrievedChunk:
    return chunk(where, text=text, **{"matched_golds": (0,), "irrelevant": False, **fields})


def other(where: str, text: str | None, **fields: Any) -> RetrievedChunk:
    return chunk(where, text=text, matched_golds=(), irrelevant=False, **fields)


def asked(
    case_id: str, *chunks: RetrievedChunk, hit: float | None = 1.0, **fields: Any
) -> CaseRecord:
    given = {
        "question": "q",
        "retrieved_chunks": chunks,
        "case": case("a.md | # A"),
        "not_applicable": {} if hit is not None else {"hit_at_k": "no gold"},
        **fields,
    }
    return record(case_id, {"hit_at_k": hit}, **given)


VECTORS = table(q=[1, 0], near=[1, 0], far=[0, 1], back=[-1, 0], zero=[0, 0])


def analyse(*records: CaseRecord, vectors: VectorTable = VECTORS) -> EmbeddingAnalysis:
    return analyse_embeddings(records, vectors)


def mean_and_counts(found: EmbeddingAnalysis, key: str) -> tuple[float | None, int, int, int]:
    summary = found.similarity[key]
    return summary.mean, summary.n, summary.n_not_applicable, summary.n_error


# --- what to embed ---------------------------------------------------------------------------


def test_each_question_and_each_chunk_text_of_the_cut_is_wanted_once() -> None:
    records = [
        asked("a", gold("a.md", "one"), other("b.md", "two"), k=1),
        asked("b", gold("a.md", "one"), other("b.md", "three"), k=5, question="other"),
        failed("c", question="never answered"),
        asked("d", question="found nothing"),
    ]
    wanted = wanted_texts(records)
    assert (wanted.questions, wanted.chunks) == (("q", "other"), ("one", "three"))
    assert (wanted.n_cut, wanted.n_textless) == (0, 0)


# --- questions against chunks ----------------------------------------------------------------


def test_gold_is_held_against_other_chunks() -> None:
    found = analyse(
        asked("a", gold("a.md", "near"), other("b.md", "far")),
        asked("b", gold("a.md", "far"), other("b.md", "back"), other("c.md", "far")),
    )
    assert mean_and_counts(found, "query_gold_similarity") == (0.5, 2, 0, 0)
    assert mean_and_counts(found, "query_other_similarity") == (-0.25, 2, 0, 0)
    assert mean_and_counts(found, "similarity_margin") == (0.75, 2, 0, 0)
    mean, *_ = mean_and_counts(found, "query_chunk_similarity")
    assert mean == pytest.approx((0.5 - 1 / 3) / 2)
    margin = found.similarity["similarity_margin"]
    assert margin.method == "plus_two"
    assert margin.low is not None
    assert margin.high is not None
    assert -2 <= margin.low < 0.75 < margin.high <= 2


def test_statuses_are_counted_apart() -> None:
    found = analyse(
        asked("scored", gold("a.md", "near"), other("b.md", "far")),
        asked("only-gold", gold("a.md", "near")),
        asked("unanswerable", other("b.md", "far"), hit=None),
        asked("nothing-found", hit=0.0),
        record("no-chunks-reported", {"hit_at_k": None}, not_applicable={"hit_at_k": "none"}),
        failed("dead", metrics={"hit_at_k": None}),
        failed("dead-2", metrics={"hit_at_k": None}, not_applicable={"hit_at_k": "no gold"}),
    )
    assert mean_and_counts(found, "query_chunk_similarity")[1:] == (3, 2, 2)
    assert mean_and_counts(found, "query_gold_similarity")[1:] == (2, 4, 1)
    assert mean_and_counts(found, "query_other_similarity")[1:] == (1, 5, 1)
    assert mean_and_counts(found, "similarity_margin")[1:] == (1, 5, 1)


def test_figures_are_summarised_as_every_metric_is() -> None:
    """The same values, recorded as a metric, have the same mean, counts and intervals."""
    records = [
        asked("a", gold("a.md", "near"), other("b.md", "far"), cluster="a.md"),
        asked("b", gold("a.md", "far"), other("b.md", "back"), cluster="b.md"),
        asked("c", gold("a.md", "back"), other("b.md", "near"), cluster="b.md"),
        asked("d", hit=0.0),
        failed("e", metrics={"hit_at_k": None}),
    ]
    values = {"a": 1.0, "b": 1.0, "c": -2.0, "d": None, "e": None}
    key = "similarity_margin"
    recorded = [
        changed(
            one,
            metrics={key: values[one.case.id]},
            not_applicable={key: "no chunks"} if one.case.id == "d" else {},
        )
        for one in records
    ]
    found = analyse(*records).similarity[key]
    assert found == aggregate(recorded).metrics[key]
    assert (found.n, found.n_not_applicable, found.n_error) == (3, 1, 1)
    assert found.mean_errors_as_worst == -0.5


def test_the_order_of_records_changes_nothing() -> None:
    records = [
        asked(name, gold("a.md", "near"), other(f"{name}.md", "far")) for name in ("b", "a", "c")
    ]
    assert analyse(*records) == analyse(*reversed(records))


# --- chunks against chunks -------------------------------------------------------------------


def test_silhouettes_by_document_folder_and_gold_section() -> None:
    vectors = table(
        q=[1, 0], a1=[1, 0], a2=[1, 0.1], b1=[0, 1], b2=[0.1, 1], c1=[1, 0], zero=[0, 0]
    )
    records = [
        asked("1", gold("x/y/a.md | # A", "a1", chunk_id="1"), gold("x/y/a.md | # A", "a2")),
        asked(
            "2",
            gold("x/z/b.md | # B > ## C", "b1", matched_golds=(0, 1)),
            other("x/z/b.md | # D", "b2"),
            other("c.md", "zero"),
            other("x/y/a.md | # A", "c1", chunk_id="1"),
            case=case("x/z/b.md | # B", "x/z/b.md | # B > ## C"),
        ),
    ]
    found = analyse(*records, vectors=vectors).silhouette
    assert {name: (one.n, one.n_labels) for name, one in found.items()} == {
        "document": (4, 2),
        "folder": (4, 2),
        "top_folder": (4, 1),
        "gold_section": (3, 2),
    }
    expected = 0.9944736235606655  # scikit-learn 1.9.1
    assert found["document"].value == pytest.approx(expected, abs=1e-12)
    assert found["folder"].value == pytest.approx(expected, abs=1e-12)
    assert found["top_folder"].value is None
    assert found["gold_section"].value == pytest.approx(2 / 3, abs=0.02)


# --- languages -------------------------------------------------------------------------------


def test_translations_are_compared_within_their_file() -> None:
    def asked_in(
        name: str, *paths: str, of: str | None = None, file: str = "a.jsonl"
    ) -> CaseRecord:
        return record(
            name,
            file=file,
            retrieved_chunks=tuple(map(chunk, paths)),
            case=case("a.md", translation_of=of),
        )

    summary, found = compare_translations(
        [
            asked_in("en", "a.md", "b.md"),
            asked_in("de", "a.md", "b.md", of="en"),
            asked_in("fr", "a.md", "c.md", of="en"),
            asked_in("it", "a.md", of="en", file="b.jsonl"),
            record("foreign"),
        ]
    )
    assert [(pair.case[1], pair.value) for pair in found.pairs] == [("de", 1.0), ("fr", 1 / 3)]
    assert (summary.n, found.n_unpaired) == (2, 1)
    assert summary.mean == pytest.approx(2 / 3)
    # Both translate one case, so they are one cluster, which has no interval.
    assert (summary.clusters, summary.low, summary.high) == (1, None, None)


# ---


@pytest.mark.parametrize("relevant", [[True, True], [False, False]])
def test_the_margin_needs_relevant_and_other_chunks(relevant: list[bool]) -> None:
    found = compute_query_similarity([1, 1], [[1, 0], [0, 1]], relevant)
    assert found.similarity_margin is None
    assert found.query_chunk_similarity == pytest.approx(math.sqrt(0.5))


@pytest.mark.parametrize("query", [[0, 0], [1, 0]])
def test_nothing_comparable_has_no_similarity(query: list[float]) -> None:
    chunks: list[list[float]] = [] if any(query) else [[1, 0]]
    found = compute_query_similarity(query, chunks, [True] * len(chunks))
    assert found.query_chunk_similarity is None
    assert found.query_relevant_similarity is None


def test_a_cosine_that_rounds_past_1_is_clipped() -> None:
    # Unclipped, this vector has a cosine of 1.0000000000000002 with itself.
    found = compute_query_similarity([0.2, 0.8, 0.8], [[0.2, 0.8, 0.8]], [True])
    assert found.query_chunk_similarity == 1.0


def test_the_silhouette_of_a_checked_example() -> None:
    vectors = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]]
    expected = 0.9944736235606655  # scikit-learn 1.9.1
    assert compute_silhouette(vectors, list("aabb")) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("labels", ["aaa", "abc"])
def test_the_silhouette_needs_two_labels_and_one_shared(labels: str) -> None:
    assert compute_silhouette([[1, 0], [0, 1], [1, 1]], list(labels)) is None


_numbers = st.integers(-3, 3).map(float)
_labelled = st.tuples(st.tuples(_numbers, _numbers, _numbers), st.sampled_from("abc"))


@given(st.lists(_labelled, min_size=3, max_size=9))
def test_the_silhouette_equals_its_definition(
    rows: list[tuple[tuple[float, float, float], str]],
) -> None:
    vectors, labels = [list(v) for v, _ in rows], [label for _, label in rows]
    value = compute_silhouette(vectors, labels)
    if not 2 <= len(set(labels)) < len(labels):
        assert value is None
        return
    scores = [_silhouette_of(i, vectors, labels) for i in range(len(labels))]
    assert value is not None
    assert value == pytest.approx(sum(scores) / len(scores), abs=1e-9)
    assert -1 <= value <= 1


def _silhouette_of(i: int, vectors: list[list[float]], labels: list[str]) -> float:
    others: dict[str, list[float]] = {}
    for j, label in enumerate(labels):
        if j != i:
            others.setdefault(label, []).append(_distance(vectors[i], vectors[j]))
    means = {label: sum(distances) / len(distances) for label, distances in others.items()}
    own = means.pop(labels[i], None)
    if own is None:
        return 0.0
    nearest = min(means.values())
    # Distances of 1e-16 are noise of the cosine, as large as the score that it would make.
    return (nearest - own) / max(own, nearest) if max(own, nearest) > 1e-9 else 0.0


def _distance(one: list[float], other: list[float]) -> float:
    norm = math.hypot(*one) * math.hypot(*other)
    return 1 - sum(a * b for a, b in zip(one, other, strict=True)) / norm if norm else 1.0
