"""Folders of sweeps: new ones, and those to resume."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.engine.sweep.runner import begin_sweep, description
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.sweep import SweepFile

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
