"""The lines that the page on recorded responses shows are read as it says."""

from __future__ import annotations

from pathlib import Path

from pytest_rageval.engine.recorded import RecordedRun
from pytest_rageval.values.settings import Settings
from tests.build.files import write_lines

PAGE = Path(__file__).parents[2] / "docs" / "score.md"


def test_the_lines_of_the_page_are_scored(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    responses = tmp_path / "responses.jsonl"
    responses.write_text(text.split("```json\n")[1].split("```")[0], encoding="utf-8")
    gold = {"rel_path": "refunds.md", "heading_path": "# Refunds"}
    lines = [
        {"id": "refunds", "question": "How long?", "gold_supports": [gold]},
        {"id": "hours", "question": "When?", "gold_supports": [gold]},
        {"id": "silent", "question": "Who?", "gold_supports": [gold]},
    ]
    cases = tmp_path / "cases.jsonl"
    write_lines(cases, *lines)
    run = RecordedRun(cases, responses, Settings(rootdir=".", judge="none"))
    found = [(r.case.id, r.repeat, r.error and r.error.kind) for r in run.records()]
    assert found == [
        ("refunds", 0, None),
        ("hours", 0, "timeout"),
        ("silent", 0, "not_attempted"),
        ("refunds", 1, None),
    ]
    assert run.findings.warnings == ("1 of 3 cases have no recorded response",)
