from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_rageval.analysis.trust.judge import NOT_VALIDATED
from pytest_rageval.engine.judge_notes import judge_facts
from pytest_rageval.judges.calibrations import (
    calibration_folder,
    calibration_path,
    write_calibration,
)
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.settings import Settings
from pytest_rageval.values.verdict import Judgement
from tests.build.records import record
from tests.build.verdicts import judged_by


def verdict(judge: str = "offline/7", level: str = "offline", **more: Any) -> dict[str, Judgement]:
    given = {"judge": judge, "rubric_version": "g-1", "level": level, **more}
    return judged_by("groundedness", {"groundedness": 4.0}, **given)


def judged(name: str, *given: str, **more: Any) -> CaseRecord:
    return record(name, judgements=verdict(*given, **more))


def settings(tmp_path: Path, judge: str = "offline") -> Settings:
    return Settings(rootdir=str(tmp_path), judge=judge)


def test_the_most_frequent_cause_of_failed_verdicts_is_named(tmp_path: Path) -> None:
    refused = ("unreachable", "HTTP 401: no key")
    failed = [judged(name, "m @ h", "text", error=refused) for name in "ab"]
    notes = judge_facts([record("a"), *failed]).notes(settings(tmp_path, "m-2024-05-13"))
    assert notes == ["m @ h: 2 verdicts failed: unreachable: HTTP 401: no key"]
    other = judged("c", "m @ h", "text", error=("truncated", ""))
    notes = judge_facts([*failed, other]).notes(settings(tmp_path, "m-2024-05-13"))
    assert notes == ["m @ h: 3 verdicts failed, 2 of them: unreachable: HTTP 401: no key"]


def test_a_judge_that_was_never_compared_with_people_is_not_validated(tmp_path: Path) -> None:
    notes = judge_facts([judged("a"), judged("b")]).notes(settings(tmp_path))
    assert notes == [f"offline/7: {NOT_VALIDATED}"]


def test_a_calibration_of_the_same_rubric_validates_its_judge(tmp_path: Path) -> None:
    folder = calibration_folder(settings(tmp_path))
    report = {
        "judge": "offline/7", "rubric": "groundedness", "rubric_version": "g-1", "n": 200,
        "auroc": 0.85, "kappa": 0.5, "kappa_low": 0.4, "kappa_high": 0.6,
    }  # fmt: skip
    write_calibration(calibration_path(folder, "offline/7", "groundedness"), report)
    (note,) = judge_facts([judged("a")]).notes(settings(tmp_path))
    assert note.startswith("offline/7: judge validated: groundedness")


def test_a_model_without_a_version_in_its_name_is_warned_about(tmp_path: Path) -> None:
    records = [judged("a", judge="gpt-4o at h", level="json_schema")]
    notes = judge_facts(records).notes(settings(tmp_path, judge="gpt-4o"))
    assert any("gpt-4o" in note for note in notes[1:])
    dated = "gpt-4o-2024-08-06"
    pinned = judge_facts([judged("a", judge=f"{dated} at h", level="json_schema")])
    assert len(pinned.notes(settings(tmp_path, judge=dated))) == 1
