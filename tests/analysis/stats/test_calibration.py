from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_without_further_answers_there_is_nothing_to_gain() -> None:
    found = ppi_mean([1, 0, 1], [1, 0, 1], [])
    assert found.weight == 0
    assert found.estimate == pytest.approx(2 / 3)


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
    assert (found.estimate, found.low, found.human_only) == (None, None, None)


def test_one_human_label_has_no_interval() -> None:
    found = ppi_mean([1.0], [1.0], [0.0, 1.0])
    assert found.estimate is not None
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
