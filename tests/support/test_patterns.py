"""Patterns of other people: found in linear time, or refused with the reason."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.support.patterns import PatternError, compile_pattern


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"\b\d{3}-\d{4}\b", "call 555-1234 now", True),
        (r"\b\d{3}-\d{4}\b", "call 5555-12345", False),
        ("^30", "in 30 days", False),
        ("(?m)^30", "in\n30 days", True),
        ("Paris", "paris", False),
        ("straße|rue", "la rue", True),
    ],
)
def test_a_pattern_occurs_anywhere_in_a_text(pattern: str, text: str, found: bool) -> None:
    assert compile_pattern(pattern)(text) is found


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(?=a)", "look-around"),
        (r"(a)\1", "backreferences are not supported"),
        ("(", "unclosed group"),
        ("a" * 501, "501 characters, expected at most 500"),
        (r"\w{900}", "not a pattern: Compiled regex exceeds size limit"),
        ("(?:a{1000}){1000}", "not a pattern: Compiled regex exceeds size limit"),
    ],
)
def test_a_pattern_that_is_not_searched_says_why(pattern: str, reason: str) -> None:
    with pytest.raises(PatternError, match=reason):
        compile_pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+$", "(a|a)*b", "(.*a){14}b", "^(a?){100}a{2}$", "((a*)*)*b", r"(?:\w{1,14}){1,14}!"],
)
def test_a_hostile_pattern_does_not_hang(pattern: str) -> None:
    search = compile_pattern(pattern)
    started = time.monotonic()
    search("a" * 1_000_000 + "c")
    assert time.monotonic() - started < 10


@given(st.text(max_size=40), st.text(max_size=40), st.booleans())
def test_any_text_is_a_pattern_or_refused(pattern: str, text: str, ignore_case: bool) -> None:
    try:
        found: bool | str = compile_pattern(pattern, ignore_case=ignore_case)(text)
    except PatternError as error:
        found = str(error)
    assert isinstance(found, bool) or len(found.splitlines()) == 1
