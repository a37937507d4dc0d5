"""The test that every figure of a paired comparison comes from."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_rageval.analysis.stats.difference_test import IGNORED_FREEDOM, difference_test
from pytest_rageval.analysis.stats.distributions import cluster_sums
from pytest_rageval.analysis.stats.intervals import MetricScale, mean_interval

BINARY = MetricScale(binary=True)
SCALES = {
    "binary": (BINARY, st.integers(0, 1).map(float)),
    "share": (MetricScale(), st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 1.0])),
    "grade": (MetricScale(0, 5), st.floats(0, 5)),
    "time": (MetricScale(0.0, None), st.floats(0, 1e6)),
}


def runs(lost: int, gained: int, n: int) -> tuple[list[float], list[float]]:
    same = [1.0] * (n - lost - gained)
    return [1.0] * lost + [0.0] * gained + same, [0.0] * lost + [1.0] * gained + same


@st.composite
def pairs(draw: st.DrawFn) -> tuple[MetricScale, list[float], list[float], list[int] | None, bool]:
    scale, values = SCALES[draw(st.sampled_from(sorted(SCALES)))]
    n = draw(st.integers(2, 40))
    base, cand = (draw(st.lists(values, min_size=n, max_size=n)) for _ in range(2))
    clusters = draw(st.none() | st.lists(st.integers(0, 9), min_size=n, max_size=n))
    return scale, base, cand, clusters, draw(st.booleans())


@given(pairs(), st.sampled_from([0.0, 0.01, 0.05, 0.5]), st.sampled_from([0.2, 0.05, 0.01, 0.002]))
def test_p_is_below_alpha_if_and_only_if_the_interval_excludes_the_margin(
    drawn: tuple[MetricScale, list[float], list[float], list[int] | None, bool],
    margin: float,
    alpha: float,
) -> None:
    scale, base, cand, clusters, whole = drawn
    found = difference_test(base, cand, scale, clusters=clusters, whole_clusters=whole)
    if found is None:
        assert whole
        return
    low, high = found.bounds(alpha)
    assert low <= high
    for p, outside in (
        (found.p_below(-margin), high < -margin),
        (found.p_above(margin), low > margin),
    ):
        if not math.isclose(p, alpha, rel_tol=1e-9):
            assert (p < alpha) == outside


@given(pairs())
def test_swapping_the_runs_mirrors_everything(
    drawn: tuple[MetricScale, list[float], list[float], list[int] | None, bool],
) -> None:
    scale, base, cand, clusters, whole = drawn
    one = difference_test(base, cand, scale, clusters=clusters, whole_clusters=whole)
    other = difference_test(cand, base, scale, clusters=clusters, whole_clusters=whole)
    if one is None or other is None:
        assert one is other
        return
    assert other.p_above(0.1) == pytest.approx(one.p_below(-0.1), rel=1e-9, abs=1e-12)
    assert other.bounds(0.05)[0] == pytest.approx(-one.bounds(0.05)[1], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("n_clusters", [2, 7, 20, 30])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(
    ("scale", "values"),
    [
        (BINARY, [0, 1]),
        (BINARY, [1, 1, 1, 1, 1, 1, 1, 1, 0]),
        (MetricScale(1, 6), [1, 2.5, 6]),
        (MetricScale(0, None), [0, 20, 70, 900]),
    ],
)
def test_every_figure_agrees_with_numpy_and_scipy(
    scale: MetricScale, values: list[float], whole: bool, n_clusters: int
) -> None:
    rng, n = np.random.default_rng(n_clusters), 30
    base, cand = rng.choice(values, n), rng.choice(values, n)
    clusters = rng.permutation([*range(n_clusters), *rng.integers(0, n_clusters, n - n_clusters)])
    found = difference_test(
        base.tolist(), cand.tolist(), scale, clusters=clusters.tolist(), whole_clusters=whole
    )
    assert found is not None
    span, binary = scale.span, scale.binary
    weights = [*[1.0] * n, *[0.0 if span is None else 0.5 if binary else 1.0] * 2]
    ends = [span or 0.0, -(span or 0.0)]
    size, diffs = sum(weights), cand - base
    centre = np.average([*diffs, *ends], weights=weights)
    apart = [*diffs, *ends] - centre
    alone = n / (n - 1) * np.dot(weights, apart**2) / size**2
    # A part of a pair at an end is a cluster, too.
    sums = [*np.bincount(clusters, apart[:n]), *(np.array(weights) * apart)[n:]]
    together = max(alone, n_clusters / (n_clusters - 1) * np.dot(sums, sums) / size**2)
    freedom = max(1, n**2 / (np.bincount(clusters) ** 2).sum() - 1)
    weight = 0 if n_clusters == n else 1 if whole else max(0, 1 - IGNORED_FREEDOM / freedom)
    parts = (1 - weight) * alone, weight * together
    variance = sum(parts)
    df = variance**2 / (parts[0] ** 2 / (n - 1) + parts[1] ** 2 / freedom)
    assert (found.centre, found.se, found.df) == pytest.approx((centre, variance**0.5, df))
    assert found.clusters == (n_clusters if n_clusters < n else None)
    effect, widest = variance / alone, span or math.inf
    assert (found.diff, found.design_effect) == pytest.approx((diffs.mean(), effect))
    # Wilson's bound of a share is centre +- h where h^2 = t^2 effect h (1 - h) / n.
    alpha, t = 0.03, stats.t.ppf(0.97, df)
    share = t**2 * effect / n
    half = max(t * variance**0.5, share / (1 + share) if binary else 0)
    bounds = max(-widest, centre - half), min(widest, centre + half)
    assert found.bounds(alpha) == pytest.approx(bounds)
    assert (found.p_below(centre + half), found.p_above(centre - half)) == pytest.approx(
        (alpha, alpha)
    )
    q = t + stats.t.ppf(0.8, df)
    drop = q * variance**0.5 * size / n
    more, least = q**2 * effect / n, abs(diffs.mean())
    if binary and drop > least:
        drop = more / 2 + math.sqrt(more**2 / 4 + drop**2 - more * least)
    assert found.detectable(alpha) == (pytest.approx(drop) if drop <= widest else None)


@pytest.mark.parametrize(("lost", "gained"), [(7, 2), (9, 2), (14, 2), (12, 4), (20, 8), (5, 0)])
def test_p_of_0_1_values_is_near_the_mid_p_of_mcnemar(lost: int, gained: int) -> None:
    found = difference_test(*runs(lost, gained, 60), BINARY)
    assert found is not None
    m = lost + gained
    mid = stats.binom.cdf(gained, m, 0.5) - stats.binom.pmf(gained, m, 0.5) / 2
    assert found.p_below() == pytest.approx(mid, abs=0.008)


@pytest.mark.parametrize(
    ("values", "scale"),
    [([0, 0.25, 0.5, 1], MetricScale()), ([0, 1], MetricScale()), ([0, 0.5, 1], BINARY)],
)
def test_values_that_are_not_those_of_a_binary_metric_take_the_plus_two_t(
    values: list[float], scale: MetricScale
) -> None:
    rng = np.random.default_rng(1)
    base, cand = (rng.choice(values, size=30).tolist() for _ in range(2))
    found = difference_test(base, cand, scale)
    assert found is not None
    differences = [c - b for b, c in zip(base, cand, strict=True)]
    want = mean_interval(cluster_sums(differences), MetricScale(-1, 1), sided=1)
    assert found.bounds(0.05) == pytest.approx((want.low, want.high))


def test_an_unbounded_scale_takes_the_t_test_of_scipy() -> None:
    base, cand = [100.0, 120, 80, 95, 130, 60], [130.0, 118, 99, 120, 180, 61]
    found = difference_test(base, cand, MetricScale(0, None))
    assert found is not None
    want = stats.ttest_rel(cand, base, alternative="greater").pvalue
    assert found.p_above() == pytest.approx(want)


def test_few_documents_weigh_nothing_and_many_nearly_all() -> None:
    def effect(documents: int) -> float:
        n = 10 * documents
        base, cand = [1.0] * n, [0.0] * 10 + [1.0] * (n - 10)
        clusters = [i // 10 for i in range(n)]
        found, whole = (
            difference_test(base, cand, BINARY, clusters=clusters, whole_clusters=whole)
            for whole in (False, True)
        )
        assert found is not None
        assert whole is not None
        return (found.design_effect - 1) / (whole.design_effect - 1)

    assert effect(5) == 0
    for documents in (6, 10, 50):
        assert effect(documents) == pytest.approx(1 - IGNORED_FREEDOM / (documents - 1))


def test_one_large_document_counts_as_few() -> None:
    sizes = [45, *[1] * 15]
    clusters = [d for d, size in enumerate(sizes) for _ in range(size)]
    base, cand = [1.0] * 60, [0.0] * 20 + [1.0] * 40
    found = difference_test(base, cand, BINARY, clusters=clusters)
    assert found is not None
    assert (found.clusters, found.design_effect) == (16, 1.0)


@pytest.mark.parametrize("clusters", ["aabb", "aaab"])
def test_two_documents_leave_one_degree_of_freedom_between_them(clusters: str) -> None:
    base, cand = [1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]
    found = difference_test(base, cand, BINARY, clusters=[*clusters], whole_clusters=True)
    assert found is not None
    assert (found.clusters, found.df) == (2, 1.0)


def test_cases_that_differ_in_no_pair_still_leave_room() -> None:
    for n, bound in ((20, 0.130), (60, 0.0445)):
        found = difference_test([1.0] * n, [1.0] * n, BINARY)
        assert found is not None
        assert found.bounds(0.05) == pytest.approx((-bound, bound), abs=1e-3)


def test_too_little_is_no_test() -> None:
    assert difference_test([1.0], [0.0]) is None
    same = ["a", "a"]
    assert difference_test([1, 1], [0, 1], BINARY, clusters=same, whole_clusters=True) is None
    with pytest.raises(ValueError, match="2 baseline values for 1 candidate"):
        difference_test([1, 0], [1])


def test_equal_differences_of_an_unbounded_scale_are_certain() -> None:
    found = difference_test([1.0, 2.0, 3.0], [2.0, 3.0, 4.0], MetricScale(0, None))
    assert found is not None
    assert (found.p_above(), found.p_below(), found.bounds(0.05)) == (0.0, 1.0, (1.0, 1.0))
    none = difference_test([1.0, 2.0], [1.0, 2.0], MetricScale(0, None))
    assert none is not None
    assert (none.p_above(), none.p_below()) == (1.0, 1.0)


def test_a_mean_of_exactly_0_detects_what_a_mean_near_0_does() -> None:
    def detectable(last: float) -> float:
        found = difference_test([1.0, 0.0] * 10, [0.0, 1.0] * 9 + [0.0, last])
        return (found and found.detectable(0.05)) or math.inf

    assert detectable(1.0) == pytest.approx(detectable(1 - 1e-9))


@pytest.mark.parametrize("n", [60, 150, 500])
def test_a_drop_of_the_detectable_size_is_found_in_four_of_five_runs(n: int) -> None:
    same = difference_test([1.0] * n, [1.0] * n, BINARY)
    assert same is not None
    drop = same.detectable(0.05)
    assert drop is not None
    rng = np.random.default_rng(n)
    found = 0
    for lost in rng.binomial(n, drop, size=400):
        one = difference_test(*runs(int(lost), 0, n), BINARY)
        found += one is not None and one.p_below() < 0.05
    assert 0.75 <= found / 400 <= 0.95
