from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_rageval.analysis.stats.calibration import canary_drift, ppi_mean
from pytest_rageval.analysis.stats.distributions import cluster_sums
from pytest_rageval.analysis.stats.intervals import mean_interval

scores = st.lists(st.floats(0, 1), min_size=2, max_size=20)


@given(scores)
def test_a_judge_that_says_nothing_leaves_the_human_mean(human: list[float]) -> None:
    found = ppi_mean(human, [0.5] * len(human), [0.5] * 30)
    plain = mean_interval(cluster_sums(human))
    assert found.weight == 0
    assert found.estimate == pytest.approx(found.human_only)
    assert found.low == pytest.approx(plain.low, abs=1e-9)
    assert found.high == pytest.approx(plain.high, abs=1e-9)


def second(
    human: Any, judge: Any, more: Any, lo: float = 0, hi: float = 1, confidence: float = 0.95
) -> list[float]:
    """The formulas of the documents by numpy: weight, estimate, error, bounds and their errors."""
    y, f, g = (np.array(of, dtype=float) for of in (human, judge, more))
    n, spread = len(y), np.var([*f, *g], ddof=1)
    weight = np.clip(np.cov(y, f, ddof=0)[0, 1] / ((1 + n / len(g)) * spread), 0, 1)
    rest = y - weight * f
    estimate = rest.mean() + weight * g.mean()
    of_more = np.var(g, ddof=1) if len(g) > 1 else 0
    variance = np.var(rest, ddof=1) / n + weight**2 * of_more / len(g)
    # Values with that mean and that error, and one more at each end of the scale.
    plain = np.arange(n) - (n - 1) / 2
    values = [*(estimate + plain / np.std(plain, ddof=1) * np.sqrt(n * variance)), lo, hi]
    error = np.sqrt(n / (n - 1) * np.var(values) / (n + 2))
    two, one = (stats.t.ppf(q, n - 1) * error for q in ((1 + confidence) / 2, confidence))
    centre = np.mean(values)
    bounds = [
        end for half in (two, one) for end in (max(lo, centre - half), min(hi, centre + half))
    ]
    detectable = one / stats.norm.ppf(confidence) * (n + 2) / n
    return [weight, estimate, variance**0.5, *bounds, detectable, y.mean()]


@pytest.mark.parametrize(
    "options", [{}, {"lo": -2, "hi": 0}, {"lo": 1, "hi": 6, "confidence": 0.8}]
)
@pytest.mark.parametrize(("n", "more"), [(2, 1), (5, 2), (12, 30)])
@pytest.mark.parametrize(("slope", "noise"), [(1, 0), (1, 0.3), (1, 2), (0.2, 0), (0.2, 0.1)])
def test_every_figure_of_a_corrected_mean_agrees_with_numpy(
    options: dict[str, float], n: int, more: int, slope: float, noise: float
) -> None:
    rng = np.random.default_rng(n)
    lo, hi = options.get("lo", 0), options.get("hi", 1)
    human, further = rng.uniform(lo, hi, n), lo + slope * rng.uniform(0, hi - lo, more)
    judge = np.clip(lo + slope * (human - lo) + noise * rng.normal(size=n), lo, hi)
    found = ppi_mean([*human], [*judge], [*further], **options)
    bounds = [found.low, found.high, found.low_one_sided, found.high_one_sided]
    figures = [found.weight, found.estimate, found.se, *bounds, found.detectable_se]
    want = second(human, judge, further, **options)
    assert [*figures, found.human_only] == pytest.approx(want)


def test_without_further_answers_there_is_nothing_to_gain() -> None:
    found = ppi_mean([1, 0, 1], [1, 0, 1], [])
    assert found.weight == 0
    assert (found.estimate, found.se) == pytest.approx((2 / 3, stats.sem([1, 0, 1])))


def test_a_perfect_judge_narrows_the_interval() -> None:
    human = [1.0, 0.0] * 10
    alone = ppi_mean(human, [0.5] * 20, [0.5] * 400)
    helped = ppi_mean(human, human, [1.0, 0.0] * 200)
    assert helped.se is not None
    assert alone.se is not None
    assert helped.se < 0.6 * alone.se


def test_an_opposed_judge_is_not_relied_on() -> None:
    assert ppi_mean([1, 0, 1, 0], [0, 1, 0, 1], [0, 1, 1]).weight == 0


def test_no_human_label_is_no_data() -> None:
    found = ppi_mean([], [], [1.0])
    assert (found.estimate, found.low, found.se, found.human_only) == (None,) * 4
    assert found.weight == 0


def test_one_human_label_has_no_interval() -> None:
    found = ppi_mean([1.0], [1.0], [0.0, 1.0])
    assert (found.estimate, found.se) == (1, 0)
    assert (found.low, found.high) == (None, None)


def test_human_and_judge_must_score_the_same_answers() -> None:
    with pytest.raises(ValueError, match="2 human scores for 1"):
        ppi_mean([1, 0], [1], [])


def test_unchanged_canaries_do_not_drift() -> None:
    found = canary_drift([5, 4, 1], [5, 4, 1])
    assert (found.drift, found.mean_shift, found.max_abs, found.flip_rate) == (False, 0, 0, 0)


def test_a_large_proven_shift_is_drift() -> None:
    found = canary_drift([3.0] * 30, [2.5] * 30)
    assert found.drift
    assert found.flip_rate == 0
    assert found.mean_shift == pytest.approx(-0.1)


def test_shifts_are_shares_of_the_scale() -> None:
    found = canary_drift([1, 2, 3, 5], [2, 2, 1, 5.5], lo=1, hi=6)
    assert (found.mean_shift, found.max_abs) == pytest.approx((-0.025, 0.4))
    assert (found.flip_rate, found.p) == (0, 1)


@pytest.mark.parametrize("lo", [0, 2])
def test_a_score_on_the_pass_line_passes(lo: float) -> None:
    assert canary_drift([lo + 0.8], [lo + 0.9], lo=lo, hi=lo + 1).flip_rate == 0
    assert canary_drift([lo + 0.8], [lo + 0.79], lo=lo, hi=lo + 1).flip_rate == 1


@pytest.mark.parametrize(("n", "drift"), [(7, False), (8, True)])
def test_a_shift_of_seven_canaries_is_not_proven_and_one_of_eight_is(n: int, drift: bool) -> None:
    found = canary_drift([3.0] * n, [2.0] * n)
    assert (found.p, found.drift) == (2 / 2**n, drift)


def test_a_proven_shift_of_exactly_five_percent_is_not_drift() -> None:
    assert not canary_drift([3.0] * 30, [2.75] * 30).drift


def test_a_large_unproven_shift_is_not_drift() -> None:
    found = canary_drift([3, 3, 3], [1, 3, 3])
    assert (found.drift, found.p) == (False, 1.0)


@pytest.mark.parametrize(("flips", "drift"), [(3, False), (4, True)])
def test_more_than_a_tenth_of_flips_is_drift(flips: int, drift: bool) -> None:
    new = [4.0] * (30 - flips) + [3.9] * flips
    assert canary_drift([4.0] * 30, new).drift is drift


def test_no_canary_is_no_data() -> None:
    assert canary_drift([], []).mean_shift is None


@pytest.mark.parametrize("same", [0.0, 0.1, 0.7, 1.0])
def test_a_constant_judge_has_no_weight(same: float) -> None:
    assert ppi_mean([0, 1, 1], [same] * 3, [same] * 3).weight == 0
