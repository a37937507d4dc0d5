"""``rageval score --workers``: the numbers of one process, from several."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from errno import ENOSPC
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import distributed
import pytest

from benchmarks.score_stream import write_files
from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.engine.distributed import dask_pool
from pytest_rageval.engine.distributed.job import open_job
from pytest_rageval.engine.distributed.reduce import aggregate_parts
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.support.process import Termination
from pytest_rageval.values.errors import ConfigError, StorageError
from pytest_rageval.values.settings import Settings
from tests.build.files import write_lines
from tests.build.jobs import Here
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
        (["--parts", "p"], "expected --workers or --scheduler beside it"),
        (["--scheduler", "tcp://h:1"], "expected --parts beside it"),
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


@contextmanager
def _here(workers: int | None, scheduler: str | None, signals: Termination) -> Iterator[Here]:
    yield Here()


class _Full(io.StringIO):
    """Output on a disk that is full."""

    def write(self, text: str) -> int:
        raise OSError(ENOSPC, "No space left on device")


@pytest.mark.parametrize("options", [["--json"], []])
def test_parts_are_kept_until_the_numbers_are_printed(
    options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.setattr(dask_pool, "open_pool", _here)
    arguments = ["score", *FILES, "--workers", "1", "--parts", "pp", *options]
    with monkeypatch.context() as full:
        full.setattr(sys, "stdout", _Full())
        assert cli.run(arguments) == ExitCode.USAGE
    assert "the output cannot be written: No space left" in capsys.readouterr().err
    assert Path("pp/part-0").is_file()
    Path("pp/notes.txt").touch()
    assert cli.run(arguments) == ExitCode.YES
    assert capsys.readouterr().out
    assert os.listdir("pp") == ["notes.txt"]


def test_the_output_is_that_of_one_process(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    monkeypatch.setattr(dask_pool, "open_pool", _here)
    arguments = ["score", *FILES, "--judge", "offline"]
    assert cli.run(arguments) == ExitCode.YES
    alone = capsys.readouterr().out
    assert "judge not validated" in alone
    assert cli.run([*arguments, "--workers", "1"]) == ExitCode.YES
    assert capsys.readouterr().out == alone


def test_no_folder_is_claimed_before_there_are_processes(capsys: Output) -> None:
    arguments = ["--scheduler", "tls://127.0.0.1:9", "--parts", "pp"]
    assert cli.run(["score", *FILES, *arguments]) == ExitCode.USAGE
    assert "--scheduler tls://127.0.0.1:9: cannot be reached: TLS" in capsys.readouterr().err
    assert not Path("pp").exists()


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "tcp://127.0.0.1", "foo://a:1", "1:2:3"])
def test_an_address_without_a_scheduler_is_refused(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_pool, "_CONNECT_S", 0.2)
    expected = f"--scheduler {re.escape(address)}: cannot be reached"
    with pytest.raises(ConfigError, match=expected):
        dask_pool.open_pool(None, address, Termination()).__enter__()


def test_processes_that_cannot_start_are_named_by_their_option(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(**_: object) -> None:
        raise OSError("no ports")

    monkeypatch.setattr(distributed, "LocalCluster", fail)
    with pytest.raises(ConfigError, match=r"--workers 2: .*no ports"):
        dask_pool.open_pool(2, None, Termination()).__enter__()


def test_certificates_need_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    missing = re.escape("pip install 'pytest-rageval[dask]'")
    with pytest.raises(ConfigError, match=missing):
        dask_pool.open_pool(1, None, Termination()).__enter__()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (distributed.KilledWorker("task", Mock(), 3), "4 workers died at the same task"),
        (CancelledError(), "the scheduler has ended"),
    ],
)
def test_a_task_that_is_lost_is_reported_in_one_line(
    error: Exception, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = SimpleNamespace(result=Mock(side_effect=error))
    monkeypatch.setattr("distributed.client.as_completed", lambda futures, loop: iter([lost]))
    job = open_job(Path(FILES[0]), Path(FILES[1]), Settings(rootdir="."), BUILT_IN, Path("pp"))
    with pytest.raises(StorageError, match=message):
        list(dask_pool.DaskPool(Mock()).each(aggregate_parts, job, [None]))


_COMMAND = """
import sys
from pytest_rageval.cli import main
from pytest_rageval.engine.distributed import job, run

job._PART_BYTES = 1 << 20

class Step(run.Step):
    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name == "done":
            print(self.name, value, file=sys.stderr, flush=True)

run.Step = Step
sys.exit(main.run(["score", *sys.argv[1:]]))
"""
"""The command with smaller parts, which prints each of its steps as it is done."""


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
    files = [str(file) for file in write_files(project, 2_000)]
    whole = _numbers(_start(*files, "-k", "10", "--json"))
    process = _start(*files, "-k", "10", "--json", "--workers", "2")
    _wait_for(process, "score 1")
    victims = _workers(process)
    assert len(victims) == 2
    os.kill(victims[0], signal.SIGKILL)
    assert _numbers(process) == whole
    assert not list(Path("evals/results").glob(".parts-*"))


@pytest.mark.slow
@pytest.mark.parametrize("step", ["", "score 1"])
def test_ctrl_c_ends_in_a_line_from_the_start(project: Path, step: str) -> None:
    files = [str(file) for file in write_files(project, 2_000)]
    process = _start(*files, "-k", "10", "--workers", "2")
    if step:
        _wait_for(process, step)
    else:
        wait_until(lambda: len(_workers(process)) > 0, "a worker to start")
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, err = process.communicate(timeout=300)
    assert process.returncode == ExitCode.INTERRUPTED
    assert err.splitlines()[-1].startswith("scoring was stopped; finished parts are kept in ")
    assert "Traceback" not in err


@pytest.mark.slow
def test_a_terminated_command_says_what_is_kept_and_how_to_go_on(project: Path) -> None:
    files = [str(file) for file in write_files(project, 2_000)]
    process = _start(*files, "-k", "10", "--workers", "2")
    _wait_for(process, "score 1")
    process.terminate()
    _, err = process.communicate(timeout=300)
    assert process.returncode == ExitCode.INTERRUPTED
    (folder,) = Path().glob("evals/results/.parts-*")
    assert f"parts are kept in {folder.resolve()}, and the same command goes on" in err
    assert "Traceback" not in err


def test_a_page_is_not_left_out_where_none_is_written(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["score", *FILES, "--workers", "2", "--no-report"]) == ExitCode.USAGE
    assert "--no-report: many processes write no report" in capsys.readouterr().err


@pytest.mark.slow
def test_a_killed_command_goes_on_where_it_was(project: Path) -> None:
    files = [str(file) for file in write_files(project, 2_000)]
    whole = _numbers(_start(*files, "-k", "10", "--json"))
    process = _start(*files, "-k", "10", "--json", "--workers", "2")
    _wait_for(process, "score 2")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    (folder,) = Path().glob("evals/results/.parts-*")
    marked = [path for path in folder.iterdir() if re.fullmatch(r"part-\d+", path.name)]
    finished = {
        path: path.stat().st_mtime_ns for one in marked for path in folder.glob(f"{one.name}*")
    }
    assert len(finished) >= 6
    again = _start(*files, "-k", "10", "--json", "--workers", "2")
    _wait_for(again, "aggregate 1")
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    assert _numbers(again) == whole


@pytest.mark.slow
def test_a_running_scheduler_scores(project: Path) -> None:
    whole = _numbers(_start(*FILES, "--json"))
    with distributed.LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=1, dashboard_address="127.0.0.1:0", local_directory=str(project / "dask")
    ) as cluster:
        options = ("--scheduler", cluster.scheduler_address, "--parts", "shared")
        assert _numbers(_start(*FILES, "--json", *options)) == whole
    assert not Path("shared").exists()


@pytest.mark.slow
def test_a_worker_with_another_version_of_the_package_is_refused(project: Path) -> None:
    old = project / "old"
    (old / "pytest_rageval-0.0.1.dist-info").mkdir(parents=True)
    metadata = old / "pytest_rageval-0.0.1.dist-info/METADATA"
    metadata.write_text("Metadata-Version: 2.1\nName: pytest-rageval\nVersion: 0.0.1\n", "utf-8")
    with (
        distributed.LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=0, dashboard_address="127.0.0.1:0", local_directory=str(project / "dask")
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,  # type: ignore[no-untyped-call]
    ):
        address = cluster.scheduler_address
        worker = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-dashboard"],
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(old)},
        )
        try:
            client.wait_for_workers(1, timeout=120)
            process = _start(*FILES, "--scheduler", address, "--parts", "shared")
            text, err = process.communicate()
        finally:
            worker.terminate()
            worker.wait()
    assert (text, process.returncode) == ("", ExitCode.USAGE)
    assert f"--scheduler {address}: expected pytest-rageval" in err
    assert "0.0.1" in err
    assert "Traceback" not in err
    assert not Path("shared").exists()


@pytest.mark.slow
def test_the_processes_of_this_machine_take_no_orders_of_others() -> None:
    with dask_pool.open_pool(1, None, Termination()) as pool:
        address = pool.client.scheduler_info()["address"]
        assert address.startswith("tls://127.0.0.1:")
        for other, identity in (
            (address.replace("tls", "tcp"), None),
            (address, distributed.Security.temporary()),  # type: ignore[no-untyped-call]
        ):
            with pytest.raises(OSError, match=r"closed|certificate"):
                distributed.Client(  # type: ignore[no-untyped-call]
                    other, timeout=60, set_as_default=False, security=identity
                )
