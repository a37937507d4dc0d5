"""The gate keeps what it promises, by simulation of few runs."""

from __future__ import annotations

import pytest

from benchmarks import gate_error_rates as bench

STATED = 1 - bench.CONFIDENCE


def name(setting: bench.Setting) -> str:
    return setting.label.replace("`", "").replace(" | ", "-")


@pytest.mark.parametrize("setting", bench.SETTINGS, ids=name)
def test_equal_systems_raise_no_more_false_alarms_than_stated(setting: bench.Setting) -> None:
    found = bench.simulate_cell(setting, 0.0, 300)
    assert found.regression_fails.low <= bench.stated(setting)


@pytest.mark.slow
@pytest.mark.parametrize("setting", bench.SETTINGS, ids=name)
def test_a_drop_at_the_limit_is_rarely_called_beyond_or_within_it(setting: bench.Setting) -> None:
    found = bench.simulate_cell(setting, bench.DROP, 300)
    assert found.beyond_fails.low <= bench.stated(setting)
    assert found.within_passes.low <= bench.stated(setting)
    if bench.is_promised(found):
        assert found.regression_fails.high >= found.promised


def test_some_settings_promise_to_catch_five_points() -> None:
    promising = [s for s in bench.SETTINGS if bench.is_promised(bench.simulate_cell(s, 0.05, 10))]
    assert {(s.metric, s.documents, s.n) for s in promising} >= {
        ("hit_at_k", False, 500),
        ("recall_at_k", False, 500),
        ("recall_at_k", True, 500),
    }


@pytest.mark.slow
@pytest.mark.parametrize("setting", [pytest.param(s, id=name(s)) for s in bench.SETTINGS])
def test_a_drop_as_large_as_the_printed_effect_is_caught_as_promised(
    setting: bench.Setting,
) -> None:
    drop = bench.detectable_drop(setting, 60)
    found = bench.simulate_cell(setting, drop, {50: 1000, 150: 300, 500: 200}[setting.n])
    assert found.promised == pytest.approx(0.8, abs=0.04)
    assert found.regression_fails.high >= found.promised


@pytest.mark.slow
def test_six_checks_under_holm_raise_no_more_false_alarms_than_one() -> None:
    found = bench.simulate_family_cell(500, 0.0, 200)
    assert found.holm.low <= STATED < found.alone.low
