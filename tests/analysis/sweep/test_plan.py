""""""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_rageval.analysis.sweep.goal import sweep_goal
from pytest_rageval.analysis.sweep.plan import Configuration, SweepPlan, expand_grid, plan_sweep
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.sweep import SweepFile
from tests.build.sweeps import TWELVE, plan_questions, planned, some_cases


def test_a_plan_counts_questions_indexes_and_finalists() -> None:
    plan = planned(n_cases=150)
    assert [(r.configurations, len(r.cases)) for r in plan.rungs] == [(12, 30), (6, 60), (3, 150)]
    assert (plan_questions(plan), plan.grid_questions, plan.n_indexes) == (810, 1800, 2)
    assert (plan.method, plan.finalists, plan.deciding) == ("halving", 3, plan.rungs[-1].cases)
    assert [plan.judged_at(number) for number in range(3)] == [False, False, True]
    assert plan.baseline == plan.configurations[0].key
    assert plan.sensitivity.least_cases == 7


def test_a_holdout_is_asked_of_the_best_alone() -> None:
    plan = planned(replace(TWELVE, holdout=0.25, method="grid"), 120)
    assert [(r.configurations, len(r.cases)) for r in plan.rungs] == [(12, 90)]
    assert (len(plan.held), plan.finalists, plan_questions(plan)) == (30, 4, 12 * 90 + 4 * 30)
    assert not set(plan.held) & set(plan.rungs[0].cases)


def test_nothing_to_compare_is_refused() -> None:
    one = SweepFile(query={"k": (3,)})
    with pytest.raises(ConfigError, match="one configuration"):
        plan_sweep(one, some_cases(3), sweep_goal(one, some_cases(3)))
    with pytest.raises(ConfigError, match="no case to ask"):
        plan_sweep(TWELVE, [], sweep_goal(TWELVE, []))


def wide(parameters: str, n_cases: int) -> SweepPlan:
    """Plan a sweep of ten values of each parameter, named by a letter."""
    sweep = SweepFile(query={name: tuple(range(10)) for name in parameters})
    return plan_sweep(sweep, some_cases(n_cases), sweep_goal(sweep, some_cases(n_cases)))


def test_lists_that_span_too_much_are_refused_before_they_are_spelled_out() -> None:
    with pytest.raises(ConfigError, match="1,000,000 configurations, expected at most 10,000"):
        wide("abcdef", 20)


# ---


def test_a_grid_has_every_combination_and_keeps_those_of_an_index_together() -> None:
    grid = expand_grid({"k": (3, 5), "rerank": (False, True)}, {"chunk_tokens": (200, 400)})
    assert [one.name for one in grid[:3]] == [
        "k=3 rerank=false chunk_tokens=200",
        "k=3 rerank=true chunk_tokens=200",
        "k=5 rerank=false chunk_tokens=200",
    ]
    assert [one.index["chunk_tokens"] for one in grid] == [200] * 4 + [400] * 4
    assert len({one.key for one in grid}) == 8


def test_a_key_is_stable_whatever_the_order_of_the_names() -> None:
    one = Configuration(query={"k": 3, "rerank": True}, index={})
    other = Configuration(query={"rerank": True, "k": 3}, index={})
    assert one.key == other.key == "873e53c2ec4e"
    assert one.key != Configuration(query={"k": 3}, index={"rerank": True}).key
    assert Configuration(query={"k": 1}).key != Configuration(query={"k": True}).key
