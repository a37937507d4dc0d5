from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_rageval.analysis.stats.intervals import MetricScale, Sided
from pytest_rageval.analysis.stats.paired import (
    mcnemar,
    paired_difference,
    sign_flip,
)

bits = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=2, max_size=40)


def runs(lost: int, gained: int, same: int) -> tuple[list[float], list[float]]:
    base = [1.0] * lost + [0.0] * gained + [1.0] * same
    cand = [0.0] * lost + [1.0] * gained + [1.0] * same
    return base, cand


def test_no_pair_has_no_difference() -> None:
    found = paired_difference([], [])
    assert (found.n, found.diff, found.interval.method) == (0, None, None)


def test_runs_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="2 baseline values for 1 candidate"):
        paired_difference([1, 0], [1])


@pytest.mark.parametrize(
    ("gained", "lost", "n"), [(2, 7, 50), (7, 1, 20), (5, 5, 10), (0, 3, 9), (4, 0, 4), (9, 1, 10)]
)
@pytest.mark.parametrize(("sided", "level"), [(2, 0.95), (1, 0.9)])
def test_bounds_of_a_binary_metric_are_those_of_newcombe(
    gained: int, lost: int, n: int, sided: Sided, level: float
) -> None:
    found = paired_difference(
        *runs(lost, gained, n - lost - gained), MetricScale(binary=True), sided=sided
    )
    up, down = gained / n, lost / n
    of_up, of_down = (
        stats.binomtest(k, n).proportion_ci(level, method="wilson") for k in (gained, lost)
    )
    moved = [1] * gained + [-1] * lost + [0] * (n - gained - lost)
    rho = np.corrcoef(np.equal(moved, 1), np.equal(moved, -1))[0, 1] if gained and lost else 0
    low, high = (
        np.sqrt(a**2 + b**2 - 2 * rho * a * b)
        for a, b in ((up - of_up.low, of_down.high - down), (of_up.high - up, down - of_down.low))
    )
    bounds = max(-1, up - down - low), min(1, up - down + high)
    assert (found.interval.low, found.interval.high) == pytest.approx(bounds)


@pytest.mark.parametrize(("n", "proves"), [(51, False), (52, True)])
def test_52_identical_pairs_are_the_least_that_prove_a_drop_below_five_points(
    n: int, proves: bool
) -> None:
    found = paired_difference([1.0] * n, [1.0] * n, MetricScale(binary=True), sided=1)
    assert found.interval.low is not None
    assert (found.interval.low > -0.05) is proves


@given(bits)
def test_swapping_the_runs_mirrors_the_interval(pairs: list[tuple[int, int]]) -> None:
    base, cand = [b for b, _ in pairs], [c for _, c in pairs]
    for binary in (True, False):
        one = paired_difference(base, cand, MetricScale(binary=binary)).interval
        other = paired_difference(cand, base, MetricScale(binary=binary)).interval
        assert one.low is not None
        assert other.high is not None
        assert one.low == pytest.approx(-other.high)


@given(bits)
def test_the_interval_holds_the_difference_and_stays_on_the_scale(
    pairs: list[tuple[int, int]],
) -> None:
    found = paired_difference(
        [b for b, _ in pairs], [c for _, c in pairs], MetricScale(binary=True)
    )
    assert found.diff is not None
    assert found.interval.low is not None
    assert found.interval.high is not None
    assert -1 <= found.interval.low <= found.diff <= found.interval.high <= 1
    width = found.interval.high - found.interval.low
    assert found.interval.se == pytest.approx(width / 2 / 1.959964, rel=1e-6)
    assert found.interval.detectable_se == found.interval.se


def test_pairs_in_shared_clusters_use_the_clustered_t() -> None:
    base, cand = runs(2, 1, 5)
    found = paired_difference(
        base, cand, MetricScale(binary=True), clusters=[0, 0, 1, 1, 2, 2, 3, 3]
    )
    assert found.interval.method == "plus_two"


def test_one_pair_of_a_binary_metric_has_an_interval_and_one_of_shares_has_none() -> None:
    for scale, method in ((MetricScale(binary=True), "mover_wilson"), (MetricScale(), None)):
        assert paired_difference([1.0], [0.0], scale).interval.method == method


def test_one_cluster_has_no_interval() -> None:
    base, cand = runs(2, 1, 5)
    found = paired_difference(base, cand, MetricScale(binary=True), clusters=["a"] * 8)
    assert found.diff == pytest.approx(-0.125)
    assert found.interval.low is None


def test_unbounded_differences_are_bootstrapped() -> None:
    assert (
        paired_difference([1, 2, 3], [2, 4, 9], MetricScale(hi=None)).interval.method == "bootstrap"
    )


@pytest.mark.parametrize(("gained", "lost"), [(0, 1), (2, 7), (7, 2), (5, 5), (0, 12), (40, 61)])
def test_mcnemar_agrees_with_scipy_binomtest(gained: int, lost: int) -> None:
    found = mcnemar(gained, lost)
    m = gained + lost
    assert found.p_two_sided == pytest.approx(stats.binomtest(lost, m).pvalue)
    expected = stats.binomtest(lost, m, alternative="greater").pvalue
    assert found.p_worse == pytest.approx(expected)
    point = stats.binom.pmf(lost, m, 0.5) / (2 if gained == lost else 1)
    assert found.p_midp == pytest.approx(found.p_two_sided - point)


def test_mcnemar_without_discordant_pairs_says_nothing() -> None:
    found = mcnemar(0, 0)
    assert (found.p_two_sided, found.p_worse, found.p_midp) == (1.0, 1.0, 1.0)


@given(st.lists(st.sampled_from([-0.5, -0.25, 0.0, 0.1, 0.3, 1.0]), min_size=1, max_size=9))
def test_exact_sign_flip_agrees_with_scipy(diffs: list[float]) -> None:
    found = sign_flip(diffs)
    # scipy wants two observations; zeros are the same on either side of a flip.
    moved = np.array([*(d for d in diffs if d), 0.0, 0.0])

    def p(alternative: str) -> float:
        test = stats.permutation_test(
            (moved,),
            lambda x, axis: np.round(np.sum(x, axis=axis), 9),
            permutation_type="samples",
            vectorized=True,
            n_resamples=np.inf,
            alternative=alternative,
        )
        return float(test.pvalue)

    assert found.p_two_sided == pytest.approx(p("two-sided"))
    assert found.p_worse == pytest.approx(p("less"))


def test_no_difference_is_no_evidence() -> None:
    found = sign_flip([0.0, 0.0])
    assert (found.p_two_sided, found.p_worse) == (1.0, 1.0)
    assert sign_flip([]).p_two_sided == 1.0


def test_rounding_noise_is_no_difference() -> None:
    assert sign_flip([0.1 + 0.2 - 0.3] * 20).p_two_sided == 1.0


@pytest.mark.parametrize(("n", "seed"), [(17, 1), (24, 2), (25, 3), (40, 4)])
def test_drawn_sign_flip_comes_close_to_counting_every_pattern(n: int, seed: int) -> None:
    diffs = np.random.default_rng(seed).integers(-9, 8, n)
    diffs[diffs == 0] = -1
    # Ways to reach each sum of the sizes with a plus sign.
    steps = (np.bincount([0, abs(d)]) / 2 for d in diffs)
    ways = reduce(np.convolve, steps)
    sums = 2 * np.arange(len(ways)) - sum(abs(diffs))
    found = sign_flip([d / 8 for d in diffs.tolist()])
    assert found.p_worse == pytest.approx(ways[sums <= sum(diffs)].sum(), abs=0.015)
    expected = ways[abs(sums) >= abs(sum(diffs))].sum()
    assert found.p_two_sided == pytest.approx(expected, abs=0.015)


def test_drawn_sign_flip_does_not_depend_on_the_order_of_cases() -> None:
    diffs = [(-1) ** i * i / 50 for i in range(1, 30)]
    assert sign_flip(diffs) == sign_flip(diffs[::-1])


def test_drawn_p_is_never_zero() -> None:
    assert sign_flip([-1.0] * 40).p_two_sided == pytest.approx(1 / 10_000)


def test_clusters_flip_as_a_whole() -> None:
    assert sign_flip([-1, -1, -1, -1], clusters=["a", "a", "b", "b"]) == sign_flip([-2, -2])
