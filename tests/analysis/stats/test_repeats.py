from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import combinations, permutations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_rageval.analysis.stats.repeats import (
    flip_probability,
    pass_curves,
    variance_components,
)


@pytest.mark.parametrize(("n", "repeats"), [(2, 2), (3, 5), (8, 2), (12, 4)])
@pytest.mark.parametrize("spread", [0, 0.3, 5])
def test_variances_are_those_of_numpy_and_their_ratio_that_of_scipy(
    n: int, repeats: int, spread: float
) -> None:
    rng = np.random.default_rng(n)
    rows = 4 + spread * rng.normal(size=(n, 1)) + rng.normal(size=(n, repeats))
    found = variance_components(rows.tolist())
    within, total = rows.var(axis=1, ddof=1).mean(), rows.mean(axis=1).var(ddof=1)
    between = max(0, total - within / repeats)
    shares = between / (between + within), within / (within + repeats * between)
    assert (found.mean, found.se_mean) == pytest.approx((rows.mean(), (total / n) ** 0.5))
    assert (found.within, found.between) == pytest.approx((within, between))
    assert (found.icc, found.noise_share) == pytest.approx(shares)
    if between:
        ratio = stats.f_oneway(*rows).statistic
        assert 1 + repeats * between / within == pytest.approx(ratio)


def test_one_repeat_leaves_the_noise_unknown() -> None:
    found = variance_components([[1], [0], [1]])
    assert (found.within, found.between, found.icc, found.noise_share) == (None,) * 4
    assert found.mean == pytest.approx(2 / 3)
    assert found.se_mean == pytest.approx(stats.sem([1, 0, 1]))


def test_one_case_leaves_the_variance_between_cases_unknown() -> None:
    found = variance_components([[1, 0]])
    assert (found.within, found.between, found.se_mean) == (0.5, None, None)


def test_equal_values_have_no_share_of_anything() -> None:
    found = variance_components([[1, 1], [1, 1]])
    assert (found.within, found.between, found.icc, found.noise_share) == (0, 0, None, None)


def test_no_case_has_no_variance() -> None:
    found = variance_components([])
    assert (found.mean, found.within, found.between, found.se_mean) == (None,) * 4
    assert (found.icc, found.noise_share) == (None, None)


def test_uneven_repeats_are_refused() -> None:
    with pytest.raises(ValueError, match="1 to 2 repeats"):
        variance_components([[1, 0], [1]])


@given(st.lists(st.booleans(), min_size=1, max_size=7))
def test_curves_count_subsets(outcomes: list[bool]) -> None:
    def shares(holds: Callable[[Iterable[bool]], bool]) -> list[float]:
        subsets = [list(combinations(outcomes, k + 1)) for k in range(len(outcomes))]
        return [sum(map(holds, of_k)) / len(of_k) for of_k in subsets]

    found = pass_curves(len(outcomes), sum(outcomes))
    assert found.at_k == pytest.approx(shares(any))
    assert found.hat_k == pytest.approx(shares(all))


@given(st.integers(1, 40).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_curves_are_the_figures_of_each_k_to_the_last_digit(counts: tuple[int, int]) -> None:
    n, c = counts
    found, ks = pass_curves(n, c), range(1, n + 1)
    assert found.at_k == [(comb(n, k) - comb(n - c, k)) / comb(n, k) for k in ks]
    assert found.hat_k == [comb(c, k) / comb(n, k) for k in ks]


def test_thousands_of_repeats_take_a_moment() -> None:
    begun = time.process_time()
    found = pass_curves(10_000, 5_000)
    assert (found.at_k[-1], found.hat_k[0]) == (1.0, 0.5)
    assert time.process_time() - begun < 5  # 0.1 s; each k on its own takes minutes


@given(st.lists(st.booleans(), min_size=2, max_size=8))
def test_flip_probability_counts_ordered_pairs_of_repeats(outcomes: list[bool]) -> None:
    pairs = list(permutations(outcomes, 2))
    disagree = sum(a != b for a, b in pairs) / len(pairs)
    assert flip_probability(len(outcomes), sum(outcomes)) == pytest.approx(disagree)


@pytest.mark.parametrize("same", [0.1, 0.2, 0.5, 0.7, 0.9])
def test_equal_scores_have_no_intraclass_correlation(same: float) -> None:
    found = variance_components([[same] * 3] * 3)
    assert (found.icc, found.noise_share) == (None, None)
