from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.target.reply_values import number_or_none, read_searches
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
