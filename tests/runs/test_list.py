"""Entries of a list of runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval.runs.list import run_entry
from pytest_rageval.values.run import StoredRun


@pytest.mark.parametrize("odd", [True, "4", [4], {"x": 4}, None, 10**30, 1.5])
def test_a_number_of_cases_of_another_type_counts_as_missing(odd: object) -> None:
    assert run_entry(StoredRun(folder=Path("a"), metrics={"total_tests": odd})).n_cases is None


def test_a_number_of_cases_is_listed() -> None:
    assert run_entry(StoredRun(folder=Path("a"), metrics={"total_tests": 4})).n_cases == 4
