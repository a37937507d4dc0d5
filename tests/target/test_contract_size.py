"""Size of values that hold one part many times."""

from __future__ import annotations

import time

from pytest_rageval.target.contract import MOST_CHARS, size_of


def test_texts_names_and_values_count_and_a_part_as_often_as_it_stands_there() -> None:
    assert size_of("abc") == 11
    assert size_of({"name": ["abc", 1, None]}) == 8 + 4 + 8 + 11 + 8 + 8
    part = {"text": "x" * 100}
    assert size_of([part] * 50) == 8 + 50 * size_of(part)


def test_counting_ends_above_the_limit() -> None:
    part: list[object] = ["x"] * 1000
    for _ in range(20):
        part = [part] * 1000
    started = time.process_time()
    assert size_of(part) > MOST_CHARS
    assert time.process_time() - started < 5
