from __future__ import annotations

import tomllib

import pytest

from pytest_rageval.support.toml_text import KeyPath, key_lines, read_toml
from pytest_rageval.values.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("\na = 1", ("a",), 2),
        ("\ta=1 # b = 2\nb=1", ("b",), 2),
        ("a.b . c = 1", ("a", "b", "c"), 1),
        ("a.b = 1\na.c = 2", ("a", "c"), 2),
        ("a.b = 1\na.c = 2", ("a",), 1),
        ("a = 1\n[t]\na = 1", ("t", "a"), 3),
        ("\n[ t . u ]\na = 1", ("t", "u"), 2),
        ("[t]\nx = 1\n[u]\n[t.v]\na = 1", ("t", "v", "a"), 5),
        ("[\"a.b\"]\n'c d' = 1", ("a.b", "c d"), 2),
        ('["a=b"] # c = 1\n"]" = 1', ("a=b", "]"), 2),
        ("a = [\n 1, # ]\n 2,\n]\nb = 1", ("b",), 5),
        ("[[t]]\na = 1\n[[t]]\nb = 2", ("t",), 1),
    ],
)
def test_a_key_is_found_by_its_line(text: str, path: KeyPath, line: int) -> None:
    tomllib.loads(text)
    assert key_lines(text)[path] == line


def test_faults_are_in_the_order_of_the_lines_each_of_which_is_shown_once() -> None:
    source = read_toml("[t]\na = { x = 1, y = 2 }\n\tb = 1", display="t.toml")
    source.fault(("t", "b"), "invalid", reason="third")
    source.fault(("t", "a", "x"), "invalid", reason="first")
    source.fault(("t", "a", "y"), "invalid", reason="second")
    source.fault(("t", "a", "y"), "invalid", reason="second")
    with pytest.raises(ConfigError) as caught:
        source.raise_faults()
    assert str(caught.value).splitlines() == [
        "t.toml:2: first",
        "    2 | a = { x = 1, y = 2 }",
        "t.toml:2: second",
        "t.toml:3: third",
        "    3 | b = 1",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1\nb = \n", "t.toml:2: not TOML: Invalid value (at line 2, column 5)\n    2 | b ="),
        (
            "a = 1\nx = [1,\n",
            "t.toml:2: not TOML: Invalid value (at end of document)\n    2 | x = [1,",
        ),
        ("\ta = \x01", "t.toml:1: not TOML: Invalid value (at line 1, column 6)\n    1 | a ="),
    ],
)
def test_a_text_that_is_no_toml_is_shown_where_it_breaks(text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_toml(text, display="t.toml")
    assert str(caught.value) == expected
