"""Thousands of cases in one session: what each of them adds to its memory."""

from __future__ import annotations

import sys

import pytest

from tests.build.loopback import after, loopback_server
from tests.plugin.long_runs import ask_server, numbered_cases
from tests.plugin.scratch import Project

MB = 1024
LIMIT_MB = 500
MANY = 10_000


# Not what wait4 tells: its maximum begins with that of the process that started the session.
TELL_PEAK = """
import pathlib

def pytest_unconfigure():
    status = pathlib.Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    pathlib.Path("peak_kb").write_text(peak.split()[1])
"""


def peak_mb(project: Project, url: str, count: int) -> float:
    project.cases(numbered_cases(count))
    ask_server(project, url)
    project.write("conftest.py", TELL_PEAK)
    result = project.run_apart("--rageval-concurrency", "64", "--rageval-run-id", f"of-{count}")
    assert result.ret == 0
    return int((project.path / "peak_kb").read_text()) / MB


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")
@pytest.mark.slow
def test_ten_thousand_cases_at_this_rate_stay_within_memory(project: Project) -> None:
    with loopback_server(after(0.0)) as server:
        few, some, more = (peak_mb(project, server.url, count) for count in (100, 600, 1600))
        assert server.peak <= 64
    per_case = (more - few) / 1500
    assert few + per_case * MANY < LIMIT_MB
    # Later ones add no more than earlier ones, but for what a machine adds on its own.
    assert (more - some) / 1000 < 1.5 * (some - few) / 500 + 0.01
