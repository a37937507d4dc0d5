from __future__ import annotations

import pytest

from pytest_rageval.values.verdict import (
    Admissions,
    GroupBias,
    JudgeRates,
    StoredCalibration,
    turned,
)

RATES = JudgeRates(tpr_low=0.85, tnr_low=0.80)
SIGNS = {"a": GroupBias(n=9, bias=0.2, low=0.1), "b": GroupBias(n=9, bias=-0.2, high=-0.1)}


def calibration(**fields: object) -> StoredCalibration:
    known = {"judge": "j", "rubric": "r", "test": {"en": RATES}, **fields}
    return StoredCalibration(schema_version=1, **known)  # type: ignore[arg-type]


@pytest.mark.parametrize(("bar", "reached"), [(0.7, True), (0.8, True), (0.81, False)])
def test_both_lower_bounds_reach_the_bar(bar: float, reached: bool) -> None:
    assert calibration().admits("en", bar) is reached
    assert not calibration().admits("de", bar)
    assert not JudgeRates(tpr_low=1.0).reach(bar)


def test_a_bias_of_both_signs_refuses_where_it_is_asked_for() -> None:
    assert turned(SIGNS) == ("b", "a")
    assert turned({"a": SIGNS["a"], "c": GroupBias(n=9, bias=-0.3, high=0.0)}) is None
    both = calibration(bias={"en": SIGNS})
    assert both.admits("en", 0.8)
    assert not calibration(bias={"en": SIGNS}, strict=True).admits("en", 0.8)


def test_the_last_calibration_of_a_version_counts() -> None:
    old, new = calibration(rubric_version="1"), calibration(rubric_version="2", test={})
    known = Admissions(stored=(old, new))
    assert known.find("j", {"r"}) is new
    assert known.find("j", {"r"}, "1") is old
    assert known.find("j", {"other"}) is known.find("k", {"r"}) is None
