"""No two cases share a cassette, on any file system."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.plugin.cassette_secrets import MAX_CHARS, cassette_name


@pytest.mark.parametrize(
    ("case_id", "name"),
    [
        ("factual_001", "factual_001"),
        ("recency/conflict_1", "recency%2Fconflict_1"),
        ("recency-conflict_1", "recency-conflict_1"),
        ("a#(b):?*\"<>|%'", "a%23%28b%29%3A%3F%2A%22%3C%3E%7C%25%27"),
        ("A", "%41"),
        ("a%41", "a%2541"),
        ("größe", "gr%C3%B6%C3%9Fe"),
        ("v1.2", "v1.2"),
        (".hidden", "%2Ehidden"),
        ("ends.", "ends%2E"),
        ("one.yaml", "one%2Eyaml"),
        ("one.json", "one%2Ejson"),
        ("con", "%63on"),
        ("nul.txt", "%6Eul.txt"),
        ("console", "console"),
        ("test_1[model-B]", "test_1%5Bmodel-%42%5D"),
    ],
)
def test_a_name_is_the_id_with_what_a_file_system_changes_encoded(case_id: str, name: str) -> None:
    assert cassette_name(case_id) == name


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=12))
def test_a_short_name_is_read_back_by_decoding_it(case_id: str) -> None:
    name = cassette_name(case_id)
    if "~" not in name:
        assert unquote(name) == case_id
    assert re.fullmatch(r"(?:[a-z0-9_.~-]|%[0-9A-F]{2})+", name)
    assert len(name) <= MAX_CHARS


@given(st.lists(st.text("aAéE/.-%~yml", min_size=1, max_size=60), min_size=2, unique=True))
def test_names_of_different_ids_differ_by_more_than_their_case(case_ids: list[str]) -> None:
    assert len({cassette_name(case_id).casefold() for case_id in case_ids}) == len(case_ids)


def test_long_ids_are_told_apart_by_their_ends() -> None:
    one, two = cassette_name("é" * 300 + "1"), cassette_name("é" * 300 + "2")
    assert one != two
    assert len(one) <= MAX_CHARS
    assert re.search(r"(?:%[0-9A-F]{2})+~[0-9a-f]{32}$", one)
