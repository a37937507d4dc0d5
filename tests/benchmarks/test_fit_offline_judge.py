from __future__ import annotations

import json
from dataclasses import asdict
from functools import cache
from pathlib import Path

import msgspec
import pytest

from benchmarks import fit_offline_judge as bench
from pytest_rageval.values.verdict import StoredCalibration
from tests.build.shared_data import shared_path

FIGURES = Path(__file__).parents[2] / "benchmarks" / "README.md"


def test_a_folder_without_labels_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        bench.main(["--labels", "no/such/folder"])
    assert "no folder 'no/such/folder', expected the label files" in capsys.readouterr().err


@cache
def report() -> bench.Report:
    return bench.report(shared_path("data", "labels"))


@pytest.mark.slow
def test_the_stored_numbers_are_what_the_script_fits() -> None:
    stored = json.loads(bench.TARGET.read_text(encoding="utf-8"))
    for name, layer in report().parameters.items():
        assert stored[name]["intercept"] == pytest.approx(layer["intercept"], abs=0.005)
        assert stored[name]["weights"] == pytest.approx(layer["weights"], abs=0.005)


@pytest.mark.slow
def test_the_page_shows_what_the_script_prints() -> None:
    assert bench.render_tables(report()) in FIGURES.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_package_ships_the_rates_that_the_script_measures() -> None:
    stored = msgspec.json.decode(bench.ADMISSION.read_bytes(), type=list[StoredCalibration])
    for one, measured in zip(stored, report().admission, strict=True):
        assert (one.judge, one.rubric_version) == (measured.judge, measured.rubric_version)
        assert one.test.keys() == measured.test.keys()
        for language, rates in measured.test.items():
            assert asdict(one.test[language]) == pytest.approx(asdict(rates), abs=0.005)


@pytest.mark.slow
def test_unseen_sources_are_judged_as_well_as_promised() -> None:
    found = report()
    unseen = {row.name: row.unseen for row in (*found.groundedness, *found.correctness)}
    assert sum(row.unseen for row in found.groundedness) / len(found.groundedness) >= 0.80
    assert unseen["evouna-nq"] >= 0.85
    long = {row.name: row.unseen for row in found.statements}
    assert long["begin-wow"] >= 0.9
    assert long["hagrid"] >= 0.85
    for rates in found.abstention.values():
        assert (rates.precision or 0) >= 0.75
        assert (rates.recall or 0) >= 0.80
