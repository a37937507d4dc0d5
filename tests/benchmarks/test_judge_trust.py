"""Admission and corrected limits keep what they promise, by simulation of few runs."""

from __future__ import annotations

import re

import pytest

from benchmarks import judge_trust as bench
from pytest_rageval.values.settings import ADMIT_AT
from tests.docs.examples import DOCS, read_document

PAGE = read_document("statistics.md")
FIGURES = (DOCS.parent / "benchmarks/README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("n", bench.LABELS)
@pytest.mark.parametrize("together", [1, 3])
def test_a_judge_at_the_bar_is_rarely_admitted(n: int, together: int) -> None:
    assert bench.admitted(bench.Judge(ADMIT_AT, 1.0, together), n, 200).low <= bench.STATED


def test_a_judge_without_errors_is_admitted_by_the_fewest_labels() -> None:
    assert bench.admitted(bench.Judge(1.0, 1.0), bench.LABELS[0], 200).high >= 0.81
    assert bench.admitted(bench.Judge(0.95, 0.95), 200, 100).low >= 0.8


@pytest.mark.parametrize(("name", "biases", "sound"), bench.SIGNS)
def test_strict_refuses_judges_whose_bias_changes_its_sign(
    name: str, biases: tuple[float, ...], sound: bool
) -> None:
    found = bench.refused(biases, 400, 60)
    assert found.low <= bench.STATED if sound else found.low >= 0.5


@pytest.mark.parametrize("judge", bench.SCORINGS, ids=lambda one: one.name)
def test_a_corrected_limit_keeps_its_error_rates_whatever_the_judge(judge: bench.Scoring) -> None:
    plain, corrected = bench.simulate_limits(judge, 40, 200)
    assert corrected.fails_at.low <= bench.STATED
    assert corrected.passes_at.low <= bench.STATED
    assert corrected.fails_below.low >= 0.5
    if judge.name != "exact":
        assert max(plain.fails_at.low, plain.passes_at.low) > 0.5


def test_the_page_shows_the_figures_of_the_script() -> None:
    shown = re.findall(
        r"^\|.*\d %.*\|$", PAGE.partition("## Admission of a judge")[2], re.MULTILINE
    )
    figures = re.sub(r" \[\d+\.\d, \d+\.\d\]", "", FIGURES)
    assert len(shown) >= 9
    assert [line for line in shown if line.removeprefix("|") not in figures] == []
