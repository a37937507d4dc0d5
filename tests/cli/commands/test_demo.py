"""``rageval demo``: run as a newcomer does, and computed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.commands import demo
from pytest_rageval.cli.output import ExitCode

Output = pytest.CaptureFixture[str]


def test_a_newcomer_sees_the_cause_first_and_finds_no_file(tmp_path: Path) -> None:
    def seconds() -> float:
        used = os.times()
        return used.children_user + used.children_system

    home, before = tmp_path / "home", seconds()
    home.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "pytest_rageval.cli.main", "demo"],
        cwd=home,
        env={**os.environ, "HOME": str(home), "FORCE_COLOR": "1", "COLUMNS": "80"},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert "policies/lending.md" in lines[0]
    assert any("\x1b[31m" in line and "FAIL" in line for line in lines)
    assert len(lines) < 24
    assert [*home.iterdir()] == []
    assert seconds() - before < 6  # of a processor; about 1.4 on an idle one


def test_settings_of_the_user_change_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Output
) -> None:
    index = tmp_path / "index.sqlite"
    monkeypatch.setenv("RAGEVAL_RAG_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("RAGEVAL_DB", str(index))
    assert cli.run(["demo", "--json"]) == ExitCode.YES
    found = json.loads(capsys.readouterr().out)
    assert sorted(found["newly_missed"]) == ["lending_001", "lending_002", "multi_hop_002"]
    assert os.environ["RAGEVAL_DB"] == str(index)
    assert not index.exists()


def test_a_loss_that_the_limits_do_not_catch_is_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.setattr(demo, "_REMOVED", "questions.md")
    assert cli.run(["demo", "-v"]) == ExitCode.NO
    shown = capsys.readouterr().out
    assert "gate     PASS" in shown
    assert "\nmetric " in shown
