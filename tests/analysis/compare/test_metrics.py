"""Two runs case by case: which cases are compared, and what their differences say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.analysis.compare.metrics import (
    ComparisonSettings,
    GroupChange,
    PairedComparison,
    compare_groups,
    compare_records,
)
from pytest_rageval.analysis.compare.pairs import UnpairedCase, pair_cases
from pytest_rageval.analysis.stats.paired import mcnemar
from pytest_rageval.analysis.two_runs import CheckedComparison, compare_runs
from pytest_rageval.metrics.built_in import ASPECT_KEYS, BUILT_IN
from pytest_rageval.report.comparison_document import comparison_document
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.verdict import Judgement
from tests.build.records import changed, failed, record, talk
from tests.build.runs import random_churn, run_of, scored, side


def compared(base: list[CaseRecord], new: list[CaseRecord], **settings: Any) -> PairedComparison:
    return compare_records(base, new, ComparisonSettings(**settings))


# --- what is worse, and what is noise ----------------------------------------------------------


def test_a_planted_drop_of_12_points_in_200_cases_is_worse() -> None:
    found = compared(run_of(200), run_of(200, missed=range(100, 130)))
    for key in ("hit_at_k", "recall_at_k", "mrr"):
        change = found.metrics[key]
        assert change.n == 200
        assert change.delta == pytest.approx(-0.12)
        assert change.verdict == "worse"
        assert change.p is not None
        assert change.p < 0.01
        assert change.high is not None
        assert change.high < 0
    assert len(found.newly_missed) == 24


@pytest.mark.parametrize("seed", range(20))
def test_random_churn_of_4_percent_is_no_finding(seed: int) -> None:
    # Equal shares of hits and misses turn, as they do where nothing but noise changed them.
    churn = random_churn(200, 0.04, seed)
    turned = [i for i in sorted(churn)]
    up = {i - i % 5 for i in turned[::2]}
    down = {i - i % 5 + 1 for i in turned[1::2]}
    found = compared(run_of(200), run_of(200, churn=up | down))
    assert found.flips
    assert {change.verdict for change in found.metrics.values()} <= {"same", "unclear"}
    assert all(change.p is not None and change.p > 0.05 for change in found.metrics.values())


def test_a_metric_where_less_is_better_is_worse_when_it_rises() -> None:
    def over(rate: float) -> list[CaseRecord]:
        return [
            record(f"c{i}", {"over_abstention_rate": float(i < 100 * rate)}) for i in range(100)
        ]

    change = compared(over(0.0), over(0.3)).metrics["over_abstention_rate"]
    assert change.delta == pytest.approx(0.3)
    assert change.verdict == "worse"


def test_delta_is_new_minus_base_over_the_pairs() -> None:
    base = [scored("a", 1.0), scored("b", 0.5), scored("gone", 0.0)]
    new = [scored("a", 0.25), scored("b", 0.5), scored("fresh", 1.0)]
    change = compared(base, new).metrics["recall_at_k"]
    assert (change.base, change.new, change.delta) == (0.75, 0.375, -0.375)


def test_p_of_a_binary_metric_is_near_the_mid_p_of_mcnemar() -> None:
    base = [scored(f"c{i}", float(i < 48)) for i in range(50)]
    new = [scored(f"c{i}", float(7 <= i)) for i in range(50)]
    change = compared(base, new).metrics["hit_at_k"]
    assert change.p == pytest.approx(mcnemar(2, 7).p_midp / 2, abs=0.004)
    assert change.verdict == "unclear"
    assert change.high is not None
    assert change.high > 0


def test_only_the_metrics_that_a_verdict_rests_on_are_adjusted_for_their_number() -> None:
    found = compared(run_of(60), run_of(60, missed=range(1, 9))).metrics
    adjusted = {key for key, change in found.items() if change.tests > 1}
    assert adjusted
    assert adjusted <= set(ASPECT_KEYS)
    for change in found.values():
        assert change.low is not None
        assert change.high is not None
        assert change.p is not None
        assert (change.verdict in {"better", "worse"}) == (change.p < 0.05)
        assert (change.p < 0.05) == (change.low > 0 or change.high < 0)


def test_cases_of_one_document_flip_together() -> None:
    documents = [f"d{i // 10}.md" for i in range(100)]
    base = [scored(f"c{i}", 1.0, cluster=documents[i]) for i in range(100)]
    new = [scored(f"c{i}", float(i >= 10), cluster=documents[i]) for i in range(100)]
    together = compared(base, new).metrics["hit_at_k"]
    apart = compared(
        [replace(r, cluster=None) for r in base], [replace(r, cluster=None) for r in new]
    ).metrics["hit_at_k"]
    assert (together.clusters, apart.clusters) == (10, None)
    assert together.p is not None
    assert together.p > 0.05  # one document of ten
    assert apart.p is not None
    assert apart.p < 0.01
    assert (together.verdict, apart.verdict) == ("unclear", "worse")


def test_a_change_within_the_margin_of_thresholds_is_the_same() -> None:
    base, new = run_of(100), run_of(100, missed=(1,))
    assert compared(base, new).metrics["hit_at_k"].verdict == "same"
    tight = compared(base, new, margins={"hit_at_k": 0.01}).metrics["hit_at_k"]
    assert (tight.margin, tight.verdict) == (0.01, "unclear")


# --- which cases -----------------------------------------------------------------------------


def test_one_changed_question_leaves_199_cases() -> None:
    base, new = run_of(200), run_of(200)
    new[7] = replace(new[7], case_hash="changed")
    found = compared(base, new)
    assert (found.n_paired, found.n_left_out) == (199, 1)
    assert found.pairing.left_out == (
        UnpairedCase(file="evals/set.jsonl", case_id="c-007", reason="content_changed"),
    )
    assert found.metrics["recall_at_k"].n == 199


def test_cases_of_one_run_alone_are_left_out_with_the_reason() -> None:
    found = compared(
        [scored("a", 1.0), scored("b", 1.0)],
        [scored("b", 1.0), scored("c", 1.0), scored("a", 1.0, file="evals/other.jsonl")],
    )
    assert [(one.file, one.case_id, one.reason) for one in found.pairing.left_out] == [
        ("evals/other.jsonl", "a", "only_in_new"),
        ("evals/set.jsonl", "a", "only_in_base"),
        ("evals/set.jsonl", "c", "only_in_new"),
    ]


def test_a_case_that_failed_on_one_side_is_no_pair_and_is_counted() -> None:
    base = [scored("a", 1.0), scored("b", 1.0)]
    new = [scored("a", 1.0), failed("b", metrics={"hit_at_k": None}, case_hash="b-content")]
    change = compared(base, new).metrics["hit_at_k"]
    assert (change.n, change.n_base_only, change.n_new_only) == (1, 1, 0)


def test_repeats_are_one_case_with_their_mean() -> None:
    base = [scored("a", v, repeat=i) for i, v in enumerate((1.0, 1.0))]
    new = [scored("a", v, repeat=i) for i, v in enumerate((1.0, 0.0))]
    change = compared(base, new).metrics["hit_at_k"]
    assert (change.n, change.base, change.new, change.delta) == (1, 1.0, 0.5, -0.5)


def test_repeats_of_one_run_take_the_test_for_means() -> None:
    base = [scored(f"c{i}", 1.0) for i in range(9)]
    new = [scored(f"c{i}", v, repeat=r) for i in range(9) for r, v in enumerate((1.0, 0.0))]
    found = compared(base, new).metrics["hit_at_k"]
    assert found.p is not None
    assert found.p < 0.02


# --- latency and noise -------------------------------------------------------------------------


def test_latency_is_compared_over_all_calls_and_has_no_p() -> None:
    base = [scored("a", 1.0, latency={"total_ms": 100.0})]
    new = [scored("a", 1.0, latency={"total_ms": 150.0}), scored("b", 1.0, latency={})]
    found = compared(base, new).latency["latency_ms.p95"]
    assert (found.base, found.new, found.delta) == (100.0, 150.0, 50.0)
    assert (found.n_base, found.n_new) == (1, 1)
    assert not hasattr(found, "p")


def test_a_call_that_timed_out_enters_at_the_limit_of_its_own_run() -> None:
    late = [failed("a", "timeout", latency={})]
    found = compared(late, late, base_timeout_ms=1000.0, new_timeout_ms=2000.0)
    assert found.latency["latency_ms.p50"].delta == 1000.0


def judged(case_id: str, score: float, **fields: Any) -> CaseRecord:
    return record(case_id, {"groundedness": score}, **fields)


def test_repeats_of_one_prompt_tell_how_noisy_a_judge_is() -> None:
    def verdict(prompt: str) -> dict[str, Judgement]:
        given = Judgement(rubric="groundedness", rubric_version="", judge="m", prompt_hash=prompt)
        return {"groundedness": given}

    base = [judged("a", 4.0, judgements=verdict("p")),
            judged("a", 5.0, judgements=verdict("p"), repeat=1)]  # fmt: skip
    new = [judged("a", 3.0, judgements=verdict("p")),
           judged("a", 5.0, judgements=verdict("p"), repeat=1),
           judged("a", 1.0, judgements=verdict("other answer"), repeat=2)]  # fmt: skip
    noise = compared(base, new).metrics["groundedness"].noise
    assert noise is not None
    assert noise.repeat_sd == pytest.approx((0.5 * (0.5 + 2.0)) ** 0.5)
    assert (noise.n_repeated, noise.disagreement_rate) == (2, None)


# --- flawed answers ----------------------------------------------------------------------------


def ended(case_id: str, outcome: str, stage: str | None, **fields: Any) -> CaseRecord:
    metrics: dict[str, float | None] = {"hit_at_k": float(outcome != "missed"), "correctness": 1.0}
    given = {"outcome": outcome, "failure_stage": stage, "case_hash": case_id}
    return record(case_id, metrics, **given | fields)


def test_a_case_whose_answer_became_wrong_is_worse_and_not_newly_missed() -> None:
    base, new = ended("a", "passed", None), ended("a", "flawed", "incorrect")
    found = compared([base], [new])
    (flip,) = found.flips
    assert (flip.base_outcome, flip.new_outcome) == ("passed", "flawed")
    assert (flip.direction, flip.reason) == ("worse", "incorrect")
    assert found.newly_missed == ()
    assert found.stages == {"incorrect": (0, 1)}
    assert compared([new], [base]).flips[0].direction == "better"


def test_stages_are_counted_over_the_paired_cases_once_each() -> None:
    stays = [ended("s", "missed", "not_retrieved")]
    only = [ended("only", "missed", "out_of_scope")]
    base = [ended("a", "missed", "not_retrieved", repeat=n) for n in range(3)]
    new = [ended("a", "passed", None, repeat=n) for n in range(3)]
    assert compared([*stays, *base], [*stays, *new, *only]).stages == {"not_retrieved": (2, 1)}


def test_answers_judged_by_different_judges_flaw_no_case_of_a_comparison() -> None:
    keys = frozenset(BUILT_IN.cases) - {"groundedness", "correctness"}
    base, new = ended("a", "passed", None), ended("a", "flawed", "incorrect")
    found = compared([base], [new], keys=keys)
    assert (found.flips, found.stages) == ((), {})


# --- two runs by category and by tag

SETTINGS = ComparisonSettings(keys=frozenset({"recall_at_k", "mrr", "hit_at_k"}))


def halves(n: int, missed: range) -> list[CaseRecord]:
    """Records of n cases, the first half of which are tagged and of a category of their own."""
    found = []
    for i in range(n):
        fields: dict[str, Any] = {"category": "late"}
        if i < n // 2:
            fields = {"category": "early", "tags": ("work", "all")}
        else:
            fields["tags"] = ("all",)
        found.append(scored(f"c-{i:03}", float(i not in missed), **fields))
    return found


def groups(n: int = 80, missed: range = range(20), **given: Any) -> dict[str, GroupChange]:
    pairs = pair_cases(halves(n, range(0)), halves(n, missed)).pairs
    found = compare_groups(pairs, SETTINGS, **given)
    return {f"{one.name} {one.change.key}": one for one in found}


def test_a_change_stands_where_its_cases_are() -> None:
    found = groups()
    assert [*found] == [
        "early recall_at_k",
        "early mrr",
        "late recall_at_k",
        "late mrr",
        "tag all recall_at_k",
        "tag all mrr",
        "tag work recall_at_k",
        "tag work mrr",
    ]
    early, late, everything = (found[f"{g} recall_at_k"] for g in ("early", "late", "tag all"))
    assert (early.change.n, early.change.delta, early.verdict) == (40, -0.5, "worse")
    assert (late.change.n, late.change.delta) == (40, 0.0)
    assert (everything.change.n, everything.change.delta) == (80, -0.25)
    assert early.change.low is not None
    assert early.change.high is not None
    assert early.change.low < -0.5 < early.change.high < 0


def test_few_cases_have_no_verdict() -> None:
    found = groups(n=40, missed=range(20))
    assert found["early recall_at_k"].verdict == "worse"
    assert groups(n=38, missed=range(19))["early recall_at_k"].verdict is None
    assert groups(n=38, missed=range(19), min_n=19)["early recall_at_k"].verdict == "worse"


@pytest.mark.parametrize("min_n", [0, 1])
def test_without_a_minimum_one_case_has_what_its_interval_says(min_n: int) -> None:
    found = groups(n=2, missed=range(1), min_n=min_n)["early recall_at_k"]
    assert found.change.n == 1
    assert found.verdict == "unclear"


def test_looking_at_groups_changes_no_p() -> None:
    found = compare_runs(side(run_of(50)), side(run_of(50, missed=range(10))))
    alone = comparison_document(CheckedComparison(found=found))
    pairs = found.comparison.pairing.pairs
    groups = compare_groups(pairs, SETTINGS)
    beside = comparison_document(CheckedComparison(found=found, groups=groups))
    assert alone["metrics"] == beside["metrics"]
    assert len(alone["groups"]) == 0
    assert ("category", "general", "mrr") in [
        (one["table"], one["group"], one["change"]["key"]) for one in beside["groups"]
    ]


def test_turns_of_conversations_are_groups() -> None:
    def run(second: float) -> list[CaseRecord]:
        return [
            changed(one, metrics={"recall_at_k": second if one.case.turn == 2 else 1.0})
            for number in range(30)
            for one in talk(f"t{number}", "passed", "passed", "passed", "passed")
        ]

    pairs = pair_cases(run(1.0), run(0.0)).pairs
    turns = {
        one.group: (one.change.n, one.change.delta, one.verdict == "worse")
        for one in compare_groups(pairs, SETTINGS)
        if one.table == "turn" and one.change.key == "recall_at_k"
    }
    assert turns == {"1": (30, 0.0, False), "2": (30, -1.0, True), "3+": (60, 0.0, False)}
