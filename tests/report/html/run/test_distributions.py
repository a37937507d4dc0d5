from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.report.html.run.distributions import (
    bin_values,
    ceiling,
    mean_ceilings,
    rank_shares,
    round_value,
    score_edges,
    time_edges,
)
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.record import CaseRecord
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


@given(st.lists(st.floats(0.01, 1e6), min_size=1, max_size=60))
def test_times_lie_between_the_edges_and_are_counted_once(values: list[float]) -> None:
    edges = time_edges(values)
    bins = bin_values(values, edges)

    assert edges == sorted(set(edges))
    assert edges[0] <= round_value(min(values))
    assert edges[-1] >= round_value(max(values)) or len(edges) > 2
    assert sum(one.n for one in bins) == len(values)
    assert len(bins) < 90


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


def gold_case(golds: int, k: int, **metrics: float) -> CaseRecord:
    anchors = tuple(Anchor(rel_path=f"{n}.md") for n in range(golds))
    return passed("x", case=Case(id="x", question="?", gold_supports=anchors), k=k, metrics=metrics)


def test_precision_with_one_gold_of_five_chunks_can_reach_a_fifth() -> None:
    assert ceiling(gold_case(1, 5, precision_at_k=0.0), "precision_at_k") == 0.2
    assert ceiling(gold_case(2, 5, precision_at_k=0.0), "precision_at_k") == 0.4
    assert ceiling(gold_case(9, 5, precision_at_k=0.0), "precision_at_k") == 1.0
    assert ceiling(gold_case(9, 3, recall_at_k=0.0), "recall_at_k") == pytest.approx(1 / 3)
    assert ceiling(gold_case(1, 5), "precision_at_k") is None
    assert ceiling(gold_case(1, 5, mrr=1.0), "mrr") is None


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9), st.floats(0, 1)), max_size=9))
def test_no_mean_is_above_its_ceiling(cases: list[tuple[int, int, float]]) -> None:
    records = [gold_case(golds, k, precision_at_k=value) for golds, k, value in cases]

    bound = mean_ceilings(records).get("precision_at_k", 1.0)

    assert bound <= 1
    if cases:
        assert statistics.fmean(value for _, _, value in cases) <= bound + 1e-9
