""""""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.report.step_summary import LIMIT_BYTES, append_step_summary, fit_markdown


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


# ---

LINES = "".join(f"| {i} | value |\n" for i in range(100))
SAID = "Cut here: "


def test_a_cut_falls_between_lines_and_is_said() -> None:
    kept = fit_markdown(LINES, len(LINES) - 1)
    table, said = kept.split("\n\n")
    assert LINES.startswith(f"{table}\n")
    assert said.startswith(SAID)


def test_a_part_that_is_folded_away_does_not_take_in_what_follows() -> None:
    text = f"## one\n<details><summary>many</summary>\n\n{LINES}\n</details>\n"
    kept = fit_markdown(text, 400)
    assert kept.count("<details>") == kept.count("</details>") == 1
    assert kept.index("</details>") < kept.index(SAID)


@given(st.text(alphabet="ab\n|é€\U0001f600", max_size=400), st.integers(-10, 500))
def test_the_room_is_never_exceeded(text: str, room: int) -> None:
    kept = fit_markdown(text, room)
    assert len(kept.encode()) <= max(room, 0)
    assert kept in {text, ""} or SAID in kept
