from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_rageval.analysis.stats.distributions import (
    beta_cdf,
    beta_quantile,
    binomial_cdf,
    normal_quantile,
    student_t_quantile,
    student_t_tail,
)

DEGREES = [1, 2, 3, 9, 99, 50_000]


@pytest.mark.parametrize("df", DEGREES)
@pytest.mark.parametrize("p", [0.001, 0.025, 0.4, 0.5, 0.5001, 0.8, 0.95, 0.975, 0.9999])
def test_t_quantile_agrees_with_scipy(df: int, p: float) -> None:
    assert student_t_quantile(p, df) == pytest.approx(stats.t.ppf(p, df), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("df", DEGREES)
@pytest.mark.parametrize("t", [-40.0, -3.0, -1e-5, 0.0, 1e-9, 0.7, 2.0, 12.7, 1e4])
def test_t_cdf_and_tail_agree_with_scipy(df: int, t: float) -> None:
    assert student_t_tail(-t, df) == pytest.approx(stats.t.cdf(t, df), rel=1e-9)
    assert student_t_tail(t, df) == pytest.approx(stats.t.sf(t, df), rel=1e-9)


def test_t_tail_of_infinity_is_empty_or_whole() -> None:
    assert student_t_tail(math.inf, 3) == 0.0
    assert student_t_tail(-math.inf, 3) == 1.0


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (1, 1), (2, 7), (43, 9), (500, 3), (4e3, 6e3)])
@pytest.mark.parametrize("x", [-1.0, 0.0, 1e-6, 0.1, 0.4, 0.5, 0.98, 1.0, 2.0])
def test_beta_cdf_agrees_with_scipy(a: float, b: float, x: float) -> None:
    assert beta_cdf(x, a, b) == pytest.approx(stats.beta.cdf(x, a, b), rel=1e-8, abs=1e-14)


@pytest.mark.parametrize("k", [-1, 0, 1, 5, 19, 20, 25])
@pytest.mark.parametrize("p", [0.05, 0.5, 0.95])
def test_binomial_cdf_agrees_with_scipy(k: int, p: float) -> None:
    assert binomial_cdf(k, 20, p) == pytest.approx(stats.binom.cdf(k, 20, p), rel=1e-9)


@given(st.floats(0.001, 0.999))
def test_normal_quantile_agrees_with_scipy(p: float) -> None:
    assert normal_quantile(p) == pytest.approx(stats.norm.ppf(p), abs=1e-12)


@given(st.floats(0.001, 0.999), st.integers(1, 300))
def test_t_cdf_turns_the_quantile_back(p: float, df: int) -> None:
    assert student_t_tail(-student_t_quantile(p, df), df) == pytest.approx(p, abs=1e-10)


@pytest.mark.parametrize("p", [0.005, 0.025, 0.5, 0.975])
@pytest.mark.parametrize(("a", "b"), [(1, 1), (2, 7), (43, 9), (500, 3)])
def test_beta_quantile_agrees_with_scipy(a: float, b: float, p: float) -> None:
    assert beta_quantile(p, a, b) == pytest.approx(stats.beta.ppf(p, a, b), rel=1e-9)
