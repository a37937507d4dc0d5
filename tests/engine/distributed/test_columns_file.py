from __future__ import annotations

import random
from pathlib import Path

from pytest_rageval.analysis.aggregate.columns import RecordColumns
from pytest_rageval.analysis.aggregate.run import aggregate, aggregate_columns
from pytest_rageval.engine.distributed.columns_file import StoredColumns, write_columns
from pytest_rageval.metrics.built_in import BUILT_IN
from tests.build.columns import assert_full, columns_of, full_records, plain
from tests.build.jobs import job_of_parts


def test_columns_are_read_as_they_were_written(tmp_path: Path) -> None:
    every = full_records()
    records = random.Random(5).sample(every, len(every))
    job = job_of_parts(tmp_path, 3)
    for part, (start, end) in enumerate([(0, 7), (7, 7), (7, len(records))]):
        write_columns(job, part, columns_of(records[start:end]))
    found, expected = StoredColumns(job, BUILT_IN), columns_of(records)
    assert_full(expected)
    first = len(columns_of(records[:7]))
    sizes = [first, 0, len(expected) - first]
    assert plain(found) == {**plain(expected), "metrics": "[]", "sizes": sizes}
    for key in (*BUILT_IN.cases, "house.own"):
        assert repr([*found.metric(key)]) == repr([*expected.metric(key)])
    assert aggregate_columns(found) == aggregate(every)


def test_a_part_without_records_has_no_rows(tmp_path: Path) -> None:
    job = job_of_parts(tmp_path, 1)
    write_columns(job, 0, RecordColumns())
    assert plain(StoredColumns(job, BUILT_IN)) == {**plain(RecordColumns()), "sizes": [0]}
