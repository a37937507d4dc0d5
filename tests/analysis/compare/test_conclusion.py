"""The verdict of a comparison without limits."""

from __future__ import annotations

import pytest

from pytest_rageval.analysis.compare.conclusion import Conclusion, conclude, time_text
from pytest_rageval.analysis.compare.metrics import ComparisonSettings, compare_records
from pytest_rageval.values.record import CaseRecord
from tests.build.records import failed
from tests.build.runs import scored

FAILING = {9, 19, 29, 39, 49, 59}
LOST = {*range(9), 10, 21, 32, 43, 54}
NOISE = {3, 14, 25, 36}


def run(missed: set[int], documents: int = 6, **fields: object) -> list[CaseRecord]:
    size = 60 // documents
    return [
        scored(f"c{i:02}", float(i not in missed), cluster=f"d{i // size}.md", **fields)
        for i in range(60)
    ]


def verdict(base: list[CaseRecord], new: list[CaseRecord], **settings: object) -> Conclusion:
    return conclude(compare_records(base, new, ComparisonSettings(**settings)))  # type: ignore[arg-type]


@pytest.mark.parametrize("documents", [1, 2, 3, 6, 60])
def test_a_lost_document_is_worse_however_many_there_are(documents: int) -> None:
    found = verdict(run(FAILING, documents), run((FAILING | LOST) - {19, 29}, documents))
    assert found.word == "worse"
    assert "14 worse and 2 better of 60 cases" in found.reason
    back = verdict(run((FAILING | LOST) - {19, 29}, documents), run(FAILING, documents))
    assert back.word == "better"


@pytest.mark.parametrize("documents", [1, 2, 3, 6, 60])
def test_noise_is_no_difference_and_says_what_would_be_seen(documents: int) -> None:
    found = verdict(run(FAILING, documents), run((FAILING | NOISE) - {19, 29}, documents))
    assert found.word == "no_difference"
    assert found.sentence.startswith("NO DIFFERENCE that these cases could show (0.1")


def test_what_is_large_but_not_proven_says_which_half_is_missing() -> None:
    found = verdict(run(FAILING), run({*FAILING, 0, 11, 22, 33} - {9}), margins={"pass_rate": 0.01})
    assert found.word == "no_difference"
    assert "is a large change, but not proven" in found.reason


def test_what_is_proven_but_small_says_which_half_is_missing() -> None:
    found = verdict(
        run(FAILING),
        run(FAILING | LOST),
        margins={"pass_rate": 0.5, "mrr": 0.5, "recall_at_k": 0.5},
    )
    assert found.word == "no_difference"
    assert "proven to differ, but by little" in found.reason


def test_a_target_that_was_down_is_incomplete_and_not_worse() -> None:
    down = [failed(f"c{i:02}", "connection", case_hash=f"c{i:02}-content") for i in range(60)]
    for base, new in ((run(FAILING), down), (down, run(FAILING))):
        found = verdict(base, new)
        assert (found.word, found.incomplete) == ("cannot_tell", True)
        assert found.sentence.startswith("INCOMPLETE: 60 of 60 cases got no answer")


def test_a_few_errors_are_told_beside_the_verdict() -> None:
    new = [
        failed(r.case.id, "http", case_hash=r.case_hash) if i in {0, 1} else r
        for i, r in enumerate(run(FAILING))
    ]
    found = verdict(run(FAILING), new)
    assert found.word == "no_difference"
    assert "2 cases are an error now" in found.reason


def test_too_few_cases_cannot_tell() -> None:
    assert verdict(run(FAILING)[:1], run(FAILING)[:1]).word == "cannot_tell"
    assert verdict([], []).word == "cannot_tell"


def test_slower_calls_are_told() -> None:
    def timed(ms: float) -> list[CaseRecord]:
        return [scored(f"c{i:02}", 1.0, latency={"total_ms": ms + i}) for i in range(20)]

    assert "calls are" in time_text(compare_records(timed(10), timed(1000)))
    assert "calls are" not in time_text(compare_records(timed(1000), timed(1001)))
