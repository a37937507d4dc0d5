from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.engine.case import (
    CaseRepeat,
    ask_request,
    not_attempted,
    records_of,
)
from pytest_rageval.metrics.scoring import settle
from pytest_rageval.project.case_reader import LocatedCase
from pytest_rageval.support.threads import at_once
from pytest_rageval.target.calling import answered
from pytest_rageval.target.contract import parse_ask_response
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import Reported, ScoreSettings
from pytest_rageval.values.reply import AskRequest, AskResponse, AskResult
from pytest_rageval.values.settings import Settings
from tests.build.records import measure
from tests.build.scores import gold

SETTINGS = Settings(rootdir="root", k=3)


def located(**fields: Any) -> LocatedCase:
    given: dict[str, Any] = {
        "id": "c-1",
        "question": "what?",
        "gold_supports": (gold("a.md | # A"),),
    }
    return LocatedCase(case=Case(**given | fields), lineno=7)


def answering(**chunk: Any) -> Any:
    return lambda request: {"answer": "text", "debug": {"retrieved_chunks": [chunk]}}


def test_a_request_takes_the_case_first_and_then_the_settings() -> None:
    own = Case(id="x", question="?", k=9, vaults=("v",), folders=("f",))
    settings = Settings(rootdir="root", k=3, folder_mode="on", params={"lang": "en"})
    request = ask_request(own, settings)
    assert (request.k, request.vaults, request.folders) == (9, ("v",), ("f",))
    assert (request.folder_mode, request.params) == ("on", {"lang": "en"})
    assert ask_request(Case(id="x", question="?"), settings).k == 3


def test_a_measured_case_is_scored_timed_and_located() -> None:
    asked: list[AskRequest] = []

    def client(request: AskRequest) -> Any:
        asked.append(request)
        return answering(rel_path="a.md", heading_path="# A")(request)

    clock = iter([10.0, 10.25])
    record = measure(
        CaseRepeat(located(), "evals/s.jsonl", SETTINGS), client, clock=lambda: next(clock)
    )
    assert [r.question for r in asked] == ["what?"]
    assert (record.nodeid, record.lineno, record.k) == ("evals/s.jsonl::c-1", 7, 3)
    assert (record.status, record.scores.outcome) == ("ok", "passed")
    assert record.scores.metrics["recall_at_k"] == 1
    assert record.latency["total_ms"] == pytest.approx(250)
    assert (record.answer, record.answer_chars) == ("text", 4)


def test_the_times_of_the_client_win_over_those_of_the_target() -> None:
    def client(request: AskRequest) -> Any:
        return {"answer": "t", "debug": {"latency": {"total_ms": 1, "retrieval_ms": 2}}}

    clock = iter([0.0, 0.5])
    record = measure(CaseRepeat(located(), "f", SETTINGS), client, clock=lambda: next(clock))
    assert dict(record.latency) == {"total_ms": 500, "retrieval_ms": 2}


def test_a_target_that_fails_gives_an_error_record_without_scores() -> None:
    def client(request: AskRequest) -> Any:
        raise TimeoutError("too slow")

    record = measure(CaseRepeat(located(), "f", SETTINGS), client, clock=lambda: 0.0)
    assert (record.status, record.scores.outcome) == ("error", "error")
    assert record.error is not None
    assert record.error.kind == "timeout"
    assert record.scores.metrics["recall_at_k"] is None


def test_a_case_is_scored_by_document_where_the_run_reports_no_heading() -> None:
    record = measure(
        CaseRepeat(located(), "f", SETTINGS), answering(rel_path="a.md"), clock=lambda: 0.0
    )
    assert record.scores.metrics["recall_at_k"] is None
    assert record.scores.metrics["doc_hit_at_k"] == 1


def test_settling_finds_a_miss_once_the_run_is_known_to_report_headings() -> None:
    record = measure(
        CaseRepeat(located(), "f", SETTINGS), answering(rel_path="a.md"), clock=lambda: 0.0
    )
    again = settle(record, located().case, SETTINGS, Reported(headings=True))
    assert again.scores.metrics["recall_at_k"] == 0
    assert again.scores.outcome == "missed"
    assert (again.answer, again.latency) == (record.answer, record.latency)


def test_settling_leaves_a_record_alone_that_was_scored_as_the_whole_run_is() -> None:
    record = not_attempted(CaseRepeat(located(), "f", SETTINGS), "gave up")
    assert settle(record, located().case, SETTINGS, Reported(headings=True)) is record


def test_records_are_the_same_one_by_one_and_together() -> None:
    def responses() -> list[AskResponse]:
        chunks = [{"rel_path": "b.md"}, {"rel_path": "a.md", "heading_path": "# A"}]
        debug = {"latency": {"total_ms": 3.0, "retrieval_ms": 1.0}, "query_embedding": [0.5]}
        return [
            parse_ask_response({"answer": "t", "debug": {**debug, "retrieved_chunks": chunks}}),
            parse_ask_response({"answer": "t", "debug": debug}),
            parse_ask_response({"answer": " "}),
        ]

    def asked() -> list[tuple[CaseRepeat, AskResult]]:
        trial = CaseRepeat(located(), "f", SETTINGS)
        return [(trial, answered(response, total_ms=None)) for response in responses()]

    scoring = ScoreSettings()
    together = at_once(records_of(asked(), scoring))
    assert together == [at_once(records_of([one], scoring))[0] for one in asked()]
    assert [record.scores.metrics["doc_hit_at_k"] for record in together] == [1, None, None]
    assert together[0].response is not None
    assert (together[0].response.query_embedding, together[0].response.latency) == (None, {})
