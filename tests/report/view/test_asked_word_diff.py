from __future__ import annotations

import random
from difflib import Match, SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.report.view.asked import WordDiff, diff_words

TEXTS = st.lists(st.sampled_from(["a", "bb", "c.", "d-e", "\n", "\u65e5\u672c", "  f"])).map(
    " ".join
)


def marked(old: str, new: str) -> tuple[str, str]:
    """Both texts with what changed in brackets."""
    found = diff_words(old, new)
    assert found is not None
    return show(found.old), show(found.new)


def show(pieces: tuple[tuple[bool, str], ...]) -> str:
    return "".join(f"[{text}]" if changed else text for changed, text in pieces)


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        (
            "Refunds take 5 days. Ask Ann.",
            "Refunds take 10 days. Ask Ann or Bob.",
            ("Refunds take [5] days. Ask Ann.", "Refunds take [10] days. Ask Ann [or Bob]."),
        ),
        ("one two three", "one three", ("one [two] three", "one three")),
        ("one two", "one  two\n", ("one two", "one  two\n")),
        ("in 5-7 days", "in 5-9 days", ("in 5-[7] days", "in 5-[9] days")),
        (
            "\u65e5\u672c\u8a9e",
            "\u65e5\u82f1\u8a9e",
            ("\u65e5[\u672c]\u8a9e", "\u65e5[\u82f1]\u8a9e"),
        ),
        ("a b", "a b", ("a b", "a b")),
    ],
)
def test_words_that_changed_are_marked(old: str, new: str, shown: tuple[str, str]) -> None:
    assert marked(old, new) == shown


@given(TEXTS, TEXTS)
def test_the_pieces_are_the_texts_and_marks_hold_no_outer_space(old: str, new: str) -> None:
    found = diff_words(old, new)
    if found is None:
        return
    for pieces, text in ((found.old, old), (found.new, new)):
        assert "".join(part for _, part in pieces) == text
        assert all(part for _, part in pieces)
        assert all(part == part.strip() for changed, part in pieces if changed)
    assert kept(found, "old").split() == kept(found, "new").split()


def kept(found: WordDiff, side: str) -> str:
    """The words that are not marked, apart from each other."""
    pieces = found.old if side == "old" else found.new
    return " ".join(" ".join(part) for changed, part in pieces if not changed)


@pytest.mark.parametrize("kind", ["same word", "two words", "shuffled", "prose"])
def test_texts_of_thousands_of_words_are_compared_in_few_steps(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(1)
    old, new = {
        "same word": (["a"] * 3000, ["b", *["a"] * 2500, "c"]),
        "two words": tuple([rng.choice("ab") for _ in range(3000)] for _ in range(2)),
        "shuffled": tuple(rng.sample([f"w{i}" for i in range(3000)], 3000) for _ in range(2)),
        "prose": tuple(
            [f"w{int(rng.paretovariate(0.8)) % 500}" for _ in range(3000)] for _ in range(2)
        ),
    }[kind]
    monkeypatch.setattr("pytest_rageval.report.view.asked.SequenceMatcher", CountingMatcher)
    CountingMatcher.steps = 0
    found = diff_words(f"start {' '.join(old)} end", f"start {' '.join(new)} end")
    # 8,000 to 80,000; 16 million if frequent words were searched for.
    assert 0 < CountingMatcher.steps < 500_000
    assert found is None or len(found.new) > 1


class CountingMatcher(SequenceMatcher[str]):
    """Counts the pairs of equal words that the search looks at, which is its work."""

    a: list[str]
    b2j: dict[str, list[int]]
    steps = 0

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> Match:
        words = self.a[alo:ahi]
        CountingMatcher.steps += sum(1 + len(self.b2j.get(word, ())) for word in words)
        return super().find_longest_match(alo, ahi, blo, bhi)
