"""Categories and errors of our stages, by values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.analysis.reading_order import random_order
from pytest_rageval.analysis.review import (
    ENOUGH,
    NO_CATEGORY,
    Readable,
    latest_reviews,
    readable_record,
    review_figures,
    review_findings,
    share_of,
    since_new_category,
)
from pytest_rageval.analysis.stats.distributions import cluster_sums
from pytest_rageval.analysis.stats.intervals import mean_interval, wilson
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseRecord, FailureStage
from pytest_rageval.values.run import AnswerReview, CategoryChange, ReviewLine
from tests.build import records as build


def review(case_id: str, verdict: Any = "pass", **fields: Any) -> AnswerReview:
    given = {"file": "f", "case_id": case_id, "answer_hash": "h", "verdict": verdict, **fields}
    return AnswerReview(**given)


def lines(*what: AnswerReview | CategoryChange) -> list[ReviewLine]:
    return [
        ReviewLine(at="", review=one)
        if isinstance(one, AnswerReview)
        else ReviewLine(at="", category=one)
        for one in what
    ]


def key(case_id: str) -> tuple[str, str, int]:
    return "f", case_id, 0


HASHES = {key(f"c{i}"): "h" for i in range(60)}
PASSED = dict.fromkeys(HASHES, Readable(stage="passed"))


# --- what was read ---------------------------------------------------------------------------


def test_the_last_verdict_counts_and_one_on_another_answer_does_not() -> None:
    found = latest_reviews(
        lines(
            review("c0"),
            review("c1", "fail"),
            review("c0", "fail", note="x"),
            review("c2", answer_hash="other"),
            review("c3"),
            review("c3", None),
        ),
        HASHES,
    )
    assert [(one.case_id, one.verdict, one.note) for one in found.values()] == [
        ("c0", "fail", "x"),
        ("c1", "fail", ""),
    ]


def test_a_category_is_renamed_merged_and_dropped_for_what_came_before() -> None:
    log = lines(
        review("c0", "fail", category="a"),
        review("c1", "fail", category="b"),
        CategoryChange(before="a", after="b"),
        review("c2", "fail", category="a"),
        CategoryChange(before="b", after="z"),
    )
    found = latest_reviews(log, HASHES)
    assert [one.category for one in found.values()] == ["z", "z", "a"]
    found = latest_reviews([*log, *lines(CategoryChange(before="z", after=""))], HASHES)
    assert [one.category for one in found.values()] == ["", "", "a"]


@pytest.mark.parametrize(
    ("read", "n"),
    [
        ([], 0),
        ([review("a")] * 3, 3),
        ([review("a", "fail", category="x"), review("b")], 1),
        ([review("a", "fail", category="x"), review("b", "fail", category="x")], 1),
        ([review("a", "fail", category="x"), review("b", "fail", category="y")], 0),
        ([review("a", "fail"), review("b", "skip"), review("c")], 1),  # may be a new one
    ],
)
def test_answers_since_the_last_new_category(read: list[AnswerReview], n: int) -> None:
    assert since_new_category(read) == n


# --- figures ---------------------------------------------------------------------------------


def test_shares_have_intervals_by_wilson() -> None:
    share = share_of([True] * 42 + [False] * 8, [Readable()] * 50)
    exact = wilson(42, 50)
    assert (share.k, share.n, share.value) == (42, 50, 0.84)
    assert (share.low, share.high) == pytest.approx((exact.low, exact.high))
    assert share.low == pytest.approx(0.715, abs=5e-4)
    assert share.high == pytest.approx(0.917, abs=5e-4)
    assert share_of([], []).value is None


def test_a_share_of_clustered_or_weighted_answers_has_the_interval_of_such_means() -> None:
    hits = [True] * 4 + [False] * 8
    apart = [Readable(weight=2.0)] * 12
    talks = [Readable(cluster=f"talk {i // 4}") for i in range(12)]
    assert share_of(hits, apart) == share_of(hits, [Readable()] * 12)
    alone, together = share_of(hits, apart), share_of(hits, talks)
    plain = mean_interval(cluster_sums([*map(float, hits)], [one.cluster for one in talks]))
    assert (together.low, together.high) == (plain.low, plain.high)
    assert None not in (alone.low, alone.high, together.low, together.high)
    assert together.low < alone.low < alone.high < together.high  # type: ignore[operator]
    weighted = [Readable(weight=float(1 + i % 3), cluster=one.cluster)
                for i, one in enumerate(talks)]  # fmt: skip
    found = share_of(hits, weighted)
    records = [
        replace(
            build.record(f"c{i:02}", {"recall_at_k": float(hit)}),
            case=Case(id=f"c{i:02}", question="q", metadata={"weight": one.weight}),
            cluster=one.cluster,
        )
        for i, (hit, one) in enumerate(zip(hits, weighted, strict=True))
    ]
    mean = aggregate(records, by_traffic=True).by_traffic["recall_at_k"]
    assert (found.value, found.low, found.high) == (mean.mean, mean.low, mean.high)
    assert share_of([True, False], [Readable(cluster="a")] * 2).low is None


@pytest.mark.parametrize("weight", [None, 0, -1, True, "3", float("nan"), float("inf"), 10**400])
def test_a_case_without_a_weight_stands_for_one_request(weight: object) -> None:
    assert readable_record(case_of(weight)).weight is None
    assert readable_record(case_of(3)).weight == 3.0


def case_of(weight: object) -> CaseRecord:
    case = Case(id="a", question="q", metadata={"weight": weight})
    return replace(build.record("a"), case=case)


def test_figures_count_every_answer_and_shares_the_random_sample_alone() -> None:
    keys = random_order(HASHES)
    stages: dict[Any, FailureStage] = {
        keys[0]: "not_retrieved",
        keys[1]: "incorrect",
        keys[2]: "not_retrieved",
    }
    readable = PASSED | {key: Readable(stage=stage) for key, stage in stages.items()}
    said = [
        review(keys[0][1], "pass"),  # our stage is wrong
        review(keys[1][1], "fail", category="date", part="answer"),
        review(keys[2][1], "fail", category="date", part="answer"),  # the fault lies elsewhere
        review(keys[3][1], "fail"),  # we saw nothing
        review(keys[4][1], "skip"),
        review(keys[5][1], "pass"),
        review(keys[9][1], "fail", category="tone"),  # not of the sample
    ]
    found = review_figures("ann", latest_reviews(lines(*said), HASHES), readable)
    assert (found.n_answers, found.n_read, found.n_random) == (60, 7, 6)
    assert found.verdicts == {"pass": 2, "fail": 4, "skip": 1}
    assert (found.failed.k, found.failed.n) == (3, 5)
    categories = {one.name: (one.n, dict(one.by_stage), one.share.k) for one in found.categories}
    assert categories == {
        "date": (2, {"incorrect": 1, "not_retrieved": 1}, 2),
        "tone": (1, {"passed": 1}, 0),
        NO_CATEGORY: (1, {"passed": 1}, 1),
    }
    stage_errors = {one.stage: (one.wrong.k, one.wrong.n) for one in found.stages}
    assert stage_errors == {
        "all": (3, 5),
        "not_retrieved": (2, 2),
        "passed": (1, 2),
        "incorrect": (0, 1),
    }


def test_answers_without_our_stage_have_no_errors_of_it() -> None:
    reviews = latest_reviews(lines(review(random_order(HASHES)[0][1], "fail")), HASHES)
    assert review_figures("ann", reviews, dict.fromkeys(HASHES, Readable())).stages == ()


def test_a_reader_is_done_after_twenty_answers_without_a_new_category() -> None:
    said = [review("c0", "fail", category="x"), *(review(f"c{i}") for i in range(1, ENOUGH + 1))]
    assert review_figures("a", latest_reviews(lines(*said), HASHES), PASSED).saturated
    assert not review_figures("a", latest_reviews(lines(*said[:-1]), HASHES), PASSED).saturated


def test_readers_are_kept_apart_and_their_agreement_is_measured() -> None:
    ann = lines(review("c0", "fail"), review("c1"), review("c2"), review("c3", "fail"))
    ben = lines(review("c0", "fail"), review("c1", "fail"), review("c2"), review("c9"),
                review("c3", "skip"))  # fmt: skip
    found = review_findings({"ann": ann, "ben": ben, "none": []}, HASHES, PASSED)
    assert [(one.reviewer, one.n_read) for one in found.figures] == [("ben", 5), ("ann", 4)]
    (agreement,) = found.agreement
    assert (agreement.n, agreement.agreed.k) == (3, 2)
    assert agreement.kappa == pytest.approx(0.4)
