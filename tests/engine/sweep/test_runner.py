"""Groups of configurations that are cut among themselves, and the questions that this takes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.engine.sweep.runner import (
    begin_sweep,
    description,
    forecast,
    groups_of,
    judged_answers,
    planned_questions,
    with_query,
)
from pytest_rageval.runs.store import write_document, write_numbers
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.settings import Settings
from pytest_rageval.values.sweep import SweepFile
from tests.build.runs import config_from, numbers_with
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


# --- folders of sweeps: new ones, and those to resume

SWEEP = SweepFile(query={"k": (3, 5)}, weights={"mrr": 1.0}, path="a.toml")


def begun(sweep: SweepFile = SWEEP, cases: str = "c1") -> dict[str, Any]:
    return description(sweep, cases=cases, n_cases=9)


def test_a_new_sweep_overwrites_none_and_the_last_one_goes_on(tmp_path: Path) -> None:
    first = begin_sweep(tmp_path, "s", begun(), resume=False)
    second = begin_sweep(tmp_path, "s", begun(), resume=False)
    assert (first.name, second.name) == ("s", "s-2")
    again = begun(replace(SWEEP, path="moved.toml"))
    assert begin_sweep(tmp_path, "s", again, resume=True) == second
    assert (tmp_path / ".gitignore").is_file()


def test_another_file_or_other_cases_are_refused_by_name(tmp_path: Path) -> None:
    begin_sweep(tmp_path, "s", begun(), resume=False)
    other = replace(SWEEP, query={"k": (3,)}, seed=9)
    with pytest.raises(
        ConfigError, match=r"has changed since .*s was begun, in query, seed; give the same"
    ):
        begin_sweep(tmp_path, "s", begun(other), resume=True)
    with pytest.raises(ConfigError, match=r"\(9 then, 9 now\)"):
        begin_sweep(tmp_path, "s", begun(cases="c2"), resume=True)
    with pytest.raises(ConfigError, match="contains no sweep 't' to resume"):
        begin_sweep(tmp_path, "t", begun(), resume=True)


# --- questions and cost of a sweep, before it asks


@pytest.mark.parametrize(
    ("judge", "paid", "cost", "judged"),
    [
        ("offline", None, 0.0, 450),
        ("none", None, 0.0, 0),
        ("gpt-x", None, None, 450),
        ("gpt-x", 0.5, 4.5, 450),
    ],
)
def test_verdicts_cost_what_those_of_the_last_run_of_their_judge_did(
    tmp_path: Path, judge: str, paid: float | None, cost: float | None, judged: int
) -> None:
    run = tmp_path / "evals/results/run-1"
    run.mkdir(parents=True)
    write_document(run, "config.json", config_from(settings={"judge": judge}))
    write_numbers(run, numbers_with(total=50, cost_usd_uncached=paid))
    settings = Settings(rootdir=str(tmp_path), judge=judge, repeats=1)
    found = forecast(settings, planned(n_cases=150), in_place=False)
    assert (found["judge_cost_usd"], found["judged_answers"]) == (cost, judged)
    assert (found["requests"], found["requests_grid"], found["index_builds"]) == (810, 1800, 2)


def test_repeats_multiply_questions(tmp_path: Path) -> None:
    settings = Settings(rootdir=str(tmp_path), judge="none", repeats=3)
    plan = replace(planned(n_cases=150), repeats=settings.most_repeats)
    found = forecast(settings, plan, in_place=True)
    assert found["requests_grid"] == 5400
    assert [rung["configurations"] for rung in found["rungs"]] == [12, 6, 4]


# --- parameters of a configuration as settings of its questions

BASE = Settings(rootdir=".", params={"tenant": "a"}, vector_weight=0.5)


def test_known_fields_are_settings_and_the_rest_goes_with_the_request() -> None:
    found = with_query(BASE, {"k": 10, "lexical_weight": 0.2, "rerank": True, "tenant": "b"})
    assert (found.k, found.lexical_weight, found.vector_weight) == (10, 0.2, 0.5)
    assert found.params == {"tenant": "b", "rerank": True}
    assert with_query(BASE, {}) == BASE


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ({"k": 0}, "query.k: got 0, expected"),
        ({"folder_mode": "sometimes"}, "query.folder_mode: got 'sometimes', expected"),
        ({"question": "x"}, "query.question: got 'question', expected a field that the request"),
    ],
)
def test_a_wrong_parameter_is_named(query: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(fault)):
        with_query(BASE, query)
