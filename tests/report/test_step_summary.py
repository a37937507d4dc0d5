from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval.report.step_summary import LIMIT_BYTES, append_step_summary


def environ(path: Path) -> dict[str, str]:
    return {"GITHUB_STEP_SUMMARY": str(path)}


@pytest.mark.parametrize("environment", [{}, {"GITHUB_STEP_SUMMARY": ""}])
def test_outside_a_step_nothing_is_written(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert append_step_summary("text\n", environment) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("before", "gap"), [("first\n", "\n"), ("first", "\n\n")])
def test_what_others_wrote_stays_and_an_empty_line_comes_between(
    tmp_path: Path, before: str, gap: str
) -> None:
    path = tmp_path / "summary"
    path.write_text(before, encoding="utf-8")
    assert append_step_summary("second\n", environ(path)) is None
    assert path.read_text(encoding="utf-8") == f"{before}{gap}second\n"


def test_the_file_of_a_step_never_grows_past_what_github_takes(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    path.write_bytes(b"x" * (LIMIT_BYTES - 1000))
    block = "".join(f"line {i}\n" for i in range(1000))
    for _ in range(3):
        assert append_step_summary(block, environ(path)) is None
    text = path.read_text(encoding="utf-8")
    assert len(text) <= LIMIT_BYTES
    assert "line 50\n" in text
    assert "\nCut here: " in text


def test_a_path_that_cannot_be_written_is_said_in_a_sentence(tmp_path: Path) -> None:
    missing = append_step_summary("text\n", environ(tmp_path / "no" / "summary"))
    assert missing is not None
    assert missing.startswith("the step summary was not written: GITHUB_STEP_SUMMARY ")
    assert missing.endswith(": No such file or directory")
    folder = append_step_summary("text\n", environ(tmp_path))
    assert folder is not None
    assert folder.endswith(": Is a directory")
    null = append_step_summary("text\n", {"GITHUB_STEP_SUMMARY": "a\0b"})
    assert null is not None
    assert "null" in null
