"""Thousands of cases in one session: what each of them adds to its memory."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.loopback_server import after, loopback_server
from tests.plugin.long_runs import ask_server, numbered_cases
from tests.plugin.scratch import QUIET, Project

MB = 1024
LIMIT_MB = 500
MANY = 10_000


def peak_mb(project: Project, url: str, count: int) -> float:
    project.cases(numbered_cases(count))
    ask_server(project, url)
    arguments = ["-q", "--rageval-concurrency", "64", "--rageval-run-id", f"of-{count}", *QUIET]
    session = subprocess.Popen(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=project.path,
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(session.pid, 0)
    session.returncode = os.waitstatus_to_exitcode(status)
    assert session.returncode == 0
    return usage.ru_maxrss / MB


@pytest.mark.slow
def test_ten_thousand_cases_at_this_rate_stay_within_memory(project: Project) -> None:
    with loopback_server(after(0.0)) as server:
        few, some, more = (peak_mb(project, server.url, count) for count in (100, 600, 1600))
        assert server.peak <= 64
    per_case = (more - few) / 1500
    assert few + per_case * MANY < LIMIT_MB
    # Later ones add no more than earlier ones, but for what a machine adds on its own.
    assert (more - some) / 1000 < 1.5 * (some - few) / 500 + 0.01
