"""Names that runs and tags may have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.values.settings import TAGS, is_run_id, is_tag


@pytest.mark.parametrize("name", ["r", "1", "20261120-1958-7c1d", "a.b_c-d", "x" * 100, "last1"])
def test_a_plain_name_is_both_a_run_id_and_a_tag(name: str) -> None:
    assert is_run_id(name)
    assert is_tag(name)


@pytest.mark.parametrize(
    "name",
    ["", "a b", "a\n", *r". .. .lock -x _x a/b a\b é last last~1".split(), "x" * 101, TAGS],
)
def test_a_name_that_is_reserved_or_could_leave_the_folder_is_neither(name: str) -> None:
    assert not is_run_id(name)
    assert not is_tag(name)


@pytest.mark.parametrize(
    "name", ["con", "NUL", "aux.1", "com1", "lpt9.v2", "v1.", "a..", "Last", "TAGS", "COM1.json"]
)
def test_a_new_name_can_be_a_folder_on_every_system(name: str) -> None:
    assert is_run_id(name)  # as a run on another system may be named
    assert not is_run_id(name, new=True)
    assert not is_tag(name, new=True)


@given(st.text(alphabet="aZ09._-/\\: \n\0\u00e9\u0661", max_size=6))
def test_a_run_id_is_one_plain_part_of_a_path(name: str) -> None:
    plain = name.isascii() and name.replace(".", "a").replace("-", "a").replace("_", "a").isalnum()
    assert is_run_id(name) == (plain and name[0].isalnum())
