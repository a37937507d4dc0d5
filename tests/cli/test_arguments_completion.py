"""Words that a shell offers for the command line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.runs.tags import write_tag
from tests.build.projects import work_in
from tests.build.runs import run_of, write_run

Output = pytest.CaptureFixture[str]
RESULTS = Path("evals/results")
WORDS = """\
eval "$(_RAGEVAL_COMPLETE=bash_source rageval)"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }
_rageval_completion rageval
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with two runs of three cases each, the first with a tag."""
    folder = work_in(tmp_path / "project", monkeypatch)
    for day in (1, 2):
        write_run(RESULTS, f"2026-{day}", run_of(3), day=day)
    write_tag(RESULTS, "main", "2026-1")
    return folder


def offered(monkeypatch: pytest.MonkeyPatch, capsys: Output, *words: str) -> list[str]:
    """Return the words that bash gets to complete the last of some words."""
    monkeypatch.setenv("_RAGEVAL_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", " ".join(["rageval", *words]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    assert cli.run([]) == ExitCode.YES
    out, err = capsys.readouterr()
    assert err == ""
    return [line.removeprefix("plain,") for line in out.splitlines() if line]


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("zsh", "#compdef rageval"),
        ("fish", "complete --no-files --command rageval"),
    ],
)
def test_a_shell_gets_its_script(
    shell: str, line: str, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.setenv("_RAGEVAL_COMPLETE", f"{shell}_source")
    assert cli.run([]) == ExitCode.YES
    assert line in capsys.readouterr().out


@pytest.mark.posix
@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["runs", "t"], ["tag", "trend"]),
        (["explain", "last", "c-00"], ["c-000", "c-001", "c-002"]),
    ],
)
def test_bash_completes_commands_options_runs_and_cases(
    words: list[str], expected: list[str], tmp_path: Path
) -> None:
    rageval = tmp_path / "bin" / "rageval"
    rageval.parent.mkdir()
    rageval.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pytest_rageval.cli.main "$@"\n')
    rageval.chmod(0o755)
    environ = {**os.environ, "PATH": f"{rageval.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "--norc", "-c", WORDS, "bash", "rageval", *words],
        capture_output=True,
        encoding="utf-8",
        env=environ,
        timeout=60,
        check=True,
    )
    assert (done.stdout.splitlines(), done.stderr) == (expected, "")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["expl"], ["explain"]),
        (["gate", "--al"], ["--allow-regressions"]),
        (["gate", ""], ["last", "main", "2026-2", "2026-1"]),
        (["compare", "main", "2026-2"], ["2026-2"]),
        (["report", "--baseline", "la"], ["last"]),
        (["explain", "c-001"], ["c-001"]),
        (["explain", "2026-1", "c-002"], ["c-002"]),
        (["explain", "none", "c-002"], []),
        (["runs", "trend", "recall_at_k"], ["recall_at_k"]),
        (["runs", "trend", "cost"], ["cost_usd.total"]),
        (["init", "--preset", "rag"], ["ragflow"]),
    ],
)
def test_runs_cases_and_metrics_are_offered(
    words: list[str], expected: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    assert offered(monkeypatch, capsys, *words) == expected


@pytest.mark.parametrize(
    "broken", ["pyproject.toml", "evals/results/2026-2/results.jsonl", "evals/a.jsonl"]
)
@pytest.mark.parametrize("text", ["[[[", "\x00", '{"case_id": 1}', "[" * 100_000])
def test_a_project_that_cannot_be_read_offers_no_words(
    broken: str, text: str, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    Path(broken).write_text(text, encoding="utf-8")
    whole = [] if broken != "evals/a.jsonl" else ["c-000", "c-001", "c-002"]
    assert offered(monkeypatch, capsys, "explain", "last", "c") == whole
    assert offered(monkeypatch, capsys, "case", "edit", "c") == []
