from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_rageval.judges.calibrations import (
    StoredCalibration,
    calibration_folder,
    calibration_path,
    read_calibration,
    read_calibrations,
    write_calibration,
)
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.settings import Settings


def test_calibrations_stand_below_the_first_test_path(tmp_path: Path) -> None:
    settings = Settings(rootdir=str(tmp_path), testpaths=("mine", "evals"))
    assert calibration_folder(settings) == tmp_path / "mine/judge_calibration"


def test_every_judge_has_a_file_of_its_own_within_the_folder(tmp_path: Path) -> None:
    judges = [
        "offline/7", "offline-1", "offline%2F7", "../x", "..", "m @ https://h:1/v1?a=b", "ü" * 300,
        "ü" * 299 + "x", "a~b",
    ]  # fmt: skip
    paths = [calibration_path(tmp_path, judge, "correctness") for judge in judges]
    assert len({path.name for path in paths}) == len(judges)
    for path in paths:
        assert path.parent == tmp_path
        assert len(path.name) < 200
        assert path.resolve().parent == tmp_path.resolve()
    assert paths[0].name == "offline%2F7-correctness.json"


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.json"
    write_calibration(path, {"judge": "j", "rubric": "r", "n": 1})
    write_calibration(path, {"judge": "j", "rubric": "r", "n": 2, "more": "x"})
    read = StoredCalibration(schema_version=1, judge="j", rubric="r", n=2)
    assert read_calibration(path) == read
    write_calibration(path.with_name("b.json"), {"judge": "k", "rubric": "r", "n": 3})
    assert [found.judge for found in read_calibrations(path.parent)] == ["j", "k"]
    assert sorted(file.name for file in path.parent.iterdir()) == ["a.json", "b.json"]


@pytest.mark.parametrize("text", ["{", "[]", "{}", json.dumps({"schema_version": 2}), "[" * 99_999])
def test_what_is_no_calibration_is_an_error_with_its_path(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StorageError, match=r"a\.json: cannot be read: .*; write it anew with"):
        read_calibrations(tmp_path)
