"""The choice of a baseline, from facts alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.analysis.baseline import (
    BaselineCandidate,
    ChoiceSettings,
    History,
    choose_baseline,
)
from pytest_rageval.values.baseline import Approval, BaselineChoice

DAY = 86_400.0
NOW = 100 * DAY
GIVEN = ChoiceSettings(now=NOW, where="evals/results", max_days=14, max_commits=50)
BRANCH = History(main="origin/main", head="h", commits=("m3", "m2", "m1"))
NEW = BaselineCandidate(run_id="new", at=NOW, commit="h", files=frozenset({"evals/a.jsonl"}))


def stored(run_id: str, commit: str, *, days: float = 1, **fields: Any) -> BaselineCandidate:
    given = {"verdict": "pass", "files": NEW.files, **fields}
    return BaselineCandidate(run_id=run_id, at=NOW - days * DAY, commit=commit, **given)


def choose(
    *runs: BaselineCandidate,
    history: History = BRANCH,
    approved_days: float | None = None,
    **new: Any,
) -> BaselineChoice:
    approval = None
    if approved_days is not None:
        approval = Approval(run="ok", by="Ada", at="", because="intended")
    at = NOW - (approved_days or 0) * DAY
    return choose_baseline(replace(NEW, **new), runs, history, approval, at, GIVEN)


def remarks(choice: BaselineChoice) -> list[str]:
    return [one.code for one in choice.remarks]


def test_the_run_of_the_merge_base_is_chosen_before_newer_ones() -> None:
    found = choose(stored("r2", "m2", days=0.1), stored("r3", "m3", days=3), stored("x", "h"))
    assert (found.code, found.run_id, found.days, found.commits) == ("merge_base", "r3", 3, 0)
    assert found.problem is None
    assert "m3" in found.sentence


def test_of_several_runs_of_a_commit_that_of_the_same_settings_and_cases_is_chosen() -> None:
    runs = [
        stored("newest", "m3", days=1, config_hash="other", dataset_hash="d"),
        stored("other-cases", "m3", days=2, config_hash="c", dataset_hash="e"),
        stored("alike", "m3", days=3, config_hash="c", dataset_hash="d"),
    ]
    assert choose(*runs, config_hash="c", dataset_hash="d").run_id == "alike"


@pytest.mark.parametrize(
    ("base", "why"),
    [
        ({"verdict": "fail"}, "failed"),
        ({"verdict": None}, "undecided"),
        ({"verdict": "not_evaluated"}, "undecided"),
        ({"dirty": True}, "dirty"),
        ({"partial": True}, "partial"),
        ({"files": frozenset({"evals/b.jsonl"})}, "other_files"),
        ({"has_records": False}, "no_records"),
    ],
)
def test_a_run_that_cannot_be_a_baseline_is_passed_over_with_the_reason(
    base: dict[str, Any], why: str
) -> None:
    unfit = stored("r3", "m3", **base)
    found = choose(unfit, stored("r1", "m1"))
    assert (found.code, found.run_id, found.commits, found.passed_over) == ("main", "r1", 2, why)
    alone = choose(unfit)
    assert (alone.code, alone.facts["why"], alone.run_id) == ("refused", why, None)
    assert alone.problem is not None
    assert "nothing was decided" in alone.problem


def test_a_part_of_the_set_is_compared_with_the_same_tier() -> None:
    smoke, whole = stored("r3", "m3", tier="smoke"), stored("r4", "m3", days=0.5)
    assert choose(smoke).code == "refused"
    assert choose(smoke, whole, tier="smoke").run_id == "r3"
    assert choose(whole, tier="smoke").run_id == "r4"


def test_a_run_over_some_files_of_a_project_is_the_baseline_of_these_files_alone() -> None:
    two = frozenset({*NEW.files, "evals/b.jsonl"})
    one = stored("r3", "m3", whole=False)
    assert choose(one).run_id == "r3"
    assert choose(stored("both", "m3", files=two)).run_id == "both"
    refused = choose(one, files=two)
    assert (refused.code, refused.facts["why"]) == ("refused", "partial")
    # A file that the change adds leaves the others compared.
    assert choose(stored("r3", "m3"), files=two).run_id == "r3"


def test_a_part_of_the_set_does_not_call_itself_the_next_baseline() -> None:
    on_main = replace(BRANCH, head="m3")
    assert choose(history=on_main, commit="m3").code == "first"
    assert choose(history=on_main, commit="m3", partial=True).code == "no_runs"


def test_a_commit_of_main_is_compared_with_an_earlier_one() -> None:
    on_main = replace(BRANCH, head="m3")
    again, before = stored("r3", "m3"), stored("r2", "m2")
    found = choose(again, before, history=on_main, commit="m3")
    assert (found.code, found.run_id) == ("main", "r2")
    assert choose(again, history=on_main, commit="m3").code == "first"


def test_uncommitted_changes_on_main_are_compared_with_its_commit() -> None:
    found = choose(stored("r3", "m3"), history=replace(BRANCH, head="m3", dirty=True))
    assert (found.code, found.run_id, remarks(found)) == ("merge_base", "r3", ["dirty_tree"])


def test_an_approval_wins_over_the_runs_made_before_it() -> None:
    failed = stored("ok", "h", days=2, verdict="fail", unlike=())
    older, newer = stored("r2", "m2", days=5), stored("r3", "m3", days=0.5)
    assert choose(older, failed, approved_days=1).code == "approved"
    assert choose(older, failed, approved_days=1).run_id == "ok"
    assert choose(older, newer, failed, approved_days=1).run_id == "r3"


@pytest.mark.parametrize(
    "other",
    [{"tier": "smoke", "partial": True}, {"tier": "full"}, {"files": frozenset({"evals/b.jsonl"})}],
)
def test_an_approval_of_another_tier_or_set_hides_no_run(other: dict[str, Any]) -> None:
    approved = stored("ok", "h", unlike=(), **other)
    found = choose(stored("r3", "m3", days=5), approved, approved_days=1)
    assert (found.code, found.run_id) == ("merge_base", "r3")
    # Without any other run its approval is what is known.
    assert choose(approved, approved_days=1).code in {"approved", "refused"}


def test_an_approved_run_that_is_gone_leaves_no_baseline_until_main_has_a_newer_run() -> None:
    gone = choose(stored("r2", "m2", days=5), approved_days=1)
    assert (gone.code, gone.run_id) == ("approved_missing", None)
    assert "Ada" in gone.sentence
    assert choose(stored("r3", "m3", days=0.5), approved_days=1).run_id == "r3"


def test_a_run_with_another_fact_than_the_approved_one_is_not_it_and_says_which() -> None:
    other = stored("ok", "h", unlike=("config_hash",))
    found = choose(stored("r2", "m2", days=5), other, approved_days=1)
    assert (found.code, found.run_id, found.facts["run"]) == ("approved_other", None, "ok")
    assert found.facts["differing"] == "config_hash"
    assert choose(other, stored("copy", "h", unlike=()), approved_days=1).run_id == "copy"


def test_an_approved_run_needs_its_records() -> None:
    found = choose(stored("ok", "h", unlike=(), has_records=False), approved_days=1)
    assert (found.code, found.facts["why"]) == ("refused", "no_records")


@pytest.mark.parametrize(
    "problem", ["no_repository", "no_commit", "unknown_commit", "no_main", "shallow"]
)
def test_without_a_merge_base_only_an_approved_run_is_found(problem: Any) -> None:
    history = History(problem=problem, main="origin/main")
    assert choose(stored("r", "m3"), history=history).code == problem
    approved = stored("ok", "m3", unlike=())
    assert choose(approved, history=history, approved_days=1).run_id == "ok"


def test_no_run_at_all_and_none_of_main_are_no_baseline() -> None:
    assert choose().code == "no_runs"
    assert choose(stored("r", "elsewhere")).code == "no_runs"
    short = choose(history=replace(BRANCH, shallow=True))
    assert (short.code, remarks(short)) == ("no_runs", ["shallow_history"])
