"""A sentence is made of its parts and facts."""

from __future__ import annotations

import pytest

from pytest_rageval.values.diagnoses.table import chosen, joined, known


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({"n": 0}, "0 events"),
        ({"n": 1}, "1 event"),
        ({"n": 2_000, "at": "noon"}, "2,000 events at noon"),
        ({}, ""),
    ],
)
def test_a_part_that_names_an_absent_fact_is_left_out(facts: dict[str, str], text: str) -> None:
    assert joined(("{n:event}", " at {at}"), facts) == text


def test_an_empty_fact_is_not_known() -> None:
    assert known({"a": None, "b": "", "c": 0, "d": "x"}) == {"c": 0, "d": "x"}


def test_advice_is_chosen_by_the_first_fact_that_is_there() -> None:
    given = {"a": "first", "b": "second", "": "else"}
    assert [chosen(given, {name: 1}) for name in ("b", "a", "c")] == ["second", "first", "else"]
    assert (chosen("always", {}), chosen({"a": "x"}, {})) == ("always", "")
