from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks import gate_error_rates as bench
from pytest_rageval.analysis.gate import differences as gate_differences
from pytest_rageval.analysis.stats.paired import regression_p
from pytest_rageval.analysis.stats.power import minimum_detectable_effect

STATED = 1 - bench.CONFIDENCE
OWN, SHARED = (
    bench.Setting(metric="hit_at_k", documents=documents, n=50) for documents in (False, True)
)


def name(setting: bench.Setting) -> str:
    return setting.label.replace("`", "").replace(" | ", "-")


def rate(value: float, *, spread: float = 0.0) -> bench.Rate:
    return bench.Rate(value=value, low=value - spread, high=value + spread)


def cell(**fields: Any) -> bench.Cell:
    fine = bench.Cell(
        drop=0.0,
        naive_fails=rate(0.5),
        regression_fails=rate(0.05),
        beyond_fails=rate(0.05),
        within_passes=rate(0.05),
        mde=0.1,
        promised=0.05,
    )
    return replace(fine, **fields)


def row(**cells: Any) -> bench.Row:
    fine = bench.Row(
        setting=OWN,
        equal=cell(),
        dropped=cell(drop=0.05),
        detectable=cell(drop=0.1, promised=0.8, regression_fails=rate(0.81)),
    )
    return replace(fine, **cells)


def family(holm: float = 0.05) -> bench.FamilyRow:
    several = bench.FamilyCell(naive=rate(0.6), alone=rate(0.2), holm=rate(holm))
    return bench.FamilyRow(n=50, equal=several, dropped=several)


# --- the two properties, on few runs ---------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("setting", bench.SETTINGS, ids=name)
def test_equal_systems_raise_no_more_false_alarms_than_stated(setting: bench.Setting) -> None:
    found = bench.simulate_cell(setting, 0.0, 300)
    assert found.regression_fails.low <= STATED


@pytest.mark.slow
@pytest.mark.parametrize("setting", bench.SETTINGS, ids=name)
def test_a_drop_at_the_limit_is_rarely_called_beyond_or_within_it(setting: bench.Setting) -> None:
    found = bench.simulate_cell(setting, bench.DROP, 300)
    assert found.beyond_fails.low <= STATED
    assert found.within_passes.low <= STATED
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


@pytest.mark.slow
def test_a_check_with_half_its_p_value_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_small(*args: Any, **options: Any) -> float:
        return (regression_p(*args, **options) or 0.0) / 2

    monkeypatch.setattr(bench, "regression_p", too_small)
    setting = bench.Setting(metric="hit_at_k", documents=False, n=150)
    found = bench.simulate_cell(setting, 0.0, 1000)
    assert found.regression_fails.low > STATED
    assert bench.broken_promises([row(equal=found)], [])


@pytest.mark.slow
def test_an_effect_printed_a_fifth_too_small_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_small(se: float, *, confidence: float) -> float:
        return 0.8 * (minimum_detectable_effect(se, confidence=confidence) or 0.0)

    monkeypatch.setattr(gate_differences, "minimum_detectable_effect", too_small)
    found = bench.simulate_cell(OWN, bench.detectable_drop(OWN, 60), 1000)
    assert bench.is_promised(found)
    assert found.regression_fails.high < found.promised


# --- the simulated cases ---------------------------------------------------------------------


@pytest.mark.parametrize("setting", bench.SETTINGS, ids=name)
def test_the_true_drop_is_the_one_asked_for(setting: bench.Setting) -> None:
    base, cand, golds = bench.draw_golds(np.random.default_rng(1), setting, 0.05, 60_000 // 50)
    values = [(found.sum(axis=-1) / golds).mean(axis=1) for found in (base, cand)]
    for found, true_value in zip(values, (0.80, 0.75), strict=True):
        error = found.std() / len(found) ** 0.5
        assert abs(found.mean() - true_value) < 4 * error


def test_pairs_correlate_and_some_cases_flip() -> None:
    pairs = list(bench.draw_runs(OWN, 0.0, 400))
    base, cand = (np.array([side[i] for side in pairs]).ravel() for i in (0, 1))
    assert np.corrcoef(base, cand)[0, 1] > 0.4
    assert 0.1 < np.mean(base != cand) < 0.2


def test_cases_of_a_document_move_together() -> None:
    runs = list(bench.draw_runs(SHARED, 0.0, 1500))
    diffs = np.array([cand for _, cand in runs]) - np.array([base for base, _ in runs])
    documents = bench.document_of(SHARED)
    alike = [
        np.corrcoef(diffs[:, i], diffs[:, i + 1])[0, 1]
        for i in range(SHARED.n - 1)
        if documents[i] == documents[i + 1]
    ]
    assert np.mean(alike) > 0.1


def test_fifty_cases_share_twelve_documents_of_uneven_size() -> None:
    assert np.bincount(bench.document_of(SHARED)).tolist() == [1, 2, 3, 4, 5, 10] * 2
    assert np.bincount(bench.document_of(OWN)).tolist() == [1] * 50


def test_recall_has_one_to_four_golds_and_hit_has_one() -> None:
    recall = bench.Setting(metric="recall_at_k", documents=False, n=50)
    rng = np.random.default_rng(1)
    assert set(bench.draw_golds(rng, recall, 0.0, 5)[2].ravel().tolist()) == {1, 2, 3, 4}
    assert set(bench.draw_golds(rng, OWN, 0.0, 5)[2].ravel().tolist()) == {1}


def test_a_cell_gives_the_same_figures_again() -> None:
    assert bench.simulate_cell(SHARED, 0.05, 20) == bench.simulate_cell(SHARED, 0.05, 20)


# --- promises --------------------------------------------------------------------------------


def test_the_curve_stands_at_80_percent_at_the_effect_and_at_5_percent_without_a_drop() -> None:
    assert bench.promised_power(0.12, 0.12) == pytest.approx(0.80)
    assert bench.promised_power(0.12, 0.0) == pytest.approx(0.05)


def test_kept_promises_are_not_listed() -> None:
    assert bench.broken_promises([row()], [family()]) == []


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (row(equal=cell(regression_fails=rate(0.06))), "regression check, equal systems"),
        (row(dropped=cell(drop=0.05, beyond_fails=rate(0.06))), "prove_fail at its limit"),
        (row(dropped=cell(drop=0.05, within_passes=rate(0.06))), "prove_pass at its limit"),
        (
            row(detectable=cell(drop=0.1, promised=0.8, regression_fails=rate(0.7))),
            "a drop of 0.100 is caught in 70.0 % [70.0, 70.0] of runs, promised 80.0 %",
        ),
        (
            row(dropped=cell(drop=0.05, mde=0.04, promised=0.9, regression_fails=rate(0.8))),
            "a drop of 0.050 is caught",
        ),
    ],
)
def test_a_broken_promise_is_named(broken: bench.Row, said: str) -> None:
    (line,) = bench.broken_promises([broken], [])
    assert line.startswith("hit_at_k, 50 cases of 50 documents: ")
    assert said in line


def test_monte_carlo_error_is_no_broken_promise() -> None:
    lucky = row(
        equal=cell(regression_fails=rate(0.06, spread=0.02)),
        detectable=cell(drop=0.1, promised=0.8, regression_fails=rate(0.79, spread=0.02)),
    )
    assert bench.broken_promises([lucky], []) == []


def test_a_drop_below_the_printed_effect_is_not_promised() -> None:
    unseen = cell(drop=0.05, mde=0.12, promised=0.3, regression_fails=rate(0.1))
    assert bench.broken_promises([row(dropped=unseen)], []) == []


def test_too_many_alarms_of_a_family_are_named() -> None:
    (line,) = bench.broken_promises([], [family(holm=0.07)])
    assert line == "six checks, n 50: any alarm, equal systems: 7.0 % [7.0, 7.0] is above 5.0 %"


# --- output ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("holm", "code"), [(0.05, 0), (0.07, 1)])
def test_the_exit_code_says_whether_promises_were_kept(
    holm: float, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "simulate", lambda runs, jobs: ([row()], [family(holm)]))
    assert bench.main(["--runs", "7"]) == code
    out = capsys.readouterr().out
    assert out.startswith("seed 20251122, 7 runs a cell\n")
    assert f"{code} broken promises" in out
    assert bench.main(["--json"]) == code
    document = json.loads(capsys.readouterr().out)
    assert len(document["broken"]) == code
    assert document["rows"][0]["equal"]["regression_fails"]["value"] == 0.05


def test_no_run_at_all_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        bench.main(["--runs", "0"])
    assert "0 runs, expected at least 1" in capsys.readouterr().err


def test_a_real_row_is_shown_with_its_monte_carlo_interval() -> None:
    tables = bench.render_tables([bench.simulate_row(OWN, 10)], [bench.simulate_family(50, 5)])
    assert "| `hit_at_k` | 50 | 50 | " in tables
    assert str(bench.Rate.of(1, 10)) == "10.0 % [1.2, 50.7]"
