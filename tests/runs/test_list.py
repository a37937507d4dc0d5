"""Entries of a list of runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.runs.list import (
    last_full_run,
    remove_run,
    run_entry,
    run_to_compare_with,
    unusable_folders,
    usable_runs,
)
from pytest_rageval.runs.read import read_documents
from pytest_rageval.runs.store import BEGUN
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.gate import BaselineInfo, GateResult
from pytest_rageval.values.run import StoredRun
from tests.build.runs import numbers_with, scored, write_run


def test_the_number_of_cases_is_listed_where_the_run_has_ended() -> None:
    assert run_entry(StoredRun(folder=Path("a"))).n_cases is None
    assert run_entry(StoredRun(folder=Path("a"), aggregate=numbers_with(total=4))).n_cases == 4


def of_set(results: Path, run_id: str, asked: str) -> Path:
    """Write a run of a set of two cases."""
    whole: dict[str, Any] = {"set": {"hash": "whole", "n_cases": 2}}
    return write_run(results, run_id, [scored("a", 1.0)], **whole, dataset_hash=asked)


def test_the_last_full_run_asked_its_whole_set(tmp_path: Path) -> None:
    full, part = of_set(tmp_path, "full", "whole"), of_set(tmp_path, "part", "part")
    assert last_full_run([full, part]) == full
    assert last_full_run([part]) is None


def test_a_run_is_shown_beside_the_last_before_it_that_asked_as_much(tmp_path: Path) -> None:
    asked = {"a": "whole", "b": "part", "c": "whole", "d": "part", "e": "whole"}
    runs = [read_documents(of_set(tmp_path, run_id, which)) for run_id, which in asked.items()]
    (tmp_path / "c" / "results.jsonl").unlink()

    def beside(run: StoredRun) -> str | None:
        found = run_to_compare_with(run, runs)
        return None if found is None else found.run_id

    assert [beside(run) for run in runs] == [None, "a", None, "b", "a"]
    named = GateResult(verdict="pass", sentence="PASS", baseline=BaselineInfo(run_id="d"))
    assert beside(replace(runs[1], gate=named)) == "d"
    assert beside(replace(runs[3], gate=named)) == "b"  # a run is not compared with itself


def test_a_run_is_removed_with_its_folders_and_one_behind_a_link_is_not(tmp_path: Path) -> None:
    run = of_set(tmp_path / "runs", "a", "whole")
    (run / "logs").mkdir()
    (run / "logs" / "one.txt").write_text("x", encoding="utf-8")
    (tmp_path / "link").symlink_to(run, target_is_directory=True)
    before = sorted(run.rglob("*"))
    with pytest.raises(StorageError):
        remove_run(tmp_path / "link")
    remove_run(run, dry_run=True)
    assert sorted(run.rglob("*")) == before
    remove_run(run)
    assert not run.exists()


def test_a_folder_that_is_no_run_is_named_unless_a_session_is_writing_it(tmp_path: Path) -> None:
    assert (usable_runs(tmp_path / "gone"), unusable_folders(tmp_path / "gone")) == ([], {})
    run = of_set(tmp_path, "a", "whole")
    for name in ("tags", ".hidden", "killed", "begun", "odd name"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to(run, target_is_directory=True)
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "begun" / BEGUN).write_text("{}", encoding="utf-8")
    assert usable_runs(tmp_path) == [run]
    found = unusable_folders(tmp_path)
    assert [*found] == ["killed", "link", "odd name"]
    assert len({*found.values()}) == 3
