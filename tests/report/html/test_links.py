from __future__ import annotations

from urllib.parse import parse_qsl

from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.report.html.links import cases_link


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_name_of_a_group_comes_back_from_the_address(name: str) -> None:
    address = cases_link(category=name, sort="mrr")

    assert address[0] == "#"
    assert address.isascii()
    assert parse_qsl(address[1:]) == [("category", name), ("sort", "mrr")]


def test_several_values_of_one_key_are_alternatives() -> None:
    assert cases_link(tag=("a", "b&c")) == "#tag=a&tag=b%26c"
