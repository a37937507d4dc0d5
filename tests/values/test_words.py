"""Words for what is true or false."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pytest_rageval.values import words

TABLES = [value for name, value in vars(words).items() if name.isupper()]


@pytest.mark.parametrize("table", TABLES)
def test_a_table_has_a_word_for_either_case(table: Mapping[bool, str]) -> None:
    assert table.keys() == {True, False}
    assert table[True] != table[False]
