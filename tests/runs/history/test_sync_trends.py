"""A trend from the index is the one from the folders."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.analysis.trend import Scope, TrendQuery, make_trend
from pytest_rageval.runs.history.database import IndexDatabase
from pytest_rageval.runs.history.sync import query_trend
from pytest_rageval.runs.list import TrendSource, read_trend
from pytest_rageval.runs.store import write_document
from pytest_rageval.runs.tags import write_tag
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.gate import GateResult
from tests.build.runs import SETTINGS, write_run
from tests.runs.history.builders import OURS, RESULTS, cases, sync


def both(url: str, query: TrendQuery) -> tuple[TrendSource, TrendSource]:
    with IndexDatabase(url, rootdir=Path.cwd(), write=False) as database:
        return query_trend(database, OURS.project, query), read_trend(RESULTS, query)


@pytest.fixture
def history() -> None:
    """Runs that differ in all that a trend looks at."""
    write_run(RESULTS, "a", cases(missed=(1,)), day=1)
    models = {"llm_model": "m", "embedding_model": "e"}  # not in alphabetical order
    changed: dict[str, Any] = {"answerer_version": "m2", "target_models": models}
    write_run(RESULTS, "b", cases(), day=2, git={"commit": "x"}, **changed)
    write_run(RESULTS, "c", cases(8), day=3)
    write_run(RESULTS, "d", cases(), replace(SETTINGS, k=9), day=4)
    judged = {"judges": [{"judge": "offline/7", "model": None, "rubrics": {"groundedness": "v1"}}]}
    write_run(RESULTS, "e", cases(), replace(SETTINGS, judge="offline"), day=5, **judged)
    bare = write_run(RESULTS, "f", cases(), day=5)
    (bare / "results.jsonl").unlink()
    killed = write_run(RESULTS, "g", cases(), day=6)
    (killed / "metrics.json").unlink()
    write_tag(RESULTS, "main", "b")
    write_tag(RESULTS, "v1", "a")


@pytest.mark.usefixtures("history")
def test_the_index_answers_as_the_folders_do(url: str) -> None:
    sync(url)
    metrics = ("recall_at_k", "latency_ms.p95", "cost_usd.total", "nothing")
    places: list[tuple[Scope, str]] = [("overall", ""), ("tag", "work"), ("tag", "no")]
    for metric, (scope, group) in product(metrics, places):
        query = TrendQuery(metric=metric, scope=scope, group=group)
        indexed, read = both(url, query)
        assert (indexed.metrics, indexed.groups) == (read.metrics, read.groups)
        assert len(read.runs) == 6
        found = [p.document() for p in make_trend(indexed.runs, query)]
        assert found == [p.document() for p in make_trend(read.runs, query)]


def test_partial_runs_are_told_apart_alike(url: str) -> None:
    whole = {"hash": "of-all", "n_cases": 6}
    write_run(RESULTS, "a", cases(), day=1, dataset_hash="of-all", set=whole)
    write_run(RESULTS, "b", cases(4), day=2, dataset_hash="of-some", set=whole)
    write_run(RESULTS, "c", cases(), day=3)
    merged: dict[str, Any] = {"merged_from": ["x", "y"], "dataset_hash": "of-records"}
    left = {"hash": "of-all", "n_cases": 7}
    write_run(RESULTS, "d", cases(), day=4, set=left, skipped=["a.jsonl::s[1]"], **merged)
    write_run(RESULTS, "e", cases(), day=5, set=left, skipped=[], **merged)
    write_run(RESULTS, "f", cases(), day=6)
    write_run(RESULTS, "g", cases(4), day=7, dataset_hash="of-all", set=whole)
    gate = GateResult(verdict="not_evaluated", sentence="", complete=False)
    write_document(RESULTS / "g", "gate.json", gate)
    sync(url)
    for partial, shown in ((False, [*"acdf"]), (True, [*"abcdefg"])):
        query = TrendQuery(metric="mrr", partial=partial)
        indexed, read = (make_trend(source.runs, query) for source in both(url, query))
        assert [p.run.run_id for p in read] == shown
        assert [p.run.run_id for p in read if p.run.partial] == ([*"beg"] if partial else [])
        assert [p.document() for p in indexed] == [p.document() for p in read]


@pytest.mark.slow
def test_a_server_in_another_time_zone_changes_no_time(postgres: str) -> None:
    write_run(RESULTS, "a", cases(), day=1)
    sync(postgres)
    query = TrendQuery(metric="mrr")
    elsewhere = f"{postgres}&options=-ctimezone%3DAsia/Kolkata"
    indexed, read = both(elsewhere, query)
    assert [run.ran_at for run in indexed.runs] == [run.ran_at for run in read.runs]
    assert indexed.runs[0].ran_at.isoformat() == "2026-01-01T00:00:00+00:00"


DAMAGES = [
    ("evaluation_runs", "config", '{"k": 5, \x1b'),
    ("evaluation_runs", "config", "[]"),
    ("evaluation_runs", "config", "[" * 100_000),
    ("evaluation_runs", "config_hash", b"\xff"),
    ("evaluation_runs", "ran_at", "yesterday"),
    ("evaluation_runs", "ran_at", "y" * 100_000),
    ("evaluation_runs", "tags", b"\xff"),
    ("metrics", "value", "high"),
]


@pytest.mark.usefixtures("history")
def test_a_damaged_row_is_named(tmp_path: Path) -> None:
    whole, file = tmp_path / "whole.sqlite", tmp_path / "history.sqlite"
    sync(str(whole))
    for table, column, value in DAMAGES:
        shutil.copyfile(whole, file)
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute(f"UPDATE {table} SET {column} = ?", (value,))
        with (
            IndexDatabase(str(file), rootdir=tmp_path, write=False) as database,
            pytest.raises(
                StorageError, match=r"history\.sqlite: a row of the index is damaged .*anew"
            ) as caught,
        ):
            query_trend(database, OURS.project, TrendQuery(metric="recall_at_k"))
        assert len(str(caught.value)) < len(str(file)) + 400
