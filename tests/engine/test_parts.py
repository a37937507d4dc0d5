"""Runs that are parts of one: what they hold together, and what they lack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.engine.parts import (
    DifferentRunsError,
    missing_shards,
    refuse_different,
    selection_of,
)
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.run import StoredRun
from pytest_rageval.values.settings import Settings
from tests.build.records import record
from tests.build.runs import config_from

SET = {"hash": "h", "n_cases": 4, "n_asked": 4, "by_category": {"x": 3, "y": 1}, "by_tag": {"t": 2}}


def part(name: str, *records: CaseRecord, **config: Any) -> StoredRun:
    stored = config_from(**{"set": SET, **config})
    settings = Settings(rootdir=".")
    return StoredRun(folder=Path(name), config=stored, settings=settings, records=records)


def records_of(*parts: StoredRun) -> list[CaseRecord]:
    return [record for part in parts for record in part.records]


A, B = record("a", category="x", tags=("t",)), record("b", category="y")


def test_a_selection_is_counted_against_the_set_that_the_runs_name() -> None:
    parts = [part("one", A), part("two", B)]
    found = selection_of(parts, records_of(*parts))
    assert (found.n_selected, found.n_total) == (2, 4)
    assert found.by_category == {"x": (1, 3), "y": (1, 1)}
    assert found.by_tag == {"t": (1, 2)}


@pytest.mark.parametrize(
    ("shards", "missing"),
    [
        (["1/3", "3/3"], ["2/3"]),
        (["1/2", "2/2"], []),
        ([None, "1/2"], []),
        ([None], []),
        (["1/2", "1/3"], []),
        (["1/2", "half"], []),
    ],
)
def test_shards_that_nobody_brought_are_named(shards: list[Any], missing: list[str]) -> None:
    parts = [part(f"r{n}", settings={"shard": shard}) for n, shard in enumerate(shards)]
    assert missing_shards(parts) == missing


def test_a_repeat_of_a_case_in_another_run_is_refused_only_if_both_hold_it() -> None:
    refuse_different([part("one", A), part("two", record("a", repeat=1))])
    with pytest.raises(DifferentRunsError, match="both contain"):
        refuse_different([part("one", A), part("two", A)])
