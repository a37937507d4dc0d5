from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.analysis.trust.probes import (
    FILLER,
    pad_answer,
    reorder_answer,
    split_sentences,
    summarise_probe,
    variant_of,
)

THREE = "The tank holds 40.5 litres [1]. It was built in 1980. [2] Dr. No Bo painted it!"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            THREE,
            [
                "The tank holds 40.5 litres [1].",
                "It was built in 1980. [2]",
                "Dr. No Bo painted it!",
            ],
        ),
        ("One.  [1]", ["One.  [1]"]),
        ("1. First\n12. Second", ["1. First", "12. Second"]),
        ("- a\n\n- b. c", ["- a", "- b.", "c"]),
        ('He said "no." Then left.', ['He said "no."', "Then left."]),
        ("水は四十リットル。次の文。", ["水は四十リットル。", "次の文。"]),
        ("J. Smith met e.g. Mr. Jones", ["J. Smith met e.g. Mr. Jones"]),
        ("no stop", ["no stop"]),
    ],
)
def test_sentences_end_where_people_see_an_end(text: str, expected: list[str]) -> None:
    assert split_sentences(text)[0] == expected


@given(st.text(alphabet="aB1.!?。 \n[]", max_size=60), st.integers(0, 5))
def test_another_order_has_the_same_sentences_and_is_never_the_given_one(
    text: str, seed: int
) -> None:
    found = reorder_answer(text, seed=seed)
    if found is None:
        # All are equal, but for the full stop that the last one may lack.
        assert len({sentence.removesuffix(".") for sentence in split_sentences(text)[0]}) < 2
        return
    assert found != text.strip()
    assert Counter(found) - Counter(text.strip()) in (Counter(), Counter("."))
    assert Counter(text.strip()) <= Counter(found)
    assert found == reorder_answer(text, seed=seed)


def test_padding_repeats_the_first_sentence_and_says_nothing_new() -> None:
    found = pad_answer(THREE + "\n")
    assert found == f"{THREE} The tank holds 40.5 litres [1]. {FILLER}"
    assert variant_of("verbosity", THREE) == pad_answer(THREE)
    assert not any(character.isdigit() for character in FILLER)


def test_only_a_higher_score_counts_against_a_judge() -> None:
    found = summarise_probe(
        [(3, 4), (3, 2), (5, 5), (4, 4 + 1e-12), (None, 4), (4, None)],
        line=4,
        n_not_applicable=2,
    )
    assert found.n_newly_passed == 1
    assert (found.n, found.n_error, found.n_not_applicable, found.n_higher) == (4, 2, 2, 1)
    assert found.higher_rate == 0.25
    assert found.mean_shift == pytest.approx(0.0)
    assert found.low == pytest.approx(0.0456, abs=1e-4)
    assert found.high == pytest.approx(0.6994, abs=1e-4)
