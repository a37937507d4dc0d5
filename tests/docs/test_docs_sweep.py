"""The page on sweeps: its file is valid, its tables and numbers are those of the code."""

from __future__ import annotations

import re

import pytest

from pytest_rageval.analysis.sweep.goal import SWEEP_TIES, sweep_goal
from pytest_rageval.analysis.sweep.halving import GRID_REQUESTS, LEAST_CASES, SHARE
from pytest_rageval.analysis.sweep.plan import plan_sweep
from pytest_rageval.analysis.sweep.subsets import LEAST_HELD
from pytest_rageval.project.sweep_file import parse_sweep
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.sweep import QUICK, SWEEP_WEIGHTS, SweepFile
from tests.build.sweeps import some_cases
from tests.docs.examples import read_document

PAGE = read_document("sweep.md")


def test_the_file_of_the_page_is_valid() -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    found = parse_sweep(text, display="sweep.toml")
    assert found.objectives == ("recall_at_tokens", "context_tokens")
    assert (found.method, found.budget, found.holdout, found.seed) == ("auto", 2000, 0.25, 7)
    assert SweepFile().seed == 7
    goal = sweep_goal(found, some_cases(120))
    assert plan_sweep(found, some_cases(120), goal).held
    with pytest.raises(ConfigError, match="holdout"):
        plan_sweep(found, some_cases(110), goal)


def test_the_numbers_of_the_page_are_those_of_the_code() -> None:
    assert f"at least {LEAST_CASES} cases" in PAGE
    assert f"at most {SHARE * 100:g} % of the grid" in " ".join(PAGE.split())
    assert f"({GRID_REQUESTS} questions" in PAGE
    assert f"at least {LEAST_HELD} cases on either side" in PAGE
    weights = " + ".join(f"{weight:g} `{key}`" for key, weight in SWEEP_WEIGHTS.items())
    assert f"`sweep_score` is {weights}" in PAGE.replace("\n", " ")
    assert [name for name, _ in SWEEP_TIES] == ["recall_at_k", "mrr", "latency_ms.p95"]


def test_the_quick_grid_is_the_one_of_the_page() -> None:
    flat = PAGE.replace("\n", " ")
    for name, values in {**QUICK.query, **QUICK.index}.items():
        assert isinstance(values, tuple)
        assert f"`{name}` {', '.join(f'{value:g}' for value in values)}" in flat
    cases = some_cases(100)
    assert len(plan_sweep(QUICK, cases, sweep_goal(QUICK, cases)).configurations) == 24
