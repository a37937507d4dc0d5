"""The worked examples in the docstrings hold."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize(
    "name",
    [
        "analysis.compare.pairs",
        "support.numbers",
        "metrics.cross_lingual",
        "analysis.stats.agreement",
        "analysis.stats.calibration",
        "analysis.stats.clusters",
        "analysis.stats.intervals",
        "analysis.stats.paired",
        "analysis.stats.power",
        "analysis.stats.repeats",
        "analysis.aggregate.summaries",
    ],
)
def test_docstring_examples_hold(name: str) -> None:
    found = doctest.testmod(import_module(f"pytest_rageval.{name}"))
    assert found.attempted > 0
    assert found.failed == 0
