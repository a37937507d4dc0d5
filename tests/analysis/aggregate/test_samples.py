"""Samples of many cases, in arrays, have the numbers of small ones to the last digit."""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Callable

import pytest

from pytest_rageval.analysis.aggregate.samples import (
    ERROR,
    NOT_APPLICABLE,
    ArraySample,
    CasePart,
    ColumnSample,
    sample_of,
)

KINDS: dict[str, Callable[[random.Random], float]] = {
    "binary": lambda draw: float(draw.random() < 0.8),
    "whole numbers": lambda draw: float(draw.randint(0, 900)),
    "fractions": lambda draw: draw.lognormvariate(0, 2),
}


def both_samples(kind: str, n: int, n_clusters: int) -> tuple[ColumnSample, ArraySample]:
    draw = random.Random(f"{kind} {n} {n_clusters}")
    states = [lambda: KINDS[kind](draw)] * 8 + [lambda: ERROR, lambda: NOT_APPLICABLE]
    column = array("d", [draw.choice(states)() for _ in range(2 * n)])
    cases = sorted(draw.sample(range(2 * n), n))
    clusters = array("q", [draw.randrange(n_clusters) for _ in cases])
    part = CasePart(cases=array("q", cases), clusters=clusters, once=True)
    return ColumnSample([column[case] for case in cases], clusters), ArraySample(column, part)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "n_clusters"), [(1, 1), (30, 7), (31, 1000), (500, 60)])
def test_an_array_has_the_numbers_of_a_list(kind: str, n: int, n_clusters: int) -> None:
    small, large = both_samples(kind, n, n_clusters)
    assert (large.n, large.n_error, large.n_clusters) == (small.n, small.n_error, small.n_clusters)
    assert (large.total, large.is_binary) == (small.total, small.is_binary)
    assert large.pieces == small.pieces
    if small.n:
        assert large.median == small.median
    for centre in (0.0, 0.3, small.total / max(1, small.n)):
        assert large.squares_about(centre) == small.squares_about(centre)


def test_a_sample_without_scored_values_is_empty() -> None:
    column = array("d", [ERROR, NOT_APPLICABLE, 1.0])
    part = CasePart(cases=array("q", [0, 1]), clusters=array("q", [4, 4]), once=True)
    for sample in (sample_of(column, part), ArraySample(column, part)):
        assert (sample.n, sample.n_error, sample.n_clusters, sample.total) == (0, 1, 0, 0.0)
        assert sample.pieces == []
        assert sample.squares_about(0.5) == 0.0


def test_large_parts_are_arrays() -> None:
    n = 5000
    values = [math.sqrt(i) for i in range(n)]
    every = CasePart(cases=array("q", range(n)), clusters=array("q", range(n)), once=True)
    few = CasePart(cases=array("q", range(9)), clusters=array("q", range(9)), once=True)
    assert isinstance(sample_of(array("d", values), every), ArraySample)
    assert isinstance(sample_of(array("d", values), few), ColumnSample)
