""""""

from __future__ import annotations

import math
import re
from collections import Counter

import ir_measures
import pytest
import snowballstemmer

from pytest_rageval.authoring.interchange.ir_datasets import open_dataset
from pytest_rageval.authoring.suites.catalogue import SUITES, PackagedDataset, find_suite
from pytest_rageval.values.errors import ConfigError
from tests.build.ir_datasets import library
from tests.docs.examples import read_chapter

PAGE = read_chapter("studies.md", "Standard suites")


def test_every_dataset_is_one_of_the_library_and_of_the_size_that_it_gives(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    library(tmp_path_factory)
    for suite in SUITES.values():
        if suite.dataset is None:
            continue
        dataset = open_dataset(suite.dataset)
        sizes = [
            getattr(dataset, f"{part}_metadata")()["count"]  # bundled: nothing is downloaded
            for part in ("docs", "queries")
        ]
        assert sizes == [suite.n_documents, suite.n_questions], suite.name


def test_every_figure_is_of_the_page_that_it_cites() -> None:
    for suite in SUITES.values():
        assert all(0 < value <= 1 for one in suite.published for value in one.values.values())
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{suite.name}` |"))
        for one in suite.published:
            for value in one.values.values():
                assert f"{value:.4f}" in row, (suite.name, one.key)


def test_an_unknown_name_gets_a_hint() -> None:
    assert find_suite("tiny").dataset is None
    with pytest.raises(ConfigError, match="unknown suite 'scifakt', did you mean"):
        find_suite("scifakt")


# --- the suite of the package, and its figures by a BM25 written for this test

TINY = PackagedDataset("tiny")
# Those of Lucene's English analyser.
STOPWORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then "
    "there these they this to was will with".split()
)
STEM = snowballstemmer.stemmer("english").stemWord


def terms(text: str) -> list[str]:
    return [STEM(word) for word in re.findall(r"\w+", text.lower()) if word not in STOPWORDS]


def bm25_rankings(k1: float = 0.9, b: float = 0.4) -> dict[str, list[str]]:
    """Documents by question, best first, those without a common word left out."""
    documents = {one.doc_id: Counter(terms(f"{one.title} {one.text}")) for one in TINY.docs_iter()}
    mean = sum(map(Counter.total, documents.values())) / len(documents)
    holding = Counter(term for found in documents.values() for term in found)

    def score(query: str, found: Counter[str]) -> float:
        norm = k1 * (1 - b + b * found.total() / mean)
        return sum(
            math.log(1 + (len(documents) - holding[term] + 0.5) / (holding[term] + 0.5))
            * found[term]
            / (found[term] + norm)
            for term in terms(query)
            if found[term]
        )

    rankings = {}
    for query in TINY.queries_iter():
        scores = {name: score(query.text, found) for name, found in documents.items()}
        found = [name for name in scores if scores[name] > 0]
        rankings[query.query_id] = sorted(found, key=lambda name: -scores[name])
    return rankings


def test_the_published_figures_are_those_of_bm25() -> None:
    qrels: dict[str, dict[str, int]] = {}
    for row in TINY.qrels_iter():
        qrels.setdefault(row.query_id, {})[row.doc_id] = row.relevance
    run = {
        query: {name: -float(rank) for rank, name in enumerate(ranked)}
        for query, ranked in bm25_rankings().items()
    }
    measures = {"ndcg@10": ir_measures.nDCG @ 10, "recall@3": ir_measures.R @ 3}
    found = ir_measures.calc_aggregate(list(measures.values()), qrels, run)
    for one in find_suite("tiny").published:
        assert found[measures[one.key]] == pytest.approx(one.values["BM25"], abs=5e-5)


def test_its_sizes_are_those_of_the_catalogue_and_every_question_is_judged() -> None:
    tiny = find_suite("tiny")
    documents = {one.doc_id for one in TINY.docs_iter()}
    queries = {one.query_id for one in TINY.queries_iter()}
    assert (len(documents), len(queries)) == (tiny.n_documents, tiny.n_questions)
    rows = list(TINY.qrels_iter())
    assert {row.doc_id for row in rows} <= documents
    assert {row.query_id for row in rows if row.relevance > 0} == queries
