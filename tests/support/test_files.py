from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_rageval.runs.store import RunWriter
from pytest_rageval.support.files import FolderLock
from pytest_rageval.values.errors import StorageError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no lock on folders there")


def test_a_folder_is_locked_once(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    with pytest.raises(StorageError, match="another session is writing this run"):
        FolderLock(tmp_path)
    lock.close()
    lock.close()
    FolderLock(tmp_path).close()
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_a_process_dies_with_it(tmp_path: Path) -> None:
    code = (
        "import os, sys, pathlib; from pytest_rageval.support.files import FolderLock;"
        f"lock = FolderLock(pathlib.Path({str(tmp_path)!r})); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    FolderLock(tmp_path).close()


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
