from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_rageval.runs.store import RESULTS, RunWriter
from pytest_rageval.support.files import (
    FOLDER_LOCK,
    Lock,
    read_plain,
    shown_below,
    write_file,
    written_beside,
)
from pytest_rageval.values.errors import StorageError


def test_a_folder_is_locked_once(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    lock = Lock(folder, wait=False)
    assert [path.name for path in folder.iterdir()] == [FOLDER_LOCK]
    with pytest.raises(StorageError, match="run: another session is writing this run"):
        Lock(folder, wait=False, what="run")
    lock.close()
    lock.close()
    Lock(folder, wait=False).close()
    assert list(tmp_path.rglob("*")) == [folder]


def test_the_lock_of_a_process_dies_with_it(tmp_path: Path) -> None:
    code = (
        "import os, sys, pathlib; from pytest_rageval.support.files import Lock;"
        f"lock = Lock(pathlib.Path({str(tmp_path)!r}), wait=False); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    assert [path.name for path in tmp_path.iterdir()] == [FOLDER_LOCK]
    Lock(tmp_path, wait=False).close()
    assert list(tmp_path.iterdir()) == []


def test_a_run_may_be_begun_in_a_folder_that_a_killed_session_locked(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / FOLDER_LOCK).touch()
    RunWriter(tmp_path, "r").close()
    assert [path.name for path in (tmp_path / "r").iterdir()] == [RESULTS]


def test_a_run_is_written_by_one_writer(tmp_path: Path) -> None:
    with RunWriter(tmp_path, "r"):
        with pytest.raises(StorageError, match="another session is writing this run"):
            RunWriter(tmp_path, "r", resume=True)
    RunWriter(tmp_path, "r", resume=True).close()


@pytest.mark.posix
def test_a_text_is_read_through_a_link_and_not_from_a_pipe_a_device_or_a_folder(
    tmp_path: Path,
) -> None:
    file, link, pipe = tmp_path / "file", tmp_path / "link", tmp_path / "pipe"
    file.write_bytes("\ufeffa\r\nb\r\n".encode())
    link.symlink_to(file)
    os.mkfifo(pipe)
    assert read_plain(link) == "a\nb\n"
    for other in (pipe, Path("/dev/zero")):
        with pytest.raises(OSError, match="not a plain file, but a pipe or a device"):
            read_plain(other)
    with pytest.raises(IsADirectoryError):
        read_plain(tmp_path)


@pytest.mark.parametrize(
    ("path", "root", "shown"),
    [
        ("/a/p/evals/x", "/a/p", "evals/x"),
        ("/a/p/evals/../x", "/a/p", "x"),
        ("/a/p/../shared/x", "/a/p", "../shared/x"),
        ("/b/x", "/a/p", "/b/x"),
        ("/p/x", "/p", "x"),
        ("/b/x", "/p", "/b/x"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="a path there begins with a drive")
def test_a_path_is_shown_alike_on_every_machine(path: str, root: str, shown: str) -> None:
    assert shown_below(Path(path), Path(root)) == shown


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path: Path) -> None:
    file, left = tmp_path / "a.html", tmp_path / ".a.html.rageval-0a1b2c3d.tmp"
    left.touch()
    with written_beside(file, [b"slow"]) as beside:
        for one in (left, beside):
            os.utime(one, (time.time() - 10,) * 2)
        write_file(file, b"quick")
        assert not left.exists()
        os.replace(beside, file)
    assert file.read_bytes() == b"slow"
    assert os.listdir(tmp_path) == ["a.html"]
