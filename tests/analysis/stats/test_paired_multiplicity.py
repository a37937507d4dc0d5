from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_rageval.analysis.stats.paired import benjamini_hochberg, holm, holm_factors

p_values = st.lists(st.floats(0, 1), max_size=12)


@given(p_values.filter(bool))
def test_benjamini_hochberg_agrees_with_scipy(ps: list[float]) -> None:
    assert benjamini_hochberg(ps) == pytest.approx(list(stats.false_discovery_control(ps)))


@given(st.lists(st.floats(0.001, 1), max_size=8, unique=True))
def test_holm_takes_the_largest_of_each_smaller_p_times_the_tests_that_are_left(
    ps: list[float],
) -> None:
    steps = [max(q * sum(r >= q for r in ps) for q in ps if q <= p) for p in ps]
    assert holm(ps) == pytest.approx([min(1, step) for step in steps])
    factors = [step / p for step, p in zip(steps, ps, strict=True)]
    assert holm_factors(ps) == pytest.approx(factors)


def test_a_p_of_zero_is_multiplied_by_the_tests_that_are_left() -> None:
    assert holm_factors([0.0, 0.5, 0.0]) == [3, 1, 2]


@given(p_values)
def test_holm_lies_between_the_raw_p_and_bonferroni(ps: list[float]) -> None:
    for raw, adjusted in zip(ps, holm(ps), strict=True):
        assert raw <= adjusted <= min(1.0, raw * len(ps)) + 1e-12


@given(p_values)
def test_adjusting_keeps_the_order(ps: list[float]) -> None:
    for adjust in (holm, benjamini_hochberg):
        pairs = sorted(zip(ps, adjust(ps), strict=True))
        assert [a for _, a in pairs] == sorted(a for _, a in pairs)


def test_holm_stops_at_one() -> None:
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_no_test_needs_no_adjusting() -> None:
    assert holm([]) == []
    assert benjamini_hochberg([]) == []
