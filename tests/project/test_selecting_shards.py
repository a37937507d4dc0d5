from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.project.selecting import Shard


@given(st.lists(st.integers(), unique=True), st.integers(1, 12))
def test_the_parts_make_up_the_whole_and_share_nothing(keys: list[int], count: int) -> None:
    parts = [Shard(index, count).part_of(keys) for index in range(1, count + 1)]
    assert sorted(key for part in parts for key in part) == sorted(keys)
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(("text", "shard"), [("1/1", Shard(1, 1)), (" 2 / 3 ", Shard(2, 3))])
def test_a_shard_is_read_from_text(text: str, shard: Shard) -> None:
    assert Shard.parse(text) == shard
    assert Shard.parse(str(shard)) == shard


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "1/0", "-1/2", "1/2/3", "x/y", "1.0/2"])
def test_what_is_no_shard_is_named_with_what_was_expected(text: str) -> None:
    with pytest.raises(ValueError, match="expected I/N with I from 1 to N, such as 1/3"):
        Shard.parse(text)
