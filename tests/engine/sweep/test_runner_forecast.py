"""Questions and cost of a sweep, before it asks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_rageval.engine.sweep.runner import forecast
from pytest_rageval.runs.store import write_document, write_numbers
from pytest_rageval.values.settings import Settings
from tests.build.runs import config_from, numbers_with
from tests.build.sweeps import planned


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
