"""The worked examples in the docstrings hold."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize(
    "name",
    [
        "gate_rules",
        "report.numbers",
        "metrics.cross_lingual",
        "stats.agreement",
        "stats.calibration",
        "stats.clusters",
        "stats.intervals",
        "stats.multiplicity",
        "stats.paired",
        "stats.power",
        "stats.repeats",
        "summaries",
    ],
)
def test_docstring_examples_hold(name: str) -> None:
    found = doctest.testmod(import_module(f"pytest_rageval.{name}"))
    assert found.attempted > 0
    assert found.failed == 0
