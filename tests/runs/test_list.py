"""Entries of a list of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_rageval.runs.list import last_full_run, run_entry
from pytest_rageval.values.run import StoredRun
from tests.build.runs import numbers_with, scored, write_run


def test_the_number_of_cases_is_listed_where_the_run_has_ended() -> None:
    assert run_entry(StoredRun(folder=Path("a"))).n_cases is None
    assert run_entry(StoredRun(folder=Path("a"), aggregate=numbers_with(total=4))).n_cases == 4


def test_the_last_full_run_asked_its_whole_set(tmp_path: Path) -> None:
    of_set: dict[str, Any] = {"set": {"hash": "whole", "n_cases": 2}}
    records = [scored("a", 1.0)]
    full = write_run(tmp_path, "full", records, **of_set, dataset_hash="whole")
    part = write_run(tmp_path, "part", records, **of_set, dataset_hash="part")
    assert last_full_run([full, part]) == full
    assert last_full_run([part]) is None
