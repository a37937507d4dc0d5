"""``rageval score --workers``: the numbers of one process, from several."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import distributed
import pytest

from benchmarks.score_stream import write_files
from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.engine import distributed as scoring
from pytest_rageval.values.errors import ConfigError, StorageError
from pytest_rageval.values.settings import Settings
from tests.build.files import write_lines
from tests.cli.commands.test_judge import CASES, RESPONSES
from tests.plugin.long_runs import wait_until

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
        (["--workers", "2", "--parts", "p"], "No such option '--parts'"),
        (["--workers", "2", "--judge", "gpt-4o"], "expected offline, since requests"),
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


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "foo://a:1", "1:2:3"])
def test_an_address_without_a_scheduler_is_refused(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "_CONNECT_S", 0.2)
    expected = f"--scheduler {re.escape(address)}: cannot be used"
    with pytest.raises(ConfigError, match=expected):
        scoring.open_client(None, address).__enter__()


def test_processes_that_cannot_start_are_named_by_their_option(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(distributed, "LocalCluster", Mock(side_effect=OSError("no ports")))
    with pytest.raises(ConfigError, match=r"--workers 2: .*no ports"):
        scoring.open_client(2, None).__enter__()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (distributed.KilledWorker("task", Mock(), 3), "4 workers died at the same shard"),
        (CancelledError(), "the scheduler has ended"),
    ],
)
def test_a_shard_that_is_lost_is_reported_in_one_line(
    error: BaseException, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: Future[object] = Future()
    lost.set_exception(error)
    monkeypatch.setattr(distributed, "as_completed", lambda futures, loop: iter(futures))
    client = Mock(nthreads=lambda: {"one": 1}, map=lambda *_, **__: [lost])
    with pytest.raises(StorageError, match=message):
        scoring.score_shards(Path(FILES[0]), Path(FILES[1]), Settings(rootdir="."), client)


_COMMAND = """
import sys
from pytest_rageval.cli import main
from pytest_rageval.engine import distributed

score_shards = distributed.score_shards

def printed(*given):
    def on_scored(done, of):
        print("scored", done, file=sys.stderr, flush=True)
    return score_shards(*given[:-1], on_scored)

distributed.score_shards = printed
sys.exit(main.run(["score", *sys.argv[1:]]))
"""
"""The command, which prints each shard as it is scored."""


def _start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _COMMAND, *arguments],
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


def _wait_for(process: subprocess.Popen[str], step: str) -> None:
    assert process.stderr is not None
    read = []
    for line in process.stderr:
        read.append(line)
        if line.strip() == step:
            return
    pytest.fail(f"{step} was not done: {''.join(read)}")


@pytest.mark.slow
def test_two_processes_have_the_numbers_of_one_though_one_of_them_is_killed(project: Path) -> None:
    files = [str(file) for file in write_files(project, 400)]
    whole = _numbers(_start(*files, "-k", "10", "--json"))
    process = _start(*files, "-k", "10", "--json", "--workers", "2")
    _wait_for(process, "scored 1")
    victims = _workers(process)
    assert len(victims) == 2
    os.kill(victims[0], signal.SIGKILL)
    assert _numbers(process) == whole


@pytest.mark.slow
@pytest.mark.parametrize(("by", "step"), [(signal.SIGINT, "scored 1"), (signal.SIGTERM, "")])
def test_an_interrupt_ends_in_a_line(project: Path, by: signal.Signals, step: str) -> None:
    files = [str(file) for file in write_files(project, 400)]
    process = _start(*files, "-k", "10", "--workers", "2")
    if step:
        _wait_for(process, step)
    else:
        wait_until(lambda: len(_workers(process)) > 0, "a worker to start")
    if by is signal.SIGINT:
        os.killpg(process.pid, by)  # as a terminal does
    else:
        process.send_signal(by)
    _, err = process.communicate(timeout=300)
    assert process.returncode == ExitCode.INTERRUPTED
    assert "Traceback" not in err


@pytest.mark.slow
def test_a_running_scheduler_prints_the_lines_of_one_process(project: Path, capsys: Output) -> None:
    arguments = ["score", *FILES, "--judge", "offline"]
    assert cli.run(arguments) == ExitCode.YES
    alone = capsys.readouterr().out
    assert "groundedness" in alone
    with distributed.LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=1, dashboard_address="127.0.0.1:0", local_directory=str(project / "dask")
    ) as cluster:
        assert cli.run([*arguments, "--scheduler", cluster.scheduler_address]) == ExitCode.YES
    assert capsys.readouterr().out == alone


@pytest.mark.slow
def test_the_processes_of_this_machine_take_no_orders_of_others() -> None:
    with scoring.open_client(1, None) as client:
        address = client.scheduler_info()["address"]
        assert address.startswith("tls://127.0.0.1:")
        with pytest.raises(OSError, match=r"closed|certificate"):
            distributed.Client(  # type: ignore[no-untyped-call]
                address.replace("tls", "tcp"), timeout=20, set_as_default=False
            )
