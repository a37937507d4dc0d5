from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_rageval.analysis.stats.paired import minimum_detectable_effect, required_n


def test_unknown_error_has_no_detectable_effect() -> None:
    assert minimum_detectable_effect(None) is None


def test_no_effect_is_larger_than_the_widest() -> None:
    effect = minimum_detectable_effect(1.0)
    assert effect is not None
    assert minimum_detectable_effect(1.0, widest=effect) == effect
    assert minimum_detectable_effect(1.0, widest=effect - 0.01) is None


@given(st.floats(0.001, 1), st.floats(0.55, 0.99), st.floats(0.55, 0.99))
def test_the_effect_is_found_with_the_power_asked_for(
    se: float, confidence: float, power: float
) -> None:
    effect = minimum_detectable_effect(se, confidence=confidence, power=power)
    assert effect is not None
    found = stats.norm.sf(stats.norm.ppf(confidence) - effect / se)
    assert found == pytest.approx(power)


@given(st.floats(0.05, 2), st.floats(0.01, 0.5))
def test_the_cases_required_are_just_enough(sd: float, difference: float) -> None:
    n = required_n(sd, difference)
    assert n is not None
    enough, short = (minimum_detectable_effect(sd / max(m, 1) ** 0.5) for m in (n, n - 1))
    assert enough is not None
    assert short is not None
    assert enough <= difference * (1 + 1e-9)
    assert n == 1 or short > difference * (1 - 1e-9)


def test_no_number_of_cases_shows_no_difference() -> None:
    assert required_n(0.3, 0) is None
    assert required_n(0.3, -0.1) == required_n(0.3, 0.1) == 56
