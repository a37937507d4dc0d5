from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_rageval.engine.judging import judge_facts
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


def test_a_model_without_a_version_in_its_name_is_warned_about(tmp_path: Path) -> None:
    records = [judged("a", judge="gpt-4o at h", level="json_schema")]
    notes = judge_facts(records).notes(settings(tmp_path, judge="gpt-4o"))
    assert ["gpt-4o" in note for note in notes] == [True]
    dated = "gpt-4o-2024-08-06"
    pinned = judge_facts([judged("a", judge=f"{dated} at h", level="json_schema")])
    assert pinned.notes(settings(tmp_path, judge=dated)) == []
