from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.metrics.whole_run import (
    Documents,
    NoDocuments,
    cross_lingual_consistency,
    jaccard_index,
    retrieved_documents,
)
from tests.build.records import failed, record
from tests.build.scores import chunk

FAILED, NOT_REPORTED = NoDocuments.FAILED, NoDocuments.NOT_REPORTED


def docs(paths: str) -> Documents:
    return frozenset((None, path) for path in paths)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("ab", "ab", 1.0),
        ("ab", "bc", 1 / 3),
        ("abc", "a", 1 / 3),
        ("a", "b", 0.0),
        ("a", "", 0.0),
        ("", "", None),
    ],
)
def test_the_overlap_of_a_pair(one: str, other: str, expected: float | None) -> None:
    assert jaccard_index(docs(one), docs(other)) == expected


def test_a_vault_counts_only_where_every_document_names_one() -> None:
    work, home = frozenset({("work", "a.md")}), frozenset({("home", "a.md")})
    assert jaccard_index(work, home) == 0
    assert jaccard_index(work, frozenset({(None, "a.md")})) == 1


@pytest.mark.parametrize(
    ("one", "other", "status"),
    [
        (docs("a"), docs("b"), "scored"),
        (docs("a"), docs(""), "scored"),
        (docs(""), docs(""), "not_applicable"),
        (FAILED, docs("a"), "error"),
        (docs(""), FAILED, "error"),
        (FAILED, FAILED, "error"),
        (NOT_REPORTED, docs("a"), "not_applicable"),
        (FAILED, NOT_REPORTED, "not_applicable"),
    ],
)
def test_the_status_of_a_pair(one: Documents, other: Documents, status: str) -> None:
    found = cross_lingual_consistency({"de": [one], "en": [other]}, [("de", "en")])
    (pair,) = found.pairs
    assert (pair.case, pair.original, pair.status) == ("de", "en", status)
    assert (pair.value is not None) == (status == "scored")
    counts = {"scored": found.n, "not_applicable": found.n_not_applicable, "error": found.n_error}
    assert counts == {name: int(name == status) for name in counts}
    assert found.mean == pair.value


def test_the_mean_is_over_scored_pairs_and_everything_else_is_counted() -> None:
    documents: dict[int, list[Documents]] = {
        1: [docs("ab")],
        2: [docs("ab")],
        3: [docs("bc")],
        4: [FAILED],
        5: [docs("")],
        6: [docs("")],
    }
    pairs = [(2, 1), (3, 1), (4, 1), (6, 5), (1, 99), (98, 1), (5, 5)]
    found = cross_lingual_consistency(documents, pairs)
    assert found.mean == pytest.approx((1 + 1 / 3) / 2)
    assert (found.n, found.n_not_applicable, found.n_error, found.n_unpaired) == (2, 1, 1, 3)
    assert [(pair.case, pair.original) for pair in found.pairs] == pairs[:4]


def test_two_cases_that_name_each_other_are_one_pair() -> None:
    documents = {"de": [docs("a")], "en": [docs("ab")]}
    found = cross_lingual_consistency(documents, [("de", "en"), ("en", "de")])
    assert (found.n, found.mean, found.n_unpaired) == (1, 0.5, 0)
    assert (found.pairs[0].case, found.pairs[0].original) == ("de", "en")


def test_no_pairs_have_no_mean() -> None:
    found = cross_lingual_consistency({"a": [docs("a")]}, [])
    assert (found.mean, found.n, found.n_unpaired, found.pairs) == (None, 0, 0, ())


def test_repeats_are_averaged_and_never_extra_pairs() -> None:
    documents: dict[str, list[Documents]] = {
        "de": [docs("a"), docs("b"), FAILED],
        "en": [docs("a"), docs("a"), docs("a"), docs("a")],
    }
    found = cross_lingual_consistency(documents, [("de", "en")])
    assert (found.mean, found.n, found.n_error) == (0.5, 1, 0)


def test_each_side_is_cut_at_its_own_k_and_documents_count_once() -> None:
    chunks = tuple(map(chunk, ["./a.md | # S", "a.md | # T", "b.md", "c.md"]))
    assert retrieved_documents(record("x", k=3, retrieved_chunks=chunks)) == frozenset(
        {(None, "a.md"), (None, "b.md")}
    )
    whole = retrieved_documents(record("x", k=4, retrieved_chunks=chunks))
    assert whole == frozenset((None, path) for path in ("a.md", "b.md", "c.md"))


def test_case_of_paths_counts_unless_told_otherwise() -> None:
    found = record("x", retrieved_chunks=tuple(map(chunk, ["A.md", "a.md"])))
    assert retrieved_documents(found) == frozenset({(None, "A.md"), (None, "a.md")})
    assert retrieved_documents(found, "insensitive") == frozenset({(None, "a.md")})


def test_a_failure_differs_from_an_answer_without_chunks() -> None:
    assert retrieved_documents(failed("x")) is FAILED
    assert retrieved_documents(record("x")) is NOT_REPORTED
    assert retrieved_documents(record("x", retrieved_chunks=())) == frozenset()
    empty_answer = failed("x", "empty", retrieved_chunks=(chunk("a.md"),))
    assert retrieved_documents(empty_answer) == frozenset({(None, "a.md")})


@given(st.sets(st.sampled_from("abcdef")), st.sets(st.sampled_from("abcdef")))
def test_the_overlap_is_symmetric_and_1_only_for_equal_sets(one: set[str], other: set[str]) -> None:
    first, second = docs("".join(one)), docs("".join(other))
    value = jaccard_index(first, second)
    assert value == jaccard_index(second, first)
    if one or other:
        assert value is not None
        assert 0 <= value <= 1
        assert (value == 1) == (one == other)
