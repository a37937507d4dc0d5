from __future__ import annotations

import random
from collections.abc import Sequence
from statistics import pstdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_rageval.analysis.stats.distributions import cluster_indices, cluster_sums
from pytest_rageval.analysis.stats.intervals import (
    BOOTSTRAP_SEED,
    Interval,
    MetricScale,
    beta_credible,
    bootstrap_means,
    clopper_pearson,
    clustered_se,
    mean_interval,
    percentile,
    quantile_interval,
    wilson,
)

shares = st.lists(st.floats(0, 1), min_size=2, max_size=30)


def bounds(interval: Interval) -> tuple[float, float]:
    assert interval.low is not None
    assert interval.high is not None
    return interval.low, interval.high


def scipy_plus_two(values: Sequence[float], lo: float, hi: float) -> tuple[float, float]:
    """The unclustered form, written differently: a t interval on n + 2 values, scaled."""
    padded = np.array([*values, lo, hi], dtype=float)
    n = len(values)
    se = np.sqrt(n / (n - 1) * np.sum((padded - padded.mean()) ** 2)) / (n + 2)
    half = stats.t.ppf(0.975, n - 1) * se
    return max(lo, padded.mean() - half), min(hi, padded.mean() + half)


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 20), (20, 20), (42, 50), (1, 999)])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_wilson_agrees_with_scipy(k: int, n: int, confidence: float) -> None:
    expected = stats.binomtest(k, n).proportion_ci(confidence, method="wilson")
    got = wilson(k, n, confidence=confidence)
    assert bounds(got) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize("n", [1, 7, 13, 40])
def test_wilson_touches_the_ends_exactly(n: int) -> None:
    assert (wilson(0, n).low, wilson(n, n).high) == (0.0, 1.0)


def test_one_sided_bound_is_that_of_a_wider_two_sided_interval() -> None:
    assert wilson(8, 10, confidence=0.95, sided=1) == wilson(8, 10, confidence=0.9, sided=2)


@pytest.mark.parametrize("function", [wilson, clopper_pearson, beta_credible])
def test_no_trial_has_no_interval(function: object) -> None:
    assert callable(function)
    assert function(0, 0) == Interval(low=None, high=None, method=None)


@pytest.mark.parametrize(("k", "n"), [(0, 5), (5, 5), (1, 5), (42, 50)])
def test_clopper_pearson_agrees_with_scipy(k: int, n: int) -> None:
    expected = stats.binomtest(k, n).proportion_ci(0.95, method="exact")
    assert bounds(clopper_pearson(k, n)) == pytest.approx((expected.low, expected.high))


def test_beta_credible_is_the_posterior_of_a_flat_prior() -> None:
    expected = stats.beta.interval(0.95, 43, 9)
    assert bounds(beta_credible(42, 50)) == pytest.approx(tuple(expected))


@given(shares)
def test_unclustered_plus_two_agrees_with_its_plain_form(values: list[float]) -> None:
    assert bounds(mean_interval(cluster_sums(values))) == pytest.approx(
        scipy_plus_two(values, 0, 1), abs=1e-9
    )


@given(shares)
def test_plus_two_stays_on_the_scale_and_is_never_a_point(values: list[float]) -> None:
    low, high = bounds(mean_interval(cluster_sums(values)))
    assert 0 <= low < high <= 1


@given(shares, st.integers(0, 99))
def test_intervals_do_not_depend_on_the_order_of_cases(values: list[float], seed: int) -> None:
    rows = [(v, i % 3) for i, v in enumerate(values)]
    mixed = random.Random(seed).sample(rows, len(rows))

    def interval(pairs: list[tuple[float, int]]) -> Interval:
        return mean_interval(cluster_sums([v for v, _ in pairs], [c for _, c in pairs]))

    assert interval(rows) == interval(mixed)


def test_equal_values_still_have_width() -> None:
    low, high = bounds(mean_interval(cluster_sums([1.0] * 12)))
    assert low == pytest.approx(0.7703406308960148)
    assert high == 1.0


@pytest.mark.parametrize(
    ("values", "clusters", "scale", "method", "n_clusters"),
    [
        ([], None, MetricScale(), None, None),
        ([0.5], None, MetricScale(), None, None),
        ([0.5] * 5, ["a"] * 5, MetricScale(), None, 1),
        ([1.0], None, MetricScale(binary=True), "wilson", None),
        ([1, 1, 0, 0], ["a", "a", "b", "b"], MetricScale(binary=True), "plus_two", 2),
        ([1.0, 5.0, 80.0], None, MetricScale(hi=None), "bootstrap", None),
        ([1.0], None, MetricScale(hi=None), None, None),
    ],
)
def test_scale_cases_and_clusters_decide_the_method(
    values: list[float],
    clusters: list[str] | None,
    scale: MetricScale,
    method: str | None,
    n_clusters: int | None,
) -> None:
    found = mean_interval(cluster_sums(values, clusters), scale)
    assert (found.method, found.clusters) == (method, n_clusters)
    assert (found.low is None, found.high is None) == (method is None,) * 2


def test_clusters_that_hold_one_case_each_change_nothing() -> None:
    values = [1.0, 0.0, 1.0, 1.0]
    alone = mean_interval(cluster_sums(values, ["a", "b", None, None]), MetricScale(binary=True))
    assert alone == mean_interval(cluster_sums(values), MetricScale(binary=True))
    assert alone.clusters is None


def test_cases_without_cluster_are_not_one_cluster() -> None:
    assert cluster_indices(4, ["a", None, None, "a"]) == [[0, 3], [1], [2]]


def test_cluster_ids_must_match_the_values() -> None:
    with pytest.raises(ValueError, match="2 cluster ids for 3 values"):
        cluster_indices(3, ["a", "b"])


def test_correlated_clusters_widen_the_interval() -> None:
    values = [1.0] * 10 + [0.0] * 10
    together = ["abcd"[i // 5] for i in range(20)]
    wide, narrow = (
        mean_interval(cluster_sums(values, together)),
        mean_interval(cluster_sums(values)),
    )
    assert bounds(wide)[0] < bounds(narrow)[0]
    assert bounds(wide)[1] > bounds(narrow)[1]


def test_unclustered_se_is_that_of_scipy() -> None:
    values = [0.1, 0.9, 0.4, 0.4]
    assert clustered_se(cluster_sums(values)) == pytest.approx(stats.sem(values))


def test_se_of_one_cluster_is_unknown() -> None:
    assert clustered_se(cluster_sums([1.0, 0.0], ["a", "a"])) is None
    assert clustered_se(cluster_sums([])) is None


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.integers(0, 100))
def test_percentile_agrees_with_numpy(values: list[float], p: int) -> None:
    expected = float(np.percentile(values, p))
    assert percentile(values, p) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_percentile_of_nothing_is_no_data() -> None:
    assert percentile([], 95) is None
    assert percentile([7], 95) == 7.0


@pytest.mark.parametrize("n", [1, 5, 59, 71, 72, 73, 200])
@pytest.mark.parametrize("p", [0.5, 0.95])
def test_quantile_interval_agrees_with_scipy(n: int, p: float) -> None:
    values = [random.Random(3).gauss(0, 1) + i for i in range(n)]
    expected = stats.quantile_test(values, p=p, q=0.0).confidence_interval(0.95)
    got = quantile_interval(values, p)
    finite = [None if not np.isfinite(x) else x for x in (expected.low, expected.high)]
    assert [got.low, got.high] == finite


def test_p95_has_an_upper_bound_from_72_cases_on() -> None:
    assert quantile_interval([], 0.5).method is None
    assert quantile_interval(range(71), 0.95).high is None
    assert quantile_interval(range(72), 0.95).high == 71.0


def test_bootstrap_agrees_with_scipy() -> None:
    values = [random.Random(i).expovariate(1) for i in range(60)]
    expected = stats.bootstrap((values,), np.mean, method="percentile", rng=1)
    [[interval]] = bootstrap_means([cluster_sums(values)])
    got = bounds(interval)
    assert got == pytest.approx(tuple(expected.confidence_interval), abs=0.03)


def test_bootstrap_gives_the_same_interval_each_time() -> None:
    values = [1.0, 2.0, 9.0, 4.0]
    first, again = (bootstrap_means([cluster_sums(values)], resamples=200) for _ in range(2))
    assert first == again


@pytest.mark.parametrize("digits", [15, 0, -15])
def test_bootstrap_draws_and_adds_as_the_generator_of_python_does(digits: int) -> None:
    """Fractions, whole numbers, and whole numbers whose sums are beyond those of floats."""
    values = [random.Random(i).lognormvariate(5, 1) for i in range(301)]
    values = [round(value, digits) if digits >= 0 else round(value) * 1e15 for value in values]
    clusters = [str(i // 2) for i in range(301)]
    sample = cluster_sums(values, clusters)
    draw, means = random.Random(BOOTSTRAP_SEED), []
    for _ in range(3000):  # more than are drawn at once
        drawn = draw.choices(sample.pieces, k=len(sample.pieces))
        total = 0.0
        for of_cluster, _ in drawn:
            total += of_cluster
        means.append(total / sum(size for _, size in drawn))
    [[interval]] = bootstrap_means([sample], resamples=3000)
    assert interval.se == pstdev(means)


def test_samples_that_share_their_random_numbers_are_drawn_as_each_alone() -> None:
    draw = random.Random(4)
    samples = [
        cluster_sums(
            [float(draw.randint(-low, 900)) for _ in range(n)],
            [draw.randrange(groups) for _ in range(n)] if groups else None,
        )
        for n, groups, low in [(2, 0, 0), (1, 0, 0), (700, 0, 5), (90, 20, 0), (80_000, 0, 0)]
    ]
    together = bootstrap_means(samples, sides=(2, 1), resamples=50)
    alone = [bootstrap_means([one], sides=(2, 1), resamples=50) for one in samples]
    assert together == [found for [found] in alone]
    assert [two.method is None for two, _ in together] == [False, True, False, False, False]


def test_bootstrap_resamples_whole_clusters() -> None:
    values, clusters = [0.0, 0.0, 9.0, 9.0], ["a", "a", "b", "b"]
    [[got]] = bootstrap_means([cluster_sums(values, clusters)], resamples=500)
    assert bounds(got) == (0.0, 9.0)


def test_a_binomial_tail_that_equals_the_level_reaches_it() -> None:
    # P(B <= 2) = 0.875 for n = 3 and p = 0.5, which is 1 - 0.25 / 2.
    assert quantile_interval([1, 2, 3], 0.5, confidence=0.75).high == 3
