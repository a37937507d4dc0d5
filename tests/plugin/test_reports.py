"""Records of a case as a report, also of several repeats."""

from __future__ import annotations

import json
from typing import Literal

import pytest

from pytest_rageval.analysis.aggregate.case_groups import deciding_record
from pytest_rageval.plugin.reports import (
    ReportDetails,
    decide_report,
    set_properties,
)
from pytest_rageval.values.record import CaseRecord
from tests.build.records import failed, record

PASSED = record("a", {"hit_at_k": 1.0}, latency={"total_ms": 10.0})
MISSED = record(
    "a",
    {"hit_at_k": 0.0},
    repeat=1,
    outcome="missed",
    failure_stage="not_retrieved",
    latency={"total_ms": 30.0},
)
ERRED = failed("a", "timeout", repeat=2, metrics={"hit_at_k": None})


def report(outcome: Literal["passed", "failed", "skipped"] = "passed") -> pytest.TestReport:
    return pytest.TestReport("a", ("a", 0, "a"), {}, outcome, None, "call")


@pytest.mark.parametrize(
    ("records", "decides"),
    [
        ([PASSED], PASSED),
        ([PASSED, MISSED], MISSED),
        ([ERRED, MISSED, PASSED], ERRED),
        ([PASSED, PASSED], PASSED),
    ],
)
def test_the_worst_repeat_decides(records: list[CaseRecord], decides: CaseRecord) -> None:
    assert deciding_record(records) is decides


def test_properties_are_means_over_repeats_and_replace_earlier_ones() -> None:
    before: list[tuple[str, object]] = [("mine", 1), ("rageval.hit_at_k", 7)]
    assert set_properties(before, [PASSED, MISSED, ERRED]) == [
        ("mine", 1),
        ("rageval.hit_at_k", 0.5),
        ("rageval.outcome", "error"),
        ("rageval.error", "timeout: no answer"),
        ("rageval.latency_ms", 20.0),
    ]


@pytest.mark.parametrize(
    ("records", "fails", "outcome"),
    [
        ([PASSED], True, "passed"),
        ([MISSED], False, "skipped"),
        ([PASSED, MISSED], True, "failed"),
        ([ERRED], True, "skipped"),
        ([failed("a", required=True)], False, "failed"),
        ([record("a", outcome="missed", required=True)], False, "failed"),
    ],
)
def test_what_must_fail_fails_and_the_rest_only_shows(
    records: list[CaseRecord], fails: bool, outcome: str
) -> None:
    found = report()
    decide_report(found, records, on_miss_fails=fails)
    assert found.outcome == outcome
    # What pytest-html and PyCharm show.
    assert bool(found.longreprtext) is (outcome != "passed")


def test_details_come_back_from_a_report_that_another_process_sent() -> None:
    sent = report()
    details = ReportDetails(outcome="missed", finished=(0, 2), asked="a target", notes=("a",))
    details.put_on(sent)
    received = pytest.TestReport._from_json(json.loads(json.dumps(sent._to_json())))
    found = ReportDetails.of(received)
    assert (found.outcome, tuple(found.finished), found.asked) == ("missed", (0, 2), "a target")
    assert (found.concurrency, found.unasked, found.usage_error) == (None, False, None)
