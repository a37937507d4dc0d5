"""Vectors that a target reports: from its reply to a stored record."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_rageval.engine.case import CaseRepeat, record_of
from pytest_rageval.project.case_reader import LocatedCase
from pytest_rageval.runs.documents import record_line, redact
from pytest_rageval.support.threads import at_once
from pytest_rageval.target.contract import parse_ask_response
from pytest_rageval.values.case import Case
from pytest_rageval.values.reply import AskResult
from pytest_rageval.values.settings import Settings
from tests.build.scores import TIMEOUT, case, score, status

KEYS = ("query_chunk_similarity", "similarity_margin")
SECRET_NUMBER = 0.123456789


def reply(query: Any, *chunks: tuple[str, Any], **debug: Any) -> dict[str, Any]:
    entries = [
        {"chunk_id": f"c{number}", "rel_path": path, "heading_path": "# S", "embedding": vector}
        for number, (path, vector) in enumerate(chunks)
    ]
    return {
        "answer": "text",
        "debug": {"query_embedding": query, "retrieved_chunks": entries, **debug},
    }


def measured(payload: dict[str, Any], of: Case | None = None, **settings: Any) -> Any:
    return score(of or case("a.md"), parse_ask_response(payload), **settings)


def test_reported_vectors_become_similarity_and_margin() -> None:
    found = measured(reply([1, 0], ("a.md", [2, 0]), ("b.md", [0, 1]), ("b.md", [0, 0])))
    assert found.metrics["query_chunk_similarity"] == pytest.approx(0.5)
    assert found.metrics["similarity_margin"] == pytest.approx(1)


def test_only_the_chunks_of_the_cut_count() -> None:
    payload = reply([1, 0], ("a.md", [1, 0]), ("b.md", [0, 1]))
    found = measured(payload, k=1)
    assert found.metrics["query_chunk_similarity"] == 1
    assert "both relevant and other" in found.not_applicable["similarity_margin"]


def test_numbers_written_as_strings_are_numbers() -> None:
    found = measured(reply(["1", 0], ("a.md", ["0.5", 0]), ("b.md", [0, 1])))
    assert found.metrics["similarity_margin"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("query", "vector"),
    [
        (None, [1, 0]),
        ([1, 0], None),
        ([1, 0], [1]),
        ([1, 0], [1, 0, 0]),
        ([1, 0], [1, "wide"]),
        ([1, 0], [1, float("nan")]),
        ([1, float("inf")], [1, 0]),
        ([], []),
        ("ab", [1, 0]),
    ],
)
def test_without_a_vector_of_every_chunk_nothing_is_compared(query: Any, vector: Any) -> None:
    found = measured(reply(query, ("a.md", vector), ("b.md", [0, 1])))
    assert [status(found, key) for key in KEYS] == ["not_applicable"] * 2


def test_a_margin_needs_a_gold_and_the_similarity_does_not() -> None:
    payload = reply([1, 0], ("a.md", [1, 0]), ("b.md", [0, 1]))
    for of in (Case(id="x", question="?", answerable=False), Case(id="x", question="?")):
        found = measured(payload, of)
        assert [status(found, key) for key in KEYS] == ["scored", "not_applicable"]


def test_a_failed_case_is_not_applicable() -> None:
    found = score(case("a.md"), None, error=TIMEOUT)
    assert [status(found, key) for key in KEYS] == ["not_applicable"] * 2


@pytest.mark.parametrize("sign", [1, -1])
def test_equal_directions_never_pass_1_by_rounding(sign: int) -> None:
    vector = [0.2, 0.8, 0.8]  # whose unit vector has a product of 1.0000000000000002 with itself
    found = measured(reply(vector, ("a.md", [sign * x for x in vector])))
    assert found.metrics["query_chunk_similarity"] == sign


def test_a_record_keeps_the_figures_and_no_vector() -> None:
    payload = reply([SECRET_NUMBER, 1], ("a.md", [SECRET_NUMBER, 1]), ("b.md", [1, -SECRET_NUMBER]))
    result = AskResult(response=parse_ask_response(payload), error=None, total_ms=1.0)
    located = LocatedCase(case=case("a.md"), lineno=1)
    record = at_once(
        record_of(CaseRepeat(located, "evals/set.jsonl", Settings(rootdir=".")), result)
    )
    for full_text in (True, False):
        line = record_line(redact(record, full_text=full_text)).decode()
        assert "0.123456789" not in line
        stored = json.loads(line)
        assert stored["scores"]["metrics"]["similarity_margin"] == pytest.approx(1)
        assert [chunk["embedding"] for chunk in stored["response"]["retrieved_chunks"]] == [
            None,
            None,
        ]
