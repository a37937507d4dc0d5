from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.authoring.linting import duplicates
from pytest_rageval.authoring.linting.duplicates import (
    MOST,
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


@pytest.fixture
def comparisons(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The similarity of each pair that was compared."""
    made: list[float] = []

    def counted(one: frozenset[str], other: frozenset[str]) -> float:
        made.append(jaccard(one, other))
        return made[-1]

    monkeypatch.setattr(duplicates, "jaccard", counted)
    return made


def from_template(template: str, *numbers: int) -> list[str]:
    """Return the texts with every combination of words ``a0``, ``b0`` and so on in the slots."""
    slots = [
        [f"{name}{n}" for n in range(count)] for name, count in zip("abc", numbers, strict=False)
    ]
    return [template.format(*words) for words in product(*slots)]


def test_a_near_duplicate_is_found_among_many_texts_that_share_its_parts(
    comparisons: list[float],
) -> None:
    texts = from_template("Is the {} open on {} today", 20, 20)
    texts += [f"Is the a{n} now open on b{n} today" for n in range(20)]
    pairs = found(texts)
    made = len(comparisons)
    assert pairs == by_comparing_each_with_each(texts, NEAR)
    assert {(400 + n, 21 * n) for n in range(20)} <= pairs
    assert made <= len(texts) * 20 < len(texts) * (len(texts) - 1) / 2 / 9


def test_a_text_is_compared_with_a_bounded_number_of_others(comparisons: list[float]) -> None:
    """All of these are alike, so the number of pairs grows with the square of the texts."""
    texts = from_template("What does the form number {} of the northern office ask for?", 1500)
    texts += [texts[700].replace("ask", "really ask")]
    pairs = found(texts)
    assert len(comparisons) <= len(texts) * MOST
    assert min(comparisons) >= NEAR
    assert (1500, 700) in pairs
