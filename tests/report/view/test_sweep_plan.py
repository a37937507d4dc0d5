"""Forecast of a sweep in the terminal."""

from __future__ import annotations

from pathlib import Path

from pytest_rageval.engine.sweep.forecast import forecast
from pytest_rageval.report.faces.terminal import draw
from pytest_rageval.report.view.sweep_plan import plan_lines
from pytest_rageval.values.settings import Settings
from tests.build.sweeps import planned


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
