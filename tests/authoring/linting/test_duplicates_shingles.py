from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.authoring.linting.duplicates import (
    NEAR,
    find_resemblances,
    jaccard,
    shingles,
)

TEXTS = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=9).map(" ".join), max_size=8)


def by_comparing_each_with_each(texts: list[str], threshold: float) -> set[tuple[int, int]]:
    sets = [shingles(text) for text in texts]
    return {
        (later, earlier)
        for later in range(len(sets))
        for earlier in range(later)
        if jaccard(sets[later], sets[earlier]) >= threshold
    }


def found(texts: list[str], threshold: float = NEAR) -> set[tuple[int, int]]:
    return {(one.index, one.earlier) for one in find_resemblances(texts, threshold=threshold)}


@given(TEXTS, st.sampled_from([0.25, 0.5, NEAR, 0.9, 1.0]))
def test_the_pairs_are_those_of_comparing_each_with_each(
    texts: list[str], threshold: float
) -> None:
    assert found(texts, threshold) == by_comparing_each_with_each(texts, threshold)


def test_all_pairs_over_the_threshold_are_found() -> None:
    rng = random.Random(5)
    vocabulary = [f"w{n}" for n in range(400)]
    texts = []
    for _ in range(150):
        text = [rng.choice(vocabulary) for _ in range(14)]
        changed = [*text]
        changed[rng.randrange(14)] = "other"
        texts += [" ".join(text), " ".join(changed)]
    wanted = by_comparing_each_with_each(texts, NEAR)
    assert len(wanted) > 50
    assert found(texts) == wanted


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("a b", "a b", 1.0), ("a b", "c d", 0.0), ("", "", 0.0), ("a b c", "a b d", 3 / 7)],
)
def test_similarity_is_that_of_words_and_pairs(one: str, other: str, expected: float) -> None:
    assert jaccard(shingles(one), shingles(other)) == pytest.approx(expected)
