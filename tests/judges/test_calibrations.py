from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_rageval.judges.calibrations import (
    calibration_folder,
    calibration_path,
    read_admissions,
    read_calibration,
    write_calibration,
)
from pytest_rageval.judges.offline.judge import OfflineJudge
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.settings import JudgeSettings, Settings
from pytest_rageval.values.verdict import StoredCalibration


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
    write_calibration(path, {"judge": "j", "rubric": "r", "scores": {"a": 1}})
    write_calibration(path, {"judge": "j", "rubric": "r", "scores": {"a": 2}, "more": "x"})
    read = StoredCalibration(schema_version=1, judge="j", rubric="r", scores={"a": 2})
    assert read_calibration(path) == read
    assert [file.name for file in path.parent.iterdir()] == ["a.json"]


def stored(project: Settings, name: str, text: str) -> None:
    path = calibration_folder(project) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_calibrations_of_a_project_come_after_those_of_the_package(tmp_path: Path) -> None:
    project = Settings(rootdir=str(tmp_path), judging=JudgeSettings(admit_at=0.7))
    bundled = read_admissions(project)
    assert {one.rubric for one in bundled.stored} == {"groundedness", "correctness", "abstention"}
    assert all(one.bundled and one.judge == OfflineJudge.identity for one in bundled.stored)
    own = {"schema_version": 1, "judge": OfflineJudge.identity, "rubric": "correctness"}
    stored(project, "a.json", json.dumps(own))
    found = read_admissions(project)
    assert (found.bar, len(found.stored)) == (0.7, len(bundled.stored) + 1)
    last = found.find(OfflineJudge.identity, {"correctness"})
    assert last is not None
    assert not last.bundled


def test_a_file_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    project = Settings(rootdir=str(tmp_path))
    stored(project, "a.json", "{")
    stored(project, "b.json", '{"schema_version": 1, "judge": "k", "rubric": "r"}')
    found = read_admissions(project)
    assert found.stored[-1].judge == "k"
    assert [("a.json" in problem) for problem in found.problems] == [True]


@pytest.mark.parametrize("text", ["{", "[]", "{}", json.dumps({"schema_version": 2}), "[" * 99_999])
def test_what_is_no_calibration_is_an_error_with_its_path(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StorageError, match=r"a\.json: cannot be read: "):
        read_calibration(path)
