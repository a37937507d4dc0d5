"""``rageval report --comment``; the page is tested where it is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from tests.build.repository import NEEDS_GIT, Repository, forget_git
from tests.build.runs import run_of

Output = pytest.CaptureFixture[str]
LOST = range(1, 20)


@pytest.fixture
def here(project: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A branch that lost cases; the run of the merge base is in another folder."""
    forget_git(monkeypatch)
    found = Repository(project)
    found.commit("one")
    found.store("base", run_of(60), results=project / "kept")
    found.branch("change")
    found.commit("two")
    found.store("new", run_of(60, LOST), day=2)
    return found


def comment(capsys: Output, *arguments: str) -> str:
    assert cli.run(["report", "new", "--comment", *arguments]) == ExitCode.YES
    return capsys.readouterr().out


@NEEDS_GIT
def test_the_comment_compares_with_the_baseline_that_is_found(
    here: Repository, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert comment(capsys).startswith("## rageval: PASS, no baseline")
    monkeypatch.setenv("RAGEVAL_RUNS", "kept")
    text = comment(capsys, "--baseline", "auto", "--link", "https://example.com/page")
    assert text.startswith("## rageval: PASS, worse: 16 broke")
    assert text.endswith("\n[The page of this run](<https://example.com/page>)\n")


@NEEDS_GIT
def test_the_comment_can_be_written_to_a_file(
    here: Repository, capsys: Output, tmp_path: Path
) -> None:
    file = tmp_path / "out" / "comment.md"
    assert cli.run(["report", "new", "--comment", "-o", str(file)]) == ExitCode.YES
    assert file.read_text(encoding="utf-8").startswith("## rageval: PASS, no baseline")
    assert not (here.path / "evals" / "results" / "new" / "report.html").exists()
