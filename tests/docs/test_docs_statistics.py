"""The page on statistics agrees with the code: its examples, its tables, its links."""

from __future__ import annotations

import re

import numpy as np
import pytest

from benchmarks import gate_error_rates as bench
from benchmarks import sequential_gate
from pytest_rageval.analysis.stats.distributions import cluster_sums
from pytest_rageval.analysis.stats.intervals import MetricScale, mean_interval
from pytest_rageval.analysis.stats.paired import minimum_detectable_effect, required_n
from tests.docs.examples import (
    DOCS,
    read_document,
    run_sessions,
    sections,
)

PAGE = read_document("statistics.md")
FIGURES = (DOCS.parent / "benchmarks/README.md").read_text(encoding="utf-8")
RATE = re.compile(r"(\d+\.\d) % \[(\d+\.\d), (\d+\.\d)\]")
PLAIN = re.compile(r"\d\.\d{3}|\d+\.\d %")

Table = list[list[str]]


def tables(text: str) -> list[Table]:
    """Read the Markdown tables of a text, without their rulers."""
    found = re.findall(r"(?:^\|.*\n?)+", text, flags=re.MULTILINE)
    return [
        [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in table.splitlines()
            if not set(line) <= set("|-")
        ]
        for table in found
    ]


def tables_under(title: str, page: str = f"{PAGE}\n{FIGURES}") -> list[Table]:
    """Read the tables of the section with this title."""
    (section,) = (s for s in sections(page) if s.title == title)
    return tables(section.text)


def printed() -> str:
    """Return the tables of the script for all its rows, with the rates of two runs in each."""
    cell = bench.simulate_cell(bench.SETTINGS[0], 0.0, 2)
    several = bench.simulate_family_cell(50, 0.0, 2)
    rows = [
        bench.Row(setting=setting, equal=cell, dropped=cell, detectable=cell)
        for setting in bench.SETTINGS
    ]
    families = [bench.FamilyRow(n=n, equal=several, dropped=several) for n in bench.SIZES]
    return bench.render_tables(rows, families)


SIMULATED = [
    ("False alarms and catches", 3),
    ("What the check says it can detect", 3),
    ("A limit of 0.05", 3),
    ("Six checks in one run", 1),
]


def test_every_example_gives_what_it_shows() -> None:
    attempted, report = run_sessions(PAGE, "statistics.md")
    assert not report, report
    assert attempted > 15


@pytest.mark.parametrize(("title", "labels"), SIMULATED)
def test_the_simulated_tables_have_the_rows_that_the_script_prints(title: str, labels: int) -> None:
    (shown,) = tables_under(title)
    (expected,) = tables_under(title, printed())
    assert shown[0] == expected[0]
    assert [line[:labels] for line in shown] == [line[:labels] for line in expected]
    for line in shown[1:]:
        assert len(line) == len(shown[0])
        for cell in line[labels:]:
            assert RATE.fullmatch(cell) or PLAIN.fullmatch(cell), cell


def test_the_regression_check_keeps_its_stated_rate_in_the_tables() -> None:
    (alarms,), (several,) = tables_under(SIMULATED[0][0]), tables_under(SIMULATED[3][0])
    shown = [line[4] for line in alarms[1:]] + [line[3] for line in several[1:]]
    assert len(shown) > 10
    for cell in shown:
        rate = RATE.fullmatch(cell)
        assert rate is not None
        assert float(rate[2]) <= 100 * bench.TOGETHER, cell


def test_the_table_of_detectable_effects_follows_from_the_formula() -> None:
    (shown,) = (table for table in tables_under("How many cases"))
    sds = [float(head.removeprefix("sd ")) for head in shown[0][1:]]
    for n, *effects in shown[1:-1]:
        expected = [minimum_detectable_effect(sd / int(n) ** 0.5) for sd in sds]
        assert effects == [f"{effect:.3f}" for effect in expected]
    assert shown[-1] == ["**cases for 0.05**", *(str(required_n(sd, 0.05)) for sd in sds)]


def test_stopping_early_is_shown_for_the_rows_of_its_script_and_saves_too_little() -> None:
    (shown,) = tables_under("Stopping early", PAGE)
    row = sequential_gate.Row(
        n=1, flips=0, drop=0, false_alarms=0, caught=0, asked_equal=1, asked_worse=1, n_check=2
    )
    (printed_rows,) = tables(sequential_gate.render([row]))
    assert shown[0] == printed_rows[0]
    sizes = [
        [str(n), f"{flips:.0%}"] for n in sequential_gate.SIZES for flips in sequential_gate.FLIPS
    ]
    assert [[line[0], line[1].replace(" ", "")] for line in shown[1:]] == sizes
    percent = [[float(cell.removesuffix(" %")) / 100 for cell in line[-2:]] for line in shown[1:]]
    assert all(max(saved) < sequential_gate.WORTH for saved in percent)


def test_no_row_falls_short_of_what_it_promises() -> None:
    (power,) = tables_under("What the check says it can detect")
    for line in power[1:]:
        rate = RATE.fullmatch(line[-1])
        assert rate is not None
        assert float(rate[3]) >= float(line[-2].removesuffix(" %")), line
    rates = [float(line[-1].split()[0]) for line in power[1:]]
    assert f"is caught in up to {max(rates):.0f} % of runs" in PAGE


LARGEST = {
    "5": [5] * 30,
    "10": [1, 2, 3, 4, 5, 10] * 2,
    "29": [29] + [1] * 29,
    "40": [40] + [1] * 10,
}
"""Cases of every document, by the largest."""


def covered(sizes: list[int], mean: float, icc: float, runs: int) -> float:
    """Return the share of simulated runs whose clustered interval holds the true mean."""
    rng = np.random.default_rng([len(sizes), round(mean * 100), round(icc * 100)])
    documents = np.repeat(np.arange(len(sizes)), sizes)
    spread = 1 / icc - 1
    held = 0
    for shares in rng.beta(mean * spread, (1 - mean) * spread, size=(runs, len(sizes))):
        cases = (rng.random(len(documents)) < shares[documents]).astype(float).tolist()
        interval = mean_interval(cluster_sums(cases, documents.tolist()), MetricScale(binary=True))
        assert interval.low is not None
        assert interval.high is not None
        held += interval.low <= mean <= interval.high
    return held / runs


@pytest.mark.parametrize("largest", LARGEST)
def test_a_small_simulation_gives_the_coverage_of_the_page(largest: str) -> None:
    (shown,) = tables_under("Limits of intervals")
    (line,) = (row for row in shown if row[2] == largest)
    sizes = LARGEST[largest]
    assert line[:2] == [str(sum(sizes)), str(len(sizes))]
    for head, cell in zip(shown[0][3:], line[3:], strict=True):
        mean, icc = (float(part) for part in re.findall(r"\.\d+", head))
        stated, runs = float(cell), 400
        error = (stated * (1 - stated) / runs) ** 0.5
        assert covered(sizes, mean, icc, runs) == pytest.approx(stated, abs=4 * error), head
