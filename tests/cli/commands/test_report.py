"""``rageval report --comment``; the page is tested where it is made."""

from __future__ import annotations

import shutil
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
    # It is decided again as `rageval gate` does: without limits, no case may be missed.
    assert text.startswith("## rageval: FAIL, worse: 16 broke")
    assert "run of the merge base" in text
    assert text.endswith("\n[The page of this run](<https://example.com/page>)\n")


@NEEDS_GIT
def test_title_and_baseline_of_the_comment_agree_when_the_approved_run_is_gone(
    here: Repository, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGEVAL_RUNS", "kept")
    here.store("wanted", run_of(60, LOST), results=here.path / "kept", day=3)
    given = ["runs", "approve", str(here.path / "kept" / "wanted"), "--because", "as planned"]
    assert cli.run(given) == ExitCode.YES
    capsys.readouterr()
    assert "run approved by Ada L" in comment(capsys, "--baseline", "auto")
    shutil.rmtree(here.path / "kept" / "wanted")
    text = comment(capsys, "--baseline", "auto")
    assert "no baseline: nothing was decided against one" in text.splitlines()[0]
    assert "**baseline** none: run wanted, which Ada L approved, is not in kept" in text
    assert "paired case" not in text


@NEEDS_GIT
def test_the_comment_can_be_written_to_a_file(
    here: Repository, capsys: Output, tmp_path: Path
) -> None:
    file = tmp_path / "out" / "comment.md"
    assert cli.run(["report", "new", "--comment", "-o", str(file)]) == ExitCode.YES
    assert file.read_text(encoding="utf-8").startswith("## rageval: PASS, no baseline")
    assert not (here.path / "evals" / "results" / "new" / "report.html").exists()
