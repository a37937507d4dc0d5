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

Output = pytest.CaptureFixture[str]
WORDS = """\
eval "$(_RAGEVAL_COMPLETE=bash_source rageval)"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }
_rageval_completion rageval
printf '%s\\n' "${COMPREPLY[@]}"
"""


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


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["expl"], ["explain"]),
        (["runs", "t"], ["tag", "trend"]),
        (["gate", "--al"], ["--allow-regressions"]),
    ],
)
def test_bash_completes_commands_and_options(
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
