"""The judge cache in the hands of several threads and processes."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_rageval.judges.cache import JudgeCache
from tests.judges.test_cache import JUDGE, nth


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "judge.sqlite"


@pytest.fixture
def cache(file: Path) -> Iterator[JudgeCache]:
    with JudgeCache(file) as cache:
        yield cache


# --- threads and processes -----------------------------------------------------------------


def test_threads_share_one_cache(cache: JudgeCache) -> None:
    together = threading.Barrier(8)

    def work(worker: int) -> list[int]:
        together.wait()
        found = []
        for n in range(25):
            assert cache.put(nth(n), {"n": n}, identity=JUDGE)
            document = cache.get(nth(24 - n)) or {"n": 24 - n}
            found.append(24 - document["n"])
        return found

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [list(range(25))] * 8
    assert cache.stats().entries == 25


def test_a_second_cache_sees_at_once_what_the_first_one_put(cache: JudgeCache, file: Path) -> None:
    with JudgeCache(file) as other:
        assert other.get(nth(0)) is None
        cache.put(nth(0), {"score": 2}, identity=JUDGE)
        assert other.get(nth(0)) == {"score": 2}


WRITER = """
import sys
from pathlib import Path
from pytest_rageval.judges.cache import JudgeCache
file, first, n = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
sys.stdin.read(1)
with JudgeCache(file) as cache:
    for i in range(first, first + n):
        assert cache.put(f"{i:064x}", {"i": i, "x": "y" * 2000}, identity="j"), cache.warning
        assert cache.get(f"{i:064x}")["i"] == i
        print(i, flush=True)
    sys.stdin.read(1)
"""


def start(file: Path, first: int, n: int) -> subprocess.Popen[str]:
    """Start a process that puts n entries on a signal and prints the number of each."""
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(file), str(first), str(n)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def run_writers(file: Path, ranges: list[tuple[int, int]]) -> list[str]:
    """Let processes write at once; return what they said on stderr."""
    writers = [start(file, first, n) for first, n in ranges]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("x")
        writer.stdin.flush()
        writer.stdin.write("x")
    return [writer.communicate(timeout=120)[1] for writer in writers]


@pytest.mark.slow
def test_processes_make_and_fill_one_file_at_once(file: Path) -> None:
    assert run_writers(file, [(0, 100), (0, 100), (50, 100), (50, 100)]) == [""] * 4
    with JudgeCache(file) as cache:
        assert cache.stats().entries == 150
        assert all(cache.get(f"{i:064x}") == {"i": i, "x": "y" * 2000} for i in range(150))
    assert sorted(path.name for path in file.parent.iterdir()) == [".gitignore", file.name]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 here")
def test_a_writer_killed_in_the_middle_loses_only_its_last_verdicts(file: Path) -> None:
    writer = start(file, 0, 1_000_000)
    assert writer.stdin is not None
    assert writer.stdout is not None
    writer.stdin.write("x")
    writer.stdin.flush()
    said = [writer.stdout.readline() for _ in range(100)]
    writer.kill()
    said += writer.communicate(timeout=60)[0].splitlines()
    assert writer.returncode == -signal.SIGKILL
    put = [int(line) for line in said if line.strip()]
    assert len(put) >= 100
    with JudgeCache(file) as cache:
        kept = cache.stats().entries
        assert kept >= len(put)
        assert all(cache.get(f"{i:064x}") == {"i": i, "x": "y" * 2000} for i in range(kept))
        assert cache.put(nth(0), {}, identity=JUDGE)
    connection = sqlite3.connect(file)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
