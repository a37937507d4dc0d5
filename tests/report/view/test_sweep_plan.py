"""Forecast of a sweep in the terminal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pytest_rageval.engine.sweep.forecast import forecast
from pytest_rageval.report.faces.terminal import draw
from pytest_rageval.report.view.sweep_plan import plan_lines
from pytest_rageval.values.settings import Settings
from tests.build.sweeps import TWELVE, planned


def test_questions_builds_cost_and_the_smallest_difference_are_shown(tmp_path: Path) -> None:
    settings = Settings(rootdir=str(tmp_path), judge="gpt-x")
    document = forecast(settings, planned(n_cases=150), in_place=False)
    text = "\n".join(draw(plan_lines(document), width=120))
    assert "configurations  12, baseline k=3, fusion=weighted, chunk_tokens=200" in text
    assert "rung 2          6 configurations over 60 cases" in text
    assert "requests        810 of 1,800 of the whole grid (45%)" in text
    assert "index builds    2" in text
    assert "gpt-x, 450 answers, what that costs is not known" in text
    assert "at least 7 of 150 cases (4.7%)" in text
    assert text.endswith("nothing was asked")


def test_held_out_cases_and_a_known_price_are_named(tmp_path: Path) -> None:
    plan = planned(replace(TWELVE, holdout=0.25, method="grid"), 120)
    document = forecast(Settings(rootdir=str(tmp_path)), plan, in_place=False)
    text = "\n".join(draw(plan_lines({**document, "judge_cost_usd": 4.5}), width=120))
    assert "cases           120, 30 of them held out" in text
    assert "about $4.50, as the last run of this judge" in text


def test_no_line_is_wider_than_the_terminal(tmp_path: Path) -> None:
    document = forecast(Settings(rootdir=str(tmp_path)), planned(n_cases=150), in_place=False)
    document |= {"baseline": {"k": 3, "prompt": "long" * 30}, "notes": ["a note " * 20]}
    lines = [*draw(plan_lines(document), width=60)]
    assert max(map(len, lines)) <= 60
    assert sum(line.startswith(" " * 15) for line in lines) > 2
