from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pytest_rageval.runs.store import RunWriter
from pytest_rageval.support.files import Lock
from pytest_rageval.values.errors import StorageError


def test_a_folder_is_locked_once(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    lock = Lock(folder, wait=False)
    with pytest.raises(StorageError, match="another session is writing this run"):
        Lock(folder, wait=False)
    lock.close()
    lock.close()
    Lock(folder, wait=False).close()
    assert list(tmp_path.rglob("*")) == [folder]


def test_threads_hold_a_lock_one_after_the_other(tmp_path: Path) -> None:
    inside, most = 0, 0

    def hold() -> None:
        nonlocal inside, most
        for _ in range(20):
            with Lock(tmp_path / "file", wait=True) as lock:
                assert lock.held
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=hold) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert list(tmp_path.iterdir()) == []


def test_where_no_lock_can_be_made_nothing_is_held(tmp_path: Path) -> None:
    with Lock(tmp_path / "missing" / "file", wait=False) as lock:
        assert not lock.held
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_a_process_dies_with_it(tmp_path: Path) -> None:
    code = (
        "import os, sys, pathlib; from pytest_rageval.support.files import Lock;"
        f"lock = Lock(pathlib.Path({str(tmp_path)!r}), wait=False); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    Lock(tmp_path, wait=False).close()


def test_a_run_is_written_by_one_writer(tmp_path: Path) -> None:
    with RunWriter(tmp_path, "r"):
        with pytest.raises(StorageError, match="another session is writing this run"):
            RunWriter(tmp_path, "r", resume=True)
    RunWriter(tmp_path, "r", resume=True).close()


def test_a_run_that_cannot_be_begun_is_let_go(tmp_path: Path) -> None:
    RunWriter(tmp_path, "r").close()
    with pytest.raises(StorageError, match="a run of this id exists"):
        RunWriter(tmp_path, "r")
    RunWriter(tmp_path, "r", resume=True).close()
