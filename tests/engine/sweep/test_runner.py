"""Groups of configurations that are cut among themselves, and the questions that this takes."""

from __future__ import annotations

from dataclasses import replace

from pytest_rageval.engine.sweep.runner import groups_of, judged_answers, planned_questions
from tests.build.sweeps import TWELVE, plan_questions, planned


def test_side_by_side_all_configurations_are_one_group() -> None:
    plan = planned(n_cases=150)
    (group,) = groups_of(plan, in_place=False)
    assert (group.sizes, group.finalists) == ((12, 6, 3), 3)
    assert planned_questions(plan, [group]) == plan_questions(plan) == 810
    assert judged_answers(plan, [group]) == 3 * 150


def test_in_place_each_index_has_its_share_and_the_baseline_goes_first() -> None:
    plan = planned(replace(TWELVE, baseline={"k": 10, "fusion": "rrf", "chunk_tokens": 400}), 150)
    groups = groups_of(plan, in_place=True)
    assert [group.sizes for group in groups] == [(6, 3, 2), (6, 3, 2)]
    assert plan.baseline in groups[0].keys
    assert planned_questions(plan, groups) == 2 * (6 * 30 + 3 * 30 + 2 * 90)


def test_the_questions_of_a_holdout_are_those_of_the_finalists() -> None:
    plan = planned(replace(TWELVE, holdout=0.25, method="grid"), 120)
    groups = groups_of(plan, in_place=False)
    assert planned_questions(plan, groups) == plan_questions(plan) == 12 * 90 + 4 * 30
    assert judged_answers(plan, groups) == 12 * 90 + 4 * 30
