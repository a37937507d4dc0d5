from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugin.scratch import Project


@pytest.fixture
def step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "step-summary"
    path.write_text("from an earlier command\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    return path


def test_a_run_appends_its_summary_once(project: Project, step: Path) -> None:
    assert project.run().ret == 0
    (folder,) = project.run_folders()
    summary = (folder / "summary.md").read_text(encoding="utf-8")
    assert summary.startswith("## rageval: PASS")
    assert step.read_text(encoding="utf-8") == f"from an earlier command\n\n{summary}"


def test_a_run_that_was_cut_short_says_so_there(project: Project, step: Path) -> None:
    project.write("thresholds.toml", '[cases]\non_miss = "fail"\n')
    project.run("-x")
    assert "## rageval: not evaluated: the session " in step.read_text(encoding="utf-8")


def test_a_summary_that_cannot_be_written_is_a_note_and_nothing_else(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    result = project.run()
    assert result.ret == 0
    text = " ".join(result.stdout.str().split())
    assert text.count("the step summary was not written") == 1
    assert (project.run_folders()[0] / "summary.md").is_file()
    assert "step summary" not in (project.run_folders()[0] / "summary.md").read_text("utf-8")


def test_nothing_on_standard_output_is_a_workflow_command(project: Project, step: Path) -> None:
    project.write("thresholds.toml", '[overall]\nrecall_at_k = ">= 0.9"\n')
    result = project.run("-v")
    assert result.ret == 1
    assert [line for line in result.outlines if line.lstrip().startswith("::")] == []
    assert "##[" not in result.stdout.str()
