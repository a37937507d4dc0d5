"""Entries of a list of runs."""

from __future__ import annotations

from pathlib import Path

from pytest_rageval.runs.list import run_entry
from pytest_rageval.values.run import StoredRun
from tests.build.runs import numbers_with


def test_the_number_of_cases_is_listed_where_the_run_has_ended() -> None:
    assert run_entry(StoredRun(folder=Path("a"))).n_cases is None
    assert run_entry(StoredRun(folder=Path("a"), aggregate=numbers_with(total=4))).n_cases == 4
