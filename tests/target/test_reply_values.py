from __future__ import annotations

import time
import tracemalloc
from typing import Any

import pytest

from pytest_rageval.target.reply_values import (
    PageReader,
    number_or_none,
    read_latency,
    read_searches,
)
from pytest_rageval.values.reply import Search


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, 3.0),
        (" -2.5e1 ", -25.0),
        (True, None),
        ("1,5", None),
        (float("nan"), None),
        (10**400, None),
    ],
)
def test_a_number_is_finite_and_may_be_a_text(value: Any, number: float | None) -> None:
    assert number_or_none(value) == number


def test_chunks_of_a_search_are_named_by_their_ids_or_paths() -> None:
    chunks = [7, {"chunk_id": "c"}, {"rel_path": "a.md"}, {"text": "x"}]
    assert read_searches([{"query": "q", "chunks": chunks}, "odd"]) == [
        Search(query="q", tool=None, chunks=("7", "c", "a.md"))
    ]


@pytest.mark.parametrize("value", ["1-9999," * 50_000 + "1", ["1-9999"] * 50_000])
def test_ranges_of_pages_repeated_without_end_are_none_at_once(value: Any) -> None:
    started = time.process_time()
    assert PageReader().read(value) is None
    assert time.process_time() - started < 5


def test_a_long_text_of_pages_takes_little_memory() -> None:
    text = "1-9999," * 200_000 + "1"
    tracemalloc.start()
    try:
        assert PageReader().read(text) is None
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000


def test_a_chunk_may_have_ten_thousand_pages() -> None:
    assert PageReader().read("1-9999, 10000") == tuple(range(1, 10_001))
    assert PageReader().read("1-10000, 1") is None


def test_more_phases_than_a_target_can_have_are_none() -> None:
    phases = {f"k{n}_ms": float(n) for n in range(100)}
    assert read_latency(phases) == phases
    assert read_latency({**phases, "total_ms": 1}) == {}
