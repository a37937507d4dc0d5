"""Weighted means against independent calculations."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.values.case import Case
from pytest_rageval.values.numbers import WeightedMean
from pytest_rageval.values.record import CaseRecord
from tests.build import records as build


def record(number: int, score: float, weight: float | None, cluster: str | None) -> CaseRecord:
    metadata = {} if weight is None else {"weight": weight}
    case = Case(id=f"c{number:05}", question="q", metadata=metadata)
    scores: dict[str, float | None] = {"recall_at_k": score}
    return replace(build.record(case.id, scores), case=case, cluster=cluster)


def weighted(
    scores: list[float], weights: list[float | None], clusters: list[str | None] | None = None
) -> WeightedMean:
    rows = zip(scores, weights, clusters or [None] * len(scores), strict=True)
    records = [record(number, *row) for number, row in enumerate(rows)]
    return aggregate(records, by_traffic=True).by_traffic["recall_at_k"]


@given(
    pairs=st.lists(st.tuples(st.floats(0, 1), st.floats(0.1, 100)), min_size=2, max_size=30),
)
@settings(max_examples=30)
def test_mean_and_error_are_those_of_a_ratio(pairs: list[tuple[float, float]]) -> None:
    found = weighted([x for x, _ in pairs], [w for _, w in pairs])
    x, w = (np.array(column) for column in zip(*pairs, strict=True))
    mean = np.average(x, weights=w)
    n = len(x)
    variance = n / (n - 1) * np.sum((w * (x - mean)) ** 2) / np.sum(w) ** 2

    assert found.n == n
    assert found.mean == pytest.approx(mean)
    assert found.se == pytest.approx(math.sqrt(variance), abs=1e-9)
    assert found.n_effective == pytest.approx(np.sum(w) ** 2 / np.sum(w**2))


def test_equal_weights_give_the_plain_mean_and_a_design_effect_of_one() -> None:
    scores = [0.0, 0.25, 0.5, 1.0, 1.0]
    plain = aggregate([record(n, x, 3.0, None) for n, x in enumerate(scores)])
    found = weighted(scores, [3.0] * 5)

    assert found.mean == pytest.approx(plain.metrics["recall_at_k"].mean)
    assert found.n_effective == pytest.approx(5)
    assert found.design_effect == pytest.approx(1)
    assert found.low == pytest.approx(plain.metrics["recall_at_k"].low, abs=0.02)
    assert plain.by_traffic == {}


def test_clusters_of_equal_cases_double_the_variance() -> None:
    scores = [0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    alone = weighted(scores, [1.0] * 8)
    paired = weighted(scores, [1.0] * 8, ["a", "a", "b", "b", "c", "c", "d", "d"])

    assert alone.design_effect == pytest.approx(1)
    assert paired.design_effect == pytest.approx(2 * (4 / 3) / (8 / 7))


def test_a_case_without_a_weight_counts_once_and_none_has_no_weighted_mean() -> None:
    assert weighted([1.0, 0.0], [3.0, None]).mean == pytest.approx(0.75)
    records = [record(n, 1.0, None, None) for n in range(2)]
    assert aggregate(records, by_traffic=True).by_traffic == {}


@pytest.mark.slow
def test_intervals_cover_the_mean_of_the_traffic() -> None:
    drawn = random.Random(7)
    # Questions asked often are answered better, so that the plain mean is wrong.
    sizes = [drawn.choice([1, 1, 1, 2, 5, 20]) for _ in range(2_000)]
    chances = [0.5 + 0.4 * (size > 1) for size in sizes]
    truth = sum(s * p for s, p in zip(sizes, chances, strict=True)) / sum(sizes)
    covered = 0
    for _ in range(150):
        chosen = drawn.sample(range(2_000), 120)
        scores = [float(drawn.random() < chances[one]) for one in chosen]
        found = weighted(scores, [float(sizes[one]) for one in chosen])
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= truth <= found.high
    assert 0.92 <= covered / 150 <= 0.99
