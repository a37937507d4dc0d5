from __future__ import annotations

import re
from typing import Any

import pytest

from pytest_rageval.metrics.whole_run import indexing_numbers, target_warnings

SEED: dict[str, Any] = {
    "docs_processed": 1500,
    "docs_with_0_chunks": 5,
    "chunks_attempted": 8500,
    "chunks_embedded": 8450,
    "chunks_skipped": 50,
    "chunks_skipped_reasons": {"context_limit_exceeded": 45, "too_small": 5},
}
MARKDOWN: dict[str, Any] = {"chunks_attempted": 10, "chunks_embedded": 9, "chunks_skipped": 1}


def test_rates_are_shares_of_documents_and_of_chunks_attempted() -> None:
    found = indexing_numbers(SEED)
    assert found.no_chunks_generated_rate == 5 / 1500
    assert found.chunks_skipped_rate == 50 / 8500
    assert found.chunks_skipped_due_to_context_rate == 45 / 8500
    assert found.consistent is True


@pytest.mark.parametrize(
    ("change", "warning"),
    [
        (
            {"chunks_embedded": 8449},
            "chunks_attempted 8500 is not chunks_embedded 8449 + chunks_skipped 50",
        ),
        (
            {"chunks_skipped_reasons": {"too_small": 5}},
            "chunks_skipped_reasons sum to 5, chunks_skipped is 50",
        ),
        (
            {"by_doc_type": {"markdown": {"docs_processed": 1499}}},
            "docs_processed by document type sum to 1499, not 1500",
        ),
        (
            {"by_doc_type": {"markdown": {**MARKDOWN, "chunks_attempted": 12}}},
            "markdown: chunks_attempted 12 is not chunks_embedded 9 + chunks_skipped 1",
        ),
    ],
)
def test_sums_that_do_not_add_up_are_said(change: dict[str, Any], warning: str) -> None:
    found = indexing_numbers({**SEED, **change})
    assert warning in found.warnings
    assert found.consistent is False


def test_an_index_of_one_document_has_rates_and_an_empty_one_has_none() -> None:
    found = indexing_numbers({"docs_processed": 1, "docs_with_0_chunks": 1})
    assert found.no_chunks_generated_rate == 1
    found = indexing_numbers({"docs_processed": 0, "docs_with_0_chunks": 0, "chunks_attempted": 0})
    assert found.no_chunks_generated_rate is None
    assert found.chunks_skipped_rate is None


@pytest.mark.parametrize(
    ("skipped", "attempted", "rate"),
    [(0, 1, 0.0), (1, 1, 1.0), (3, 2, 1.5), (1, 0, None), (0, 0, None), (-1, 2, None)],
)
def test_a_rate_needs_a_whole_and_a_part_that_is_a_count(
    skipped: int, attempted: int, rate: float | None
) -> None:
    found = indexing_numbers({"chunks_skipped": skipped, "chunks_attempted": attempted})
    assert found.chunks_skipped_rate == rate


def test_sums_over_document_types_need_the_count_of_each() -> None:
    def told(total: int | None, *parts: int | None) -> tuple[str, ...]:
        counts = [{} if n is None else {"docs_processed": n} for n in (total, *parts)]
        types = {str(n): one for n, one in enumerate(counts[1:])}
        return indexing_numbers({**counts[0], "by_doc_type": types}).warnings

    assert [told(5, 2, 3), told(5), told(5, 2, None), told(None, 2, 3)] == [()] * 4
    (warning,) = told(5, 2, 2)
    assert re.findall(r"docs_processed|\d+", warning) == ["docs_processed", "4", "5"]


def test_a_reason_that_did_not_occur_is_zero_and_no_reasons_are_unknown() -> None:
    none = {**SEED, "chunks_skipped_reasons": {"too_small": 50}}
    assert indexing_numbers(none).chunks_skipped_due_to_context_rate == 0
    del none["chunks_skipped_reasons"]
    assert indexing_numbers(none).chunks_skipped_due_to_context_rate is None


def test_document_types_have_their_own_rates() -> None:
    found = indexing_numbers({"by_doc_type": {"markdown": MARKDOWN, "pdf": "broken"}})
    assert found.coverage_by_doc_type["markdown"].chunks_skipped_rate == 0.1
    assert list(found.coverage_by_doc_type) == ["markdown"]


@pytest.mark.parametrize("odd", [True, "8500", None, float("nan"), 10**400, 10**18, -(10**18), [1]])
def test_what_is_no_count_is_not_reported(odd: object) -> None:
    found = indexing_numbers({**SEED, "chunks_attempted": odd})
    assert found.chunks_skipped_rate is None
    assert found.consistent is True


def test_counts_and_versions_stand_as_reported() -> None:
    told = {"chunker_version": "2", "index_version": None, "docs_processed": "odd"}
    assert indexing_numbers({**told, "other": 1}).reported == told


def test_token_statistics_stand_as_reported() -> None:
    found = indexing_numbers({"chunk_token_stats": {"min": 3, "p95": 480.5}})
    assert found.chunk_tokens == {"min": 3, "max": None, "mean": None, "p95": 480.5}


def test_warnings_of_the_target_stand_apart_from_sums_that_do_not_add_up() -> None:
    warned = {**SEED, "warnings": ["a.md: invalid UTF-8", "b.md: not read"]}
    assert target_warnings(warned) == ["a.md: invalid UTF-8", "b.md: not read"]
    found = indexing_numbers(warned)
    assert (found.warnings, found.consistent, found.n_target_warnings) == ((), True, 2)
    both = {**SEED, "chunks_embedded": 8449, "warnings": ["a.md: empty"]}
    assert indexing_numbers(both).warnings[0].startswith("chunks_attempted")
    assert target_warnings(both) == ["a.md: empty"]


def test_a_warning_of_the_target_is_cleaned_and_cut() -> None:
    hostile = "\x1b[31ma.md\x1b[0m:\n::error::no \u202eway"
    found = target_warnings({"warnings": [hostile, "x" * 5000]})
    assert found == ["a.md: : :error::no way", "x" * 197 + "..."]


@pytest.mark.parametrize(
    ("count", "last"), [(21, "and 1 more warning"), (99, "and 79 more warnings")]
)
def test_many_warnings_of_the_target_are_counted_after_twenty(count: int, last: str) -> None:
    reported = [f"n{i}.md: odd" for i in range(count)]
    told = target_warnings({"warnings": reported})
    assert told[:20] == [f"n{i}.md: odd" for i in range(20)]
    assert told[20:] == [last]


def test_a_warning_said_twice_stands_once() -> None:
    assert target_warnings({"warnings": ["a.md: odd", "a.md: odd"]}) == ["a.md: odd"]


@pytest.mark.parametrize("odd", [None, "one text", 3, {"a": "b"}, [None, 3, ["x"], "", "\x07"]])
def test_what_is_no_list_of_texts_gives_no_warning(odd: object) -> None:
    assert target_warnings({"warnings": odd}) == []
