"""Tests that look at each pair, against what they are by definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.random import default_rng

from benchmarks.sequential_gate import mixture_ratio, not_worse, simulate


@pytest.mark.parametrize(("lost", "gained"), [(0, 0), (1, 0), (0, 1), (6, 1), (3, 9)])
def test_the_mixture_is_the_mean_likelihood_ratio_above_one_half(lost: int, gained: int) -> None:
    q = (np.arange(100_000) + 0.5) / 200_000 + 0.5
    expected = np.mean(q**lost * (1 - q) ** gained) * 2.0 ** (lost + gained)
    assert math.exp(mixture_ratio(12)[lost, gained]) == pytest.approx(expected)


def test_a_bet_on_no_such_drop_gains_nothing_where_there_is_one() -> None:
    lost = (default_rng(1).random((6_000, 30)) < 0.1).cumsum(1)
    capital = np.exp(not_worse(lost, np.zeros_like(lost), 0.1))
    assert capital.mean(axis=0) == pytest.approx(np.ones(30), abs=0.15)
    unchanged = np.zeros((1, 30), dtype=np.int64)
    assert not_worse(unchanged, unchanged, 0.1)[0, -1] > math.log(5)


def test_both_errors_of_the_test_stay_as_stated() -> None:
    row = simulate(60, 0.15, 600)
    assert row.false_alarms <= 0.05
    assert 20 < row.asked_equal < row.asked_worse < 60
