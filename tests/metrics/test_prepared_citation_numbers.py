from __future__ import annotations

import pytest

from pytest_rageval.metrics.prepared import cited_numbers


@pytest.mark.parametrize(
    ("written", "numbers"),
    [
        ("1", (1,)),
        ("0", (0,)),
        ("1, 3;4", (1, 3, 4)),
        ("1-3", (1, 2, 3)),
        ("doc1 \u2013 doc3, 7", (1, 2, 3, 7)),
        ("Sources 1, 2, and 4", (1, 2, 4)),
        ("3, 1", (3, 1)),
        ("3-3", ()),
        ("0-2", ()),
        ("1-2-3", (1, 2, 3)),
        ("-3", ()),
        ("1-22", ()),
        ("", ()),
    ],
)
def test_the_numbers_of_a_list_and_its_ranges(written: str, numbers: tuple[int, ...]) -> None:
    assert cited_numbers(written) == numbers


def test_a_range_may_begin_at_zero_where_passages_do() -> None:
    assert cited_numbers("ID:0-ID:2", first=0) == (0, 1, 2)
