"""``rageval runs site``: all runs as a folder of static pages."""

from __future__ import annotations

import json
import re
import shutil
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.runs.read import read_run
from pytest_rageval.runs.reviews import put_note
from pytest_rageval.runs.tags import write_tag
from pytest_rageval.values.run import CaseNote
from tests.build.runs import run_of, write_run

Output = pytest.CaptureFixture[str]
RESULTS = Path("evals/results")
SITE = Path("site")


@pytest.fixture(autouse=True)
def _runs(project: Path) -> None:
    for day in range(1, 4):
        records = run_of(6, missed={day}, question="a private question")
        write_run(RESULTS, f"r{day}", records, day=day)


def site(capsys: Output, *options: str, code: int = 0) -> dict[str, Any]:
    assert cli.run(["runs", "site", "-o", str(SITE), "--json", *options]) == code
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def pages() -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(SITE.glob("*.html"))}


def test_every_run_has_a_page_and_links_lead_within_the_folder(capsys: Output) -> None:
    site(capsys)
    found = pages()
    assert list(found) == [
        "compare-r2.html", "compare-r3.html", "index.html", "run-r1.html", "run-r2.html",
        "run-r3.html",
    ]  # fmt: skip
    for name, html in found.items():
        links = re.findall(r'(?:href|src|action)="([^"]*)"', html)
        outside = [unescape(link) for link in links if not link.startswith(("#", "data:"))]
        assert {link.partition("#")[0] for link in outside} <= found.keys(), name
        assert "connect-src" not in html
    assert 'href="run-r3.html"' in found["index.html"]
    assert 'href="index.html"' in found["run-r3.html"]
    assert 'href="compare-r3.html"' in found["run-r3.html"]
    assert 'type="checkbox" name="run"' not in found["index.html"]


def test_pages_are_redacted_unless_the_full_text_is_asked_for(capsys: Output) -> None:
    record = read_run(RESULTS / "r1").records[0]
    note = CaseNote(file=record.file, case_id=record.name, text="a private note")
    put_note(RESULTS / "r1", note)
    site(capsys)
    assert not [name for name, html in pages().items() if "a private" in html]
    assert len(site(capsys, "--full-text")["written"]) == 5
    assert "a private question" in pages()["run-r1.html"]
    assert "a private note" in pages()["run-r1.html"]


def test_only_pages_of_what_changed_are_written_again(capsys: Output) -> None:
    assert len(site(capsys)["written"]) == 5
    before = {path: path.stat().st_mtime_ns for path in SITE.glob("run-*.html")}
    again = site(capsys)
    assert (again["written"], len(again["unchanged"])) == ([], 5)
    assert {path: path.stat().st_mtime_ns for path in SITE.glob("run-*.html")} == before
    write_tag(RESULTS, "main", "r1")
    assert site(capsys)["written"] == []
    assert "main" in pages()["index.html"]
    write_run(RESULTS, "r4", run_of(6), day=4)
    assert site(capsys)["written"] == ["run-r4.html", "compare-r4.html"]
    (SITE / "run-r2.html").unlink()
    assert site(capsys)["written"] == ["run-r2.html"]


def test_pages_of_removed_runs_go_and_other_files_stay(capsys: Output) -> None:
    site(capsys)
    (SITE / "CNAME").write_text("example.org", encoding="utf-8")
    shutil.rmtree(RESULTS / "r3")
    assert site(capsys)["removed"] == ["compare-r3.html", "run-r3.html"]
    assert (SITE / "CNAME").exists()
    assert site(capsys, "--last", "1")["removed"] == ["compare-r2.html", "run-r1.html"]
    assert "run-r1" not in pages()["index.html"]


def test_a_folder_of_something_else_is_not_touched(capsys: Output) -> None:
    SITE.mkdir()
    Path("pyproject.toml").touch()
    (SITE / "index.html").write_text("mine", encoding="utf-8")
    for content in (None, "{", '{"made_by": "another"}'):
        if content is not None:
            (SITE / "site.json").write_text(content, encoding="utf-8")
        assert cli.run(["runs", "site", "-o", str(SITE)]) == 2
        assert "contains other files" in capsys.readouterr().err
    assert pages() == {"index.html": "mine"}
    hostile = {"made_by": "pytest-rageval runs site", "pages": {"../pyproject.toml": "x"}}
    (SITE / "site.json").write_text(json.dumps(hostile), encoding="utf-8")
    assert site(capsys)["removed"] == []
    assert Path("pyproject.toml").exists()


def test_the_badge_is_written(capsys: Output) -> None:
    site(capsys, "--badge", "recall_at_k")
    badge = json.loads((SITE / "badge.json").read_text(encoding="utf-8"))
    assert (badge["schemaVersion"], badge["label"]) == (1, "recall_at_k")
