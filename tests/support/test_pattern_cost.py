"""Cost of patterns of Python by their text, compared with how long they really take."""

from __future__ import annotations

import re

import pytest

from pytest_rageval.support.pattern_cost import MOST_WAYS, pattern_cost

WINDOW = 300


@pytest.mark.parametrize(
    ("pattern", "starts"),
    [
        (r"\[doc(?P<n>\d+)\]", "["),
        (r"(?:\[|<)(?P<n>\d+)", "<["),
        (r"[\[<](?P<n>\d+)", "<["),
        (r"(?i:ref)(?P<n>\d+)", "Rr"),
        (r"(?i)ref\d", "Rr"),
        (r"(?!\[x)(?<=a)\[", "["),
        (r"^\b(?P<n>(a|b)c)", "ABab"),
        (r"\[{2}\d", "["),
        (r"\[?\d", ""),
        (r"\[{,2}\d", ""),
        (r"(\[)*\d", ""),
        (r"(\[|)\d", ""),
        (r"(\[|\d)", ""),
        (r"[^a]b", ""),
        (r"[a-c]b", ""),
        (r"[\da]b", ""),
        (r".a", ""),
        (r"\x5b", ""),
        ("", ""),
    ],
)
def test_the_beginning_of_a_pattern_is_known_where_it_is_fixed(pattern: str, starts: str) -> None:
    re.compile(pattern)
    assert pattern_cost(pattern, WINDOW)[1] == starts


@pytest.mark.parametrize(
    ("pattern", "ways"),
    [
        (r"\[abc]", 1),
        (r"a?b{2}", 2),
        (r"a{1,3}b*?", 3 * 301),
        (r"(a|b|c)d?", 6),
        (r"(?:a|b){0,2}", 1 + 2 + 4),
        (r"[a*+?{2}(]]", 1),
        (r"\*\+a{b}{", 1),
        (r".+ .+", 300 * 300),
        (r"(?=a+)b", 300),
    ],
)
def test_the_ways_of_a_pattern_multiply(pattern: str, ways: int) -> None:
    re.compile(pattern)
    assert pattern_cost(pattern, WINDOW)[0] == ways


@pytest.mark.parametrize(
    "pattern",
    [
        r"a+b+c+",
        r"(a+)+",
        r"(a|b)*",
        r"(?>(a?)){1,30}",
        r"((a{1,9}){1,9}){1,9}",
        r"(a)\1",
        r"(?P<n>a)(?P=n)",
        r"(a)?(?(1)b|c)",
        r"(?x) (a+) +",
        r"(?x:(a+) +)",
        r"a(?#comment)",
        "(?:a?)" * 5000,
    ],
)
def test_a_pattern_that_may_take_long_or_is_not_read_has_too_many(pattern: str) -> None:
    assert pattern_cost(pattern, WINDOW)[0] > MOST_WAYS
