"""The verdict of a comparison without limits."""

from __future__ import annotations

import pytest

from pytest_rageval.analysis.compare.conclusion import Conclusion, conclude
from pytest_rageval.analysis.compare.metrics import ComparisonSettings, compare_records
from pytest_rageval.analysis.headline import headline_of
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
    found = compare_records(base, new, ComparisonSettings(**settings))  # type: ignore[arg-type]
    return conclude(found, headline_of(new, found, name="main"))


@pytest.mark.parametrize("documents", [1, 2, 3, 6, 60])
def test_a_lost_document_is_worse_however_many_there_are(documents: int) -> None:
    found = verdict(run(FAILING, documents), run((FAILING | LOST) - {19, 29}, documents))
    assert found.word == "worse"
    assert found.sentence.startswith("worse: 14 broke, 2 fixed, of 60; ")
    back = verdict(run((FAILING | LOST) - {19, 29}, documents), run(FAILING, documents))
    assert back.word == "better"


@pytest.mark.parametrize("documents", [1, 2, 3, 6, 60])
def test_noise_is_no_difference_and_its_changes_are_unproven(documents: int) -> None:
    found = verdict(run(FAILING, documents), run((FAILING | NOISE) - {19, 29}, documents))
    assert found.word == "no_difference"
    assert found.sentence.startswith("unproven: 4 broke, 2 fixed, of 60; ")


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
        assert found.sentence.startswith("incomplete: 60 of 60 cases got no answer")


@pytest.mark.parametrize(("erring", "word"), [(1, "no_difference"), (4, "worse")])
def test_new_errors_are_worse_if_they_are_several_and_not_few(erring: int, word: str) -> None:
    new = [
        failed(r.case.id, "http", case_hash=r.case_hash) if i < erring else r
        for i, r in enumerate(run(FAILING))
    ]
    found = verdict(run(FAILING), new)
    assert found.word == word
    assert f"{erring} error now" in found.reason


def test_slower_calls_are_worse_though_every_score_is_equal() -> None:
    def timed(ms: float) -> list[CaseRecord]:
        return [scored(f"c{i:02}", 1.0, latency={"total_ms": ms + i}) for i in range(20)]

    slower = verdict(timed(10), timed(1000))
    assert (slower.word, "calls 52 times slower" in slower.reason) == ("worse", True)
    assert verdict(timed(1000), timed(10)).word == "better"
    assert verdict(timed(1000), timed(1001)).word == "no_difference"
