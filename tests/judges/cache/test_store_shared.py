"""The judge cache in the hands of several threads and processes, and in PostgreSQL."""

from __future__ import annotations

import importlib
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.judges.cache import database, store
from pytest_rageval.judges.cache.store import FLUSH_S, JudgeCache
from pytest_rageval.values.errors import StorageError
from tests.build.postgres import postgres_server, stopped
from tests.judges.cache.test_store import JUDGE, Clock, filled, left, nth


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
from pytest_rageval.judges.cache.store import JudgeCache
url, first, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sys.stdin.read(1)
with JudgeCache(url) as cache:
    for i in range(first, first + n):
        assert cache.put(f"{i:064x}", {"i": i, "x": "y" * 2000}, identity="j"), cache.warning
        assert cache.get(f"{i:064x}")["i"] == i
        print(i, flush=True)
    sys.stdin.read(1)
"""


def start(url: object, first: int, n: int) -> subprocess.Popen[str]:
    """Start a process that puts n entries on a signal and prints the number of each."""
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(url), str(first), str(n)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def run_writers(url: object, ranges: list[tuple[int, int]]) -> list[str]:
    """Let processes write at once; return what they said on stderr."""
    writers = [start(url, first, n) for first, n in ranges]
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
        # Batches are written whole, and verdicts in quick succession 64 at a time.
        assert kept > len(put) - 65
        assert all(cache.get(f"{i:064x}") == {"i": i, "x": "y" * 2000} for i in range(kept))
        assert cache.put(nth(0), {}, identity=JUDGE)
    connection = sqlite3.connect(file)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 here")
def test_verdicts_reach_the_file_though_no_other_follows(file: Path) -> None:
    assert FLUSH_S < 1
    writer = start(file, 0, 20)
    assert writer.stdin is not None
    assert writer.stdout is not None
    writer.stdin.write("x")
    writer.stdin.flush()
    said = [writer.stdout.readline() for _ in range(20)]
    assert said[-1] == "19\n"
    entries = 0
    with JudgeCache(file) as cache:
        give_up = time.monotonic() + 60
        while entries < 20 and time.monotonic() < give_up:
            entries = cache.stats().entries
    writer.kill()
    writer.communicate(timeout=60)
    assert entries == 20
    with JudgeCache(file) as cache:
        assert cache.stats().entries == 20


FORK = """
import os, sys
from pytest_rageval.judges.cache.store import JudgeCache
cache = JudgeCache(sys.argv[1])
cache.put("0" * 64, {"who": "parent"}, identity="j")
cache._database._lock.acquire()
child = os.fork()
if not child:
    found = cache.get("0" * 64)
    cache.put("1" * 64, {"who": "child", "found": found}, identity="j")
    cache.close()
    os._exit(0)
cache._database._lock.release()
assert os.waitpid(child, 0)[1] == 0
print(cache.get("1" * 64), cache.put("2" * 64, {}, identity="j"))
cache.close()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_opens_a_connection_of_its_own(file: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORK, str(file)], capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    assert done.stdout == "{'who': 'child', 'found': {'who': 'parent'}} True\n"


# --- PostgreSQL ----------------------------------------------------------------------------


@pytest.fixture
def postgres(postgres: str) -> str:
    """The URL of an empty database, without the name of a driver."""
    return postgres.replace("+psycopg", "")


def _ask(url: str, statement: str) -> None:
    psycopg: Any = importlib.import_module("psycopg")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)


@pytest.mark.slow
def test_the_same_cache_works_in_postgresql(postgres: str) -> None:
    clock = Clock()
    strange = {"score": 4.5, "text": "é\0\ud800\u2028", "claims": [True, None]}
    with JudgeCache(postgres, clock=clock) as cache:
        assert (cache.warning, cache.read_only) == (None, False)
        assert cache.shown == "postgresql+psycopg:///postgres"
        assert cache.get(nth(0)) is None
        assert cache.put(nth(0), {"score": 1}, identity="a")
        assert cache.put(nth(0), strange, identity="a\0\ud800")
        assert cache.get(nth(0)) == strange
        assert cache.put_level("http://x", "m", {"level": "text"})
        assert cache.put_level("http://x", "m", strange)
        assert cache.stats().by_identity == {"a\0\ud800": 1}
        filled(cache, clock)
        cache.get(nth(0))
    with JudgeCache(postgres, clock=clock) as cache:
        assert cache.get_level("http://x", "m") == strange
        assert cache.prune(older_than=timedelta(days=3)) == 2
        assert left(cache) == [0, 3, 4, 5]
        assert cache.prune(identity="b") == 2
        assert left(cache) == [0, 4]
        assert cache.prune(older_than=timedelta()) == 2


@pytest.mark.slow
def test_processes_make_and_fill_one_postgresql_database_at_once(postgres: str) -> None:
    assert run_writers(postgres, [(0, 50), (0, 50), (25, 50)]) == [""] * 3
    with JudgeCache(postgres) as cache:
        assert cache.stats().entries == 75


@pytest.mark.slow
def test_threads_make_the_tables_of_postgresql_at_once(postgres: str) -> None:
    together = threading.Barrier(6)

    def work(n: int) -> bool:
        together.wait()
        with JudgeCache(postgres) as cache:
            return cache.put(nth(n), {"n": n}, identity=JUDGE)

    for _ in range(5):
        _ask(postgres, "DROP TABLE IF EXISTS rageval_judge_cache, rageval_judge_verdicts")
        with ThreadPoolExecutor(6) as pool:
            assert all(pool.map(work, range(6)))


@pytest.mark.slow
def test_a_connection_that_the_server_cut_is_opened_again(postgres: str) -> None:
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
    others += " AND backend_type = 'client backend'"
    with JudgeCache(postgres) as cache:
        assert cache.put(nth(0), {"score": 1}, identity=JUDGE)
        _ask(postgres, others)
        assert cache.get(nth(0)) == {"score": 1}
        _ask(postgres, others)
        assert cache.put(nth(1), {"score": 2}, identity=JUDGE)
        assert cache.warning is None


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_leaves_the_session_of_its_parent_alone(postgres: str) -> None:
    number = "cache._database._session.fetch('SELECT pg_backend_pid()', {})"
    backend = f"number = lambda: {number}\n"
    program = backend + FORK.replace("child = os.fork", "before = number()\nchild = os.fork")
    program = program.replace("os._exit(0)", "import gc; gc.collect(); os._exit(0)")
    program = program.replace("print(", "assert number() == before\nprint(")
    done = subprocess.run(
        [sys.executable, "-c", program, postgres], capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    assert done.stdout == "{'who': 'child', 'found': {'who': 'parent'}} True\n"


@pytest.mark.slow
def test_postgresql_tables_of_another_version_are_refused(postgres: str) -> None:
    JudgeCache(postgres).close()
    _ask(postgres, "UPDATE rageval_judge_cache SET version = 2")
    with pytest.raises(StorageError, match="version 2, expected 1; drop its tables") as caught:
        JudgeCache(postgres)
    assert "hunter2" not in str(caught.value)


@pytest.mark.slow
def test_a_server_that_is_not_there_is_named_without_the_password(postgres: str) -> None:
    nowhere = postgres.replace("host=", "host=/nowhere")
    with pytest.raises(StorageError) as caught:
        JudgeCache(nowhere)
    assert str(caught.value).startswith("postgresql+psycopg:///postgres: connection")
    assert "hunter2" not in str(caught.value)


@pytest.mark.slow
def test_a_user_who_may_only_read_keeps_nothing(postgres: str) -> None:
    with JudgeCache(postgres) as cache:
        cache.put(nth(0), {"score": 1}, identity=JUDGE)
    with JudgeCache(postgres + "&options=-c%20default_transaction_read_only=on") as cache:
        assert cache.get(nth(0)) == {"score": 1}
        assert not cache.put(nth(1), {"score": 2}, identity=JUDGE)
        assert "new verdicts are not kept: cannot execute INSERT" in str(cache.warning)
        assert cache.get(nth(0)) == {"score": 1}


@pytest.mark.slow
def test_a_server_that_restarts_costs_questions_and_no_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(database, "AWAY_S", 0.2)
    with postgres_server("ann", "secret-1") as url:
        with JudgeCache(url) as cache:
            assert cache.put(nth(0), {"n": 0}, identity=JUDGE)
            with stopped(url):
                time.sleep(FLUSH_S)
                assert cache.get(nth(0)) in ({"n": 0}, None)
                assert cache.get(nth(1)) is None
                assert all(cache.put(nth(n), {"n": n}, identity=JUDGE) for n in (1, 2))
                assert cache.get(nth(1)) == {"n": 1}
            time.sleep(2 * database.AWAY_S)
            assert cache.put(nth(3), {"n": 3}, identity=JUDGE)
            assert not cache.read_only
            assert cache.warning is not None
            assert "was away for a time" in cache.warning
            assert "secret-1" not in cache.warning
        with JudgeCache(url) as cache:
            assert [cache.get(nth(n)) for n in range(4)] == [{"n": n} for n in range(4)]
            with stopped(url):
                monkeypatch.setattr(store, "_MAX_WAITING", 3)
                for n in range(4, 9):
                    cache.put(nth(n), {"n": n}, identity=JUDGE)
                    cache.flush()
                cache.close()
                assert cache.warning is not None
                assert "not reachable: 5 new verdicts not kept" in cache.warning
