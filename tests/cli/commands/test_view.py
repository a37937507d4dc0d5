"""``rageval view`` as a process of its own, from its address to its end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from tests.build.runs import run_of, write_run

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/[\w-]{43}/\?token=[\w-]{43}(?= )")
VIEW = [sys.executable, "-m", "pytest_rageval.cli.main", "view"]


def test_the_runs_are_shown_until_ctrl_c(project: Path) -> None:
    write_run(Path("evals/results"), "r1", run_of(2), day=1)
    environ = {name: v for name, v in os.environ.items() if name != "SSH_CONNECTION"}
    with subprocess.Popen(
        [*VIEW, "last"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
        env=environ,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            found = ADDRESS.search(process.stdout.readline())
            assert found is not None
            with httpx.Client(base_url=found[0].partition("?")[0]) as client:
                assert "url=run-r1" in client.get(found[0]).text
                assert "r1" in client.get("/run-r1").text
                process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (0, "", "")


def test_a_run_that_is_not_there_is_one_line(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(Path("evals/results"), "r1", run_of(2), day=1)
    assert cli.run(["view", "nope"]) == ExitCode.USAGE
    assert capsys.readouterr().err.count("\n") == 1
    elsewhere = write_run(project / "other", "r9", run_of(2), day=1)
    assert cli.run(["view", str(elsewhere)]) == ExitCode.USAGE
    assert "is not in" in capsys.readouterr().err
