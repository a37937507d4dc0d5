from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_rageval.analysis.stats.agreement import (
    auroc,
    average_ranks,
    bootstrap_agreement,
    kappa,
    krippendorff_alpha,
    precision_recall_f1,
    spearman,
)

SCALE = range(6)
ratings = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30)


def split(pairs: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [a for a, _ in pairs], [b for _, b in pairs]


@given(ratings)
def test_kappa_does_not_depend_on_who_is_first(pairs: list[tuple[int, int]]) -> None:
    a, b = split(pairs)
    assert kappa(a, b, categories=SCALE) == pytest.approx(kappa(b, a, categories=SCALE))


@given(st.lists(st.integers(0, 5), min_size=2, max_size=20).filter(lambda v: len(set(v)) > 1))
def test_perfect_agreement_is_one(values: list[int]) -> None:
    assert kappa(values, values, categories=SCALE, weights="quadratic") == 1
    assert krippendorff_alpha([values, values]) == pytest.approx(1)
    assert spearman(values, values) == pytest.approx(1)


def test_kappa_is_undefined_without_variation() -> None:
    assert kappa([1, 1], [1, 1], categories=[0, 1]) is None
    assert kappa([], [], categories=[0, 1]) is None


def test_kappa_refuses_ratings_off_the_scale() -> None:
    with pytest.raises(ValueError, match=r"\[7\] are not among"):
        kappa([7], [1], categories=SCALE)


def test_weights_follow_places_on_the_scale_and_not_values_seen() -> None:
    a, b = [0, 5, 4], [0, 4, 5]
    assert kappa(a, b, categories=SCALE, weights="quadratic") == pytest.approx(1 - 6 / 84)
    assert kappa(a, b, categories=[0, 4, 5], weights="quadratic") == pytest.approx(1 - 6 / 12)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_without_variation_is_undefined(level: str) -> None:
    assert krippendorff_alpha([[1, 1], [1, 1]], level=level) is None  # type: ignore[arg-type]


def test_alpha_ignores_what_one_rater_alone_rated() -> None:
    full = krippendorff_alpha([[1, 2, 3], [1, 3, 3]])
    assert krippendorff_alpha([[1, 2, 3, 5], [1, 3, 3, None]]) == pytest.approx(full)


def test_alpha_of_things_rated_once_is_undefined() -> None:
    assert krippendorff_alpha([[1, None], [None, 2]]) is None


def test_alpha_agrees_with_krippendorffs_published_example() -> None:
    # Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), section C.
    rows = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    found = [
        krippendorff_alpha(rows, level="nominal"),
        krippendorff_alpha(rows, level="ordinal"),
        krippendorff_alpha(rows, level="interval"),
    ]
    assert found == pytest.approx([0.743, 0.815, 0.849], abs=6e-4)


@given(ratings.filter(lambda p: all(len(set(side)) > 1 for side in split(p))))
def test_spearman_agrees_with_scipy(pairs: list[tuple[int, int]]) -> None:
    a, b = split(pairs)
    assert spearman(a, b) == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-12)


def test_spearman_of_a_constant_is_undefined() -> None:
    assert spearman([1, 1, 1], [1, 2, 3]) is None
    assert spearman([], []) is None


def test_spearman_refuses_sides_of_different_length() -> None:
    with pytest.raises(ValueError, match="2 values against 1"):
        spearman([1, 2], [1])


@given(st.lists(st.integers(0, 4), max_size=20))
def test_average_ranks_agree_with_scipy(values: list[int]) -> None:
    assert average_ranks(values) == list(stats.rankdata(values))


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=20))
def test_auroc_counts_pairs_won_and_half_the_ties(rows: list[tuple[int, bool]]) -> None:
    good = [s for s, label in rows if label]
    bad = [s for s, label in rows if not label]
    won = [(g > b) + 0.5 * (g == b) for g, b in product(good, bad)]
    expected = math.fsum(won) / len(won) if won else None
    assert auroc([s for s, _ in rows], [x for _, x in rows]).auroc == pytest.approx(expected)


def test_auroc_of_several_sources_is_their_mean_and_leaves_out_one_sided_ones() -> None:
    found = auroc(
        [1, 0, 5, 9, 7], [True, False, False, True, True], sources=["a", "a", "b", "b", "c"]
    )
    assert (found.auroc, found.n_sources) == (1.0, 2)
    assert found.auroc_pooled == pytest.approx(5 / 6)


@pytest.mark.parametrize(
    ("truth", "predicted", "expected"),
    [
        ([1, 1, 1, 0, 0], [1, 1, 0, 1, 0], (2 / 3, 2 / 3, 2 / 3)),
        ([0, 0], [0, 0], (None, None, None)),
        ([0, 0], [1, 0], (0.0, None, 0.0)),
        ([1, 0], [0, 0], (None, 0.0, 0.0)),
        ([], [], (None, None, None)),
    ],
)
def test_precision_recall_f1(
    truth: list[bool], predicted: list[bool], expected: tuple[float | None, ...]
) -> None:
    found = precision_recall_f1(truth, predicted)
    assert (found.precision, found.recall, found.f1) == pytest.approx(expected)


def test_precision_and_recall_have_wilson_intervals() -> None:
    found = precision_recall_f1([True] * 5, [True, True, True, True, False])
    assert found.precision_interval.method == "wilson"
    assert found.recall_interval.high is not None
    assert 0.8 < found.recall_interval.high < 1


def test_bootstrap_of_kappa_holds_the_estimate() -> None:
    a, b = [0, 1, 0, 1, 1, 0, 1, 0] * 5, [0, 1, 0, 1, 0, 0, 1, 1] * 5

    def statistic(x: object, y: object) -> float | None:
        return kappa(x, y, categories=[0, 1])  # type: ignore[arg-type]

    found = bootstrap_agreement(a, b, statistic, resamples=300)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.5 < found.high
    assert found == bootstrap_agreement(a, b, statistic, resamples=300)


def test_bootstrap_of_one_cluster_or_of_undefined_values_has_no_interval() -> None:
    assert bootstrap_agreement([1, 2], [1, 2], spearman, clusters=["a", "a"]).low is None
    assert bootstrap_agreement([1, 1], [2, 2], spearman, resamples=50).low is None
