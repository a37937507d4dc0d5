"""The figures of a suite by hand, and against ir_measures over the ranking of documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.analysis.rerank import read_candidates
from pytest_rageval.analysis.suites import Published, SuiteStudy, document_order, study_suite
from pytest_rageval.values.record import CaseRecord
from tests.build.records import record
from tests.build.scores import case as case_of
from tests.build.scores import chunk, gold

NDCG_3 = Published(metric="ndcg", k=3, values={"BM25": 0.5})
RECALL_3 = Published(metric="recall", k=3, values={"BM25": 0.4, "other": 0.6})


def asked(case_id: str, chunks: Sequence[str], grades: dict[str, int]) -> CaseRecord:
    """Record whose golds are documents, and whose chunks name theirs."""
    golds = tuple(gold(path, grade=grade) for path, grade in grades.items())
    case = replace(case_of(), id=case_id, gold_supports=golds)
    return record(case_id, case=case, retrieved_chunks=tuple(map(chunk, chunks)))


def study(records: Sequence[CaseRecord], *published: Published, k: int = 10) -> SuiteStudy:
    found = study_suite(records, published or (NDCG_3, RECALL_3), k=k, own_documents={})
    assert found is not None
    return found


def test_a_document_counts_once_at_its_first_chunk() -> None:
    one = asked("q", ["a.md | # A", "b.md", "a.md | # B", "c.md"], {"c.md": 1})
    (candidates,), _ = read_candidates([one], path_case="sensitive", level="document")
    assert document_order(candidates) == [0, 1, 3]
    figures = {figure.published.key: figure.value for figure in study([one]).figures}
    # Third of three documents: 1 / log2(3 + 1).
    assert figures == {"ndcg@3": 0.5, "recall@3": 1.0}


@settings(deadline=None, max_examples=25)
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from("abcdefg"), max_size=12),
            st.dictionaries(st.sampled_from("abcdefg"), st.integers(1, 3), min_size=1),
        ),
        min_size=1,
        max_size=6,
    ),
    st.integers(1, 8),
)
def test_ir_measures_agrees(questions: list[tuple[list[str], dict[str, int]]], cutoff: int) -> None:
    records = [asked(f"q{n}", *question) for n, question in enumerate(questions)]
    published = [
        Published(metric="ndcg", k=cutoff, values={"x": 0.5}),
        Published(metric="recall", k=cutoff, values={"x": 0.5}),
    ]
    found = [figure.value for figure in study(records, *published, k=12).figures]
    qrels = {f"q{n}": grades for n, (_, grades) in enumerate(questions)}
    run = {
        f"q{n}": {document: -float(rank) for rank, document in enumerate(dict.fromkeys(chunks))}
        for n, (chunks, _) in enumerate(questions)
        if chunks
    }
    measures = [ir_measures.nDCG @ cutoff, ir_measures.R @ cutoff]
    theirs = {
        (str(one.measure), one.query_id): one.value
        for one in ir_measures.iter_calc(measures, qrels, run)
    }
    # A question without any document in the run is a zero.
    for measure, value in zip(measures, found, strict=True):
        expected = sum(theirs.get((str(measure), query), 0.0) for query in qrels) / len(qrels)
        assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("n_found", "verdict"), [(0, "below"), (20, "in_range"), (26, "in_range"), (40, "above")]
)
def test_the_verdict_compares_the_interval_with_the_published_range(
    n_found: int, verdict: str
) -> None:
    records = [
        asked(f"q{n}", ["a.md"] if n < n_found else ["b.md"], {"a.md": 1}) for n in range(40)
    ]
    found = study(records, RECALL_3)
    (figure,) = found.figures
    assert (figure.verdict, found.verdict) == (verdict, verdict)
    assert figure.low is not None
    assert figure.high is not None
    assert figure.low <= figure.value <= figure.high


def test_a_cutoff_beyond_k_is_not_measured() -> None:
    one = asked("q", ["a.md", "b.md"], {"a.md": 1})
    shallow = Published(metric="ndcg", k=2, values={"BM25": 1.0})
    found = study([one], shallow, RECALL_3, k=2)
    assert [figure.published.key for figure in found.figures] == ["ndcg@2"]
    assert found.not_measured == (RECALL_3,)
    assert study_suite([one], [RECALL_3], k=2, own_documents={}) is None
