"""Sessions in processes of their own that ask a server, and what they leave on disk."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.build.records import flat_line
from tests.plugin.scratch import QUIET, Project, case

WAIT_S = 240.0

# Not what wait4 tells: its maximum begins with that of the process that started the session.
TELL_PEAK = """
import pathlib

def pytest_unconfigure():
    status = pathlib.Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    pathlib.Path("peak_kb").write_text(peak.split()[1])
"""
"""Code of a conftest.py; `told_peak_mb` reads what it writes."""


def told_peak_mb(project: Project) -> float:
    """Return the peak of the memory of the last session of a project with `TELL_PEAK`."""
    return int((project.path / "peak_kb").read_text()) / 1024


def numbered_cases(count: int, *, miss_every: int = 7) -> list[dict[str, Any]]:
    """Cases whose gold is found, but for every ``miss_every``-th one."""
    return [
        case(
            f"c{n:03}",
            f"{'miss' if n % miss_every == 3 else 'hit'} number {n}",
            category="even" if n % 2 == 0 else "odd",
            tags=["round"] if n % 10 == 0 else [],
        )
        for n in range(count)
    ]


def ask_server(project: Project, url: str, *, judge: str = "none", **settings: object) -> None:
    """Let the project ask a server in the place of its fixture."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    project.write("conftest.py", "")
    project.write(
        "pyproject.toml",
        "\n".join(
            [
                "[tool.pytest.ini_options]",
                'filterwarnings = ["error"]',
                "[tool.rageval]",
                f'judge = "{judge}"',
                "no_report = true",
                *lines,
                "[tool.rageval.target]",
                f'url = "{url}"',
                "retries = 0",
            ]
        ),
    )


def start(project: Project, *arguments: str) -> subprocess.Popen[str]:
    """Start a session and do not wait for it."""
    if os.name != "posix":
        pytest.skip("needs process groups")
    cases = () if "evals" in arguments else ("evals",)
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *cases, *arguments, *QUIET],
        cwd=project.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        start_new_session=True,
    )


def kill(session: subprocess.Popen[str]) -> None:
    """Kill a session and its workers, which get no chance to tidy up."""
    os.killpg(session.pid, signal.SIGKILL)
    session.communicate(timeout=WAIT_S)


def wait_until(true: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + WAIT_S
    while not true():
        assert time.monotonic() < end, f"waited {WAIT_S} s in vain for {what}"
        time.sleep(0.01)


def lines_of(folder: Path) -> list[dict[str, Any]]:
    """The records of a run, each line of it."""
    text = (folder / "results.jsonl").read_text(encoding="utf-8")
    return [flat_line(line) for line in text.splitlines()]


def n_lines(folder: Path) -> int:
    results = folder / "results.jsonl"
    return results.read_bytes().count(b"\n") if results.is_file() else 0


def document(folder: Path, name: str = "metrics.json") -> Any:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def figures(found: Mapping[str, Any]) -> dict[str, Any]:
    """A metrics document without what differs between two runs that found the same."""
    left_out = {"latency", "latency_by_phase", "cost", "timestamp", "run_id"}

    def without(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {k: without(v) for k, v in value.items() if k not in left_out}
        return [without(v) for v in value] if isinstance(value, list) else value

    stripped: dict[str, Any] = without(found)
    return stripped
