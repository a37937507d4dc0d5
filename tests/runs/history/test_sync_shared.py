"""The index in the hands of several processes, of which some are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.build.runs import write_run
from tests.runs.history.builders import RESULTS, TABLES, cases, rows, some_runs, sync

pytestmark = pytest.mark.slow

SYNC = """
import json, sys
from pathlib import Path
from pytest_rageval.runs.history.database import IndexDatabase
from pytest_rageval.runs.history.sync import Origin, RunIndex
url, rebuild = sys.argv[1], sys.argv[2] == "rebuild"
sys.stdin.read(1)
root = Path.cwd()
put, places = RunIndex._put, iter(range(20))

def put_some(*arguments):
    if next(places, None) is None:
        sys.stdin.read(1)  # until it is killed
    return put(*arguments)

if sys.argv[2] == "some":
    RunIndex._put = put_some
with IndexDatabase(url, rootdir=root, write=True, anew=rebuild) as database:
    index = RunIndex(database, Origin(project="acme/bot", source="here"), root / "evals/results")
    found = index.sync(rebuild=rebuild)
print(json.dumps([found.added, found.changed, found.unchanged, found.removed, found.broken]))
"""


def start(url: str, how: str = "sync") -> subprocess.Popen[str]:
    """Start a process that, once told to, syncs the folders in hand."""
    return subprocess.Popen(
        [sys.executable, "-c", SYNC, url, how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("x")
    process.stdin.flush()


def without_times(url: str) -> list[list[object]]:
    columns = {"evaluation_runs": "project, run_id, content_hash, tags, passed, config"}
    return [
        sorted((list(row) for row in rows(url, table, columns.get(table, "*"))), key=repr)
        for table in TABLES
    ]


def test_processes_that_make_and_fill_one_index_at_once_leave_what_one_would(
    url: str, tmp_path: Path
) -> None:
    some_runs(12)
    processes = [start(url, "rebuild"), start(url), start(url)]
    for process in processes:
        go(process)
    for process in processes:
        said, complaint = process.communicate(timeout=120)
        assert (complaint, process.returncode) == ("", 0), complaint
        assert said.endswith("{}]\n")
    alone = str(tmp_path / "alone.sqlite")
    sync(alone)
    assert normal(without_times(url)) == normal(without_times(alone))
    assert sync(url).unchanged == sync(alone).unchanged


def normal(found: list[list[object]]) -> str:
    # The two databases have different words for true and false.
    return repr(found).replace("True", "1").replace("False", "0")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 here")
def test_a_killed_sync_leaves_whole_runs_and_the_next_one_goes_on(url: str) -> None:
    some_runs(30)
    killed = start(url, "some")  # it cannot end before, however slow this process is
    go(killed)
    give_up = time.monotonic() + 60
    while number_of_runs(url) < 3 and time.monotonic() < give_up:
        time.sleep(0.005)
    killed.kill()
    killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL
    left = number_of_runs(url)
    assert 3 <= left <= 20
    for table in ("test_results", "metrics"):
        assert len(rows(url, table, "DISTINCT run_id")) == left
    assert {row[0] for row in rows(url, "test_results", "count(*)", "GROUP BY run_id")} == {6}
    found = sync(url)
    assert (len(found.unchanged), len(found.added)) == (left, 30 - left)


def number_of_runs(url: str) -> int:
    try:
        return int(rows(url, "evaluation_runs", "count(*)")[0][0])
    except Exception:  # there is no such table yet
        return 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_run_that_ends_while_another_process_syncs_is_not_taken_out(url: str) -> None:
    some_runs(10)
    sync(url)
    other = start(url, "rebuild")
    go(other)
    write_run(RESULTS, "just-ended", cases(), day=28)
    sync(url)
    _, complaint = other.communicate(timeout=120)
    assert complaint == ""
    found = sync(url)
    assert (found.added, found.changed, found.removed) == ([], [], [])
    assert len(found.unchanged) == 11
