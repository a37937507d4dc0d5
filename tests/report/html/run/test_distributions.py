from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.report.html.run.distributions import (
    bin_values,
    rank_shares,
    round_value,
    score_edges,
)
from tests.report.html.builders import chunk, missed, passed


def within(value: float, range_: str) -> bool:
    """Read a range as the script of the page does."""
    low, high = range_.split("..")
    below = value < float(high[1:]) if high.startswith("<") else value <= float(high or "inf")
    return value >= float(low or "-inf") and below


@given(st.lists(st.floats(-3, 8), max_size=50), st.sampled_from([(0.0, 1.0), (0.0, 5.0)]))
def test_every_value_is_in_the_one_bin_whose_range_selects_it(
    values: list[float], scale: tuple[float, float]
) -> None:
    bins = bin_values(values, score_edges(values, scale))

    assert sum(one.n for one in bins) == len(values)
    for one in bins:
        assert one.n == sum(within(round_value(value), one.range) for value in values)


def test_ranks_are_those_of_the_first_gold() -> None:
    third = passed("c", retrieved_chunks=(chunk(1), chunk(2), chunk(3, matched_golds=(0,))))

    found = rank_shares([passed("a"), passed("b"), third, missed("d")])

    assert found.counts == {1: 2, 2: 0, 3: 1}
    assert (found.none, found.n) == (1, 4)
    assert [found.share_up_to(rank) for rank in (1, 2, 3)] == [0.5, 0.5, 0.75]


@given(st.lists(st.none() | st.integers(1, 9), min_size=1, max_size=30))
def test_shares_of_ranks_rise_to_all_that_were_found(ranks: list[int | None]) -> None:
    records = [
        passed("a", retrieved_chunks=tuple(
            chunk(place, matched_golds=(0,) if place == rank else ()) for place in range(1, 10)
        ))
        for rank in ranks
    ]  # fmt: skip

    found = rank_shares(records)

    shares = [found.share_up_to(rank) for rank in found.counts]
    assert shares == sorted(shares)
    assert sum(found.counts.values()) + found.none == found.n == len(ranks)
    if shares:
        assert shares[-1] == pytest.approx(1 - found.none / len(ranks))
