"""Errors of one cause are grouped, and replies without chunks are counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.analysis.aggregate.operational import (
    chunk_faults,
    group_errors,
    heading_faults,
)
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.diagnoses.table import TargetErrorKind
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import AskResponse, ErrorInfo, RetrievedChunk
from tests.build.records import changed, record

PLACE = "conftest.py:8: in answer\n    return question.lower()"


def failed(
    case_id: str, message: str, kind: TargetErrorKind = "http", traceback: str = "", **fields: Any
) -> CaseRecord:
    error = ErrorInfo(kind=kind, message=message, traceback=traceback)
    return record(case_id, status="error", outcome="error", error=error, **fields)


def causes(*records: CaseRecord) -> list[tuple[str, list[str]]]:
    return [(g.message, [r.case.id for r in g.records]) for g in group_errors(records)]


def test_messages_that_differ_in_numbers_and_ids_are_one_cause() -> None:
    found = causes(
        failed("a", "HTTP 429: rate limit for org-1, retry in 2.5 s"),
        failed("b", "HTTP 429: rate limit for org-27, retry in 3 s"),
        failed("c", "HTTP 500: request 3f2b9c1e77d04aa1 failed"),
        failed("d", "HTTP 500: request 0a1b2c3d4e5f6071 failed"),
    )
    assert [ids for _, ids in found] == [["a", "b"], ["c", "d"]]
    assert found[0][0] == "HTTP 429: rate limit for org-1, retry in 2.5 s"


def test_another_status_kind_or_place_is_another_cause() -> None:
    found = causes(
        failed("a", "HTTP 400: no"),
        failed("b", "HTTP 500: no"),
        failed("c", "HTTP 500: no", "protocol"),
        failed("d", "KeyError: 'x'", "protocol", PLACE),
        failed("e", "KeyError: 'x'", "protocol", PLACE.replace("8", "9")),
    )
    assert [ids for _, ids in found] == [["a"], ["b"], ["c"], ["d"], ["e"]]


def test_the_most_frequent_cause_is_first_and_repeats_count_once() -> None:
    found = causes(
        failed("x", "gave up", "not_attempted"),
        failed("y", "gave up", "not_attempted"),
        failed("z", "gave up", "not_attempted"),
        failed("a", "refused", "connection"),
        failed("b", "HTTP 500", repeat=0),
        failed("b", "HTTP 500", repeat=1),
        failed("c", "HTTP 500"),
    )
    assert [ids for _, ids in found] == [["b", "c"], ["a"], ["x", "y", "z"]]


@pytest.mark.parametrize(
    ("facts", "traceback", "label"),
    [
        ({}, PLACE, "conftest.py:8"),
        ({"status": 400, "reason": "secret note text"}, "", "HTTP 400"),
        (
            {"exception": "AttributeError", "said": "'x' says secret"},
            PLACE,
            "AttributeError at conftest.py:8",
        ),
        ({"exception": "HTTPError", "status": 503}, PLACE, "HTTPError at conftest.py:8"),
        ({"field": "answer", "got": "'secret'"}, PLACE, "conftest.py:8"),
        ({"limit_s": "60"}, "", ""),
    ],
)
def test_a_label_holds_no_text_of_the_target(
    facts: dict[str, Any], traceback: str, label: str
) -> None:
    message = "AttributeError: HTTP 302, my account is 77"
    error = ErrorInfo(kind="protocol", message=message, traceback=traceback, facts=facts)
    (group,) = group_errors([record("a", status="error", outcome="error", error=error)])
    assert group.label == label


# --- replies without chunks ----------------------------------------------------------------


CHUNK = RetrievedChunk(rel_path="a.md")


def replied(
    case_id: str,
    chunks: tuple[RetrievedChunk, ...] | None,
    *,
    golds: bool = True,
    keys: tuple[str, ...] = (),
) -> CaseRecord:
    supports = (Anchor(rel_path="a.md"),) if golds else ()
    case = Case(id=case_id, question="?", gold_supports=supports)
    response = AskResponse(answer="Yes.", retrieved_chunks=chunks, reply_keys=keys)
    return record(case_id, case=case, response=response)


def test_replies_that_report_no_chunks_are_counted_with_their_fields() -> None:
    found = chunk_faults(
        [
            replied("a", (CHUNK,)),
            replied("b", None, keys=("answer", "sources")),
            replied("c", None, keys=("answer", "docs")),
            replied("d", None, golds=False),
        ]
    )
    assert found is not None
    assert (found.n_cases, found.unreported, found.all_empty) == (3, 2, False)
    assert found.keys == ("answer", "sources", "docs")


def test_lists_that_are_empty_in_every_reply_are_a_fault() -> None:
    found = chunk_faults([replied("a", ()), replied("b", (), golds=False)])
    assert found is not None
    assert (found.n_cases, found.unreported, found.all_empty) == (1, 0, True)
    assert chunk_faults([replied("a", ()), replied("b", (CHUNK,), golds=False)]) is None


def headed(case_id: str, path: str, heading: str | None, matched: tuple[int, ...]) -> CaseRecord:
    gold = Anchor(rel_path="a.md", heading_path="# A > ## B")
    case = Case(id=case_id, question="q", gold_supports=(gold,))
    chunk = RetrievedChunk(rel_path=path, heading_path=heading, matched_golds=matched)
    return record(case_id, case=case, retrieved_chunks=(chunk,), answer="a")


def test_one_matching_heading_or_many_lost_documents_are_no_fault_of_headings() -> None:
    assert heading_faults([headed("a", "a.md", "B", ()), headed("b", "a.md", "x", (0,))]) is None
    lost = [headed(name, "z.md", "B", ()) for name in ("b", "c")]
    assert heading_faults([headed("a", "a.md", "B", ()), *lost]) is None
    quoted = replace(CHUNK, rel_path="a.md", matched_golds=(), matched_by=("snippet",))
    by_snippet = [headed("a", "a.md", None, ()), headed("b", "a.md", None, ())]
    by_snippet.append(changed(by_snippet[0], retrieved_chunks=(quoted,), case_id="c"))
    assert heading_faults(by_snippet) is None
    assert heading_faults([]) is None
    assert heading_faults([replied("a", (CHUNK,))]) is None


# --- documents -----------------------------------------------------------------------------


def retrieved(case_id: str, gold: str, *paths: str) -> CaseRecord:
    asked = Case(id=case_id, question="q", gold_supports=(Anchor(rel_path=gold),))
    chunks = tuple(RetrievedChunk(rel_path=path) for path in paths)
    return record(case_id, case=asked, response=AskResponse(answer="a", retrieved_chunks=chunks))
