from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_rageval.authoring.doctor.project import (
    check_case_files,
    check_databases,
    check_results_folder,
    check_settings,
    check_thresholds,
    read_case_files,
)
from pytest_rageval.values.settings import Settings, TargetSettings

GOOD = '{"id": "a", "question": "q?", "answerable": false}\n'


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals/set.jsonl").write_text(GOOD, encoding="utf-8")
    return Settings(rootdir=str(tmp_path))


def cases(settings: Settings) -> list[tuple[str, str]]:
    found = check_case_files(settings, read_case_files(settings))
    return [(one.level, one.message) for one in found]


def thresholds(settings: Settings, text: str) -> tuple[str, str]:
    Path(settings.rootdir, "thresholds.toml").write_text(text, encoding="utf-8")
    found = check_thresholds(settings, read_case_files(settings))
    return found.level, found.message


def test_case_files_that_can_be_read_are_listed(settings: Settings) -> None:
    assert cases(settings) == [("ok", "evals/set.jsonl: 1 case")]


def test_the_first_faults_of_a_case_file_are_shown_and_the_rest_counted(settings: Settings) -> None:
    Path(settings.rootdir, "evals/bad.jsonl").write_text("{}\n" * 5, encoding="utf-8")
    level, message = cases(settings)[0]
    assert level == "FAIL"
    assert message.startswith("evals/bad.jsonl:1: id: missing")
    assert message.endswith("(and 7 more)")


@pytest.mark.parametrize(
    "text", ["[overall", '[overall]\nmr = ">= 1"', '[category.none]\nmrr = ">= 1"']
)
def test_thresholds_that_cannot_be_read_fail(settings: Settings, text: str) -> None:
    level, message = thresholds(settings, text)
    assert level == "FAIL"
    assert message.startswith("thresholds.toml:")
    assert " | " not in message  # an excerpt needs lines of its own


def test_the_results_folder_is_tried_and_left_as_it_was(settings: Settings) -> None:
    before = sorted(Path(settings.rootdir).rglob("*"))
    assert check_results_folder(settings).level == "ok"
    assert sorted(Path(settings.rootdir).rglob("*")) == before


def test_a_database_whose_extra_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(check_databases({})) == []
    index = {"RAGEVAL_DB": "postgresql://ann:secret@h/db"}
    [found] = check_databases(index)
    assert (found.level, "secret" in found.message) == ("ok", False)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    monkeypatch.delitem(sys.modules, "pytest_rageval.runs.history.database")
    [found] = check_databases(index)
    assert (found.level, found.message) == (
        "FAIL",
        "index of runs: needs the extra history: pip install 'pytest-rageval[history]'",
    )


def test_every_setting_that_is_ignored_or_holds_a_secret_has_a_warning_with_its_fix() -> None:
    target = TargetSettings(client="bot:ask", response="data", headers={"X-Ignored-Key": "hunter2"})
    found = check_settings(Settings(rootdir="", target=replace(target, vars={"kb": "notes"})))
    secret = 'keep secrets in environment variables, and name them as in "env:RAG_TOKEN"'
    assert [(one.message.split(":")[0], one.fix) for one in found] == [
        ("[tool.rageval.target] headers X-Ignored-Key", secret),
        ("[tool.rageval.target] vars kb", "remove it"),
        ("[tool.rageval.target] response", "remove it"),
    ]
