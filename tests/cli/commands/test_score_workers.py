"""``rageval score --workers``: the numbers of one process, from several."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.score_stream import write_files
from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from tests.build.files import write_lines
from tests.cli.commands.test_judge import CASES, RESPONSES

Output = pytest.CaptureFixture[str]
FILES = ("c.jsonl", "r.jsonl")


@pytest.fixture(autouse=True)
def recorded(project: Path) -> None:
    """A few cases with their responses."""
    write_lines("c.jsonl", *CASES)
    write_lines("r.jsonl", *RESPONSES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--workers", "2", "--scheduler", "tcp://h:1"], "expected one of them"),
        (["--workers", "2", "--save", "x"], "stored by one process alone"),
        (["--parts", "p"], "expected --workers or --scheduler beside it"),
        (["--workers", "2", "--judge", "gpt-4o"], "expected offline in many processes"),
        (["--workers", "0"], "0 is not in the range"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    arguments: Sequence[str], message: str, capsys: Output
) -> None:
    assert cli.run(["score", *FILES, *arguments]) == ExitCode.USAGE
    assert message in capsys.readouterr().err


def test_a_missing_package_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert cli.run(["score", *FILES, "--workers", "2"]) == ExitCode.USAGE
    assert "pip install 'pytest-rageval[dask]'" in capsys.readouterr().err


def _start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "pytest_rageval.cli.main", "score", *arguments]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        start_new_session=True,
    )


def _numbers(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    found: dict[str, Any] = json.loads(out)
    found.pop("cases", None)
    return found


def _workers(process: subprocess.Popen[str]) -> list[int]:
    found = subprocess.run(
        ["pgrep", "-P", str(process.pid), "-f", "spawn_main"],
        capture_output=True,
        text=True,
        check=False,
    )
    return [int(line) for line in found.stdout.split()]


def _wait_for_parts(process: subprocess.Popen[str], n: int) -> None:
    until = time.monotonic() + 120
    while len(list(Path().glob("evals/results/.parts-*/part-*.columns"))) < n:
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.slow
def test_two_processes_have_the_numbers_of_one_though_one_of_them_is_killed(project: Path) -> None:
    files = [str(file) for file in write_files(project, 30_000)]
    whole = _numbers(_start(*files, "-k", "10", "--json"))
    process = _start(*files, "-k", "10", "--json", "--workers", "2")
    _wait_for_parts(process, 1)
    victims = _workers(process)
    assert len(victims) == 2
    os.kill(victims[0], signal.SIGKILL)
    assert _numbers(process) == whole
    assert not list(Path("evals/results").glob(".parts-*"))


@pytest.mark.slow
def test_a_killed_command_goes_on_where_it_was(project: Path) -> None:
    files = [str(file) for file in write_files(project, 30_000)]
    whole = _numbers(_start(*files, "-k", "10", "--json"))
    process = _start(*files, "-k", "10", "--json", "--workers", "2")
    _wait_for_parts(process, 2)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    finished = {path: path.stat().st_mtime_ns for path in Path().glob("evals/results/.parts-*/p*")}
    again = _start(*files, "-k", "10", "--json", "--workers", "2")
    _wait_for_parts(again, 4)
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    assert _numbers(again) == whole


@pytest.mark.slow
def test_a_running_scheduler_scores(project: Path) -> None:
    from distributed import LocalCluster

    whole = _numbers(_start(*FILES, "--json"))
    with LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=1, dashboard_address="127.0.0.1:0", local_directory=str(project / "dask")
    ) as cluster:
        options = ("--scheduler", cluster.scheduler_address, "--parts", "shared")
        assert _numbers(_start(*FILES, "--json", *options)) == whole
    text, err = _start(*FILES, "--scheduler", "tcp://127.0.0.1:9").communicate()
    assert not text
    assert "--scheduler tcp://127.0.0.1:9: cannot be reached" in err
    assert "Traceback" not in err


@pytest.mark.slow
def test_the_processes_of_this_machine_take_no_orders_of_others() -> None:
    from distributed import Client, Security

    from pytest_rageval.engine.distributed.dask_pool import open_pool

    with open_pool(1, None) as pool:
        address = pool.address
        assert address.startswith("tls://127.0.0.1:")
        for other, identity in (
            (address.replace("tls", "tcp"), None),
            (address, Security.temporary()),  # type: ignore[no-untyped-call]
        ):
            with pytest.raises(OSError, match=r"closed|certificate"):
                Client(  # type: ignore[no-untyped-call]
                    other, timeout=2, set_as_default=False, security=identity
                )
