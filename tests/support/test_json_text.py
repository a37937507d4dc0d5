from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.support.json_text import REMOVED, dump_like, edit_line
from pytest_rageval.values.errors import DatasetError

ODD = r'{ "id" :"a\u0041",  "k": 1.0e0,"x":[ 1,2 , 3 ] ,"name":"Zoë", "u":{"y" : null} }' + "\r"


# --- by hand -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"k": 2}, ODD.replace("1.0e0", "2")),
        ({"k": 1.0}, ODD),
        ({"k": True}, ODD.replace("1.0e0", "true")),
        ({"id": "aA"}, ODD),
        ({"id": "Zoë"}, ODD.replace(r"a\u0041", "Zoë")),
        ({"x": [1, 2]}, ODD.replace("[ 1,2 , 3 ]", "[ 1,2 ]")),
        ({"x": [1, 3]}, ODD.replace("[ 1,2 , 3 ]", "[ 1, 3 ]")),
        ({"x": [2, 3]}, ODD.replace("[ 1,2 , 3 ]", "[ 2 , 3 ]")),
        ({"x": [1, 2, 3, 4]}, ODD.replace("[ 1,2 , 3 ]", "[ 1,2 , 3, 4 ]")),
        ({"x": []}, ODD.replace("[ 1,2 , 3 ]", "[]")),
        ({"u": {"y": None, "z": 1}}, ODD.replace('"y" : null', '"y" : null, "z":1')),
        ({"u": {"z": 1}}, ODD.replace('"y" : null', '"z":1')),
        ({"new": ["é", {"a": 1}]}, ODD.replace("} }", '}, "new":["é", {"a":1}] }')),
        ({"id": REMOVED}, ODD.replace(r'"id" :"a\u0041",  ', "")),
        ({"u": REMOVED}, ODD.replace(', "u":{"y" : null}', "")),
        ({"missing": REMOVED}, ODD),
        ({}, ODD),
    ],
)  # fmt: skip
def test_only_the_value_that_is_meant_changes(changes: dict[str, Any], expected: str) -> None:
    assert edit_line(ODD, changes) == expected


def test_items_of_a_list_keep_their_spelling_when_another_changes() -> None:
    line = r'{"gold_supports": [{"rel_path":"\u0061.md",  "mine" : 1.50}, {"rel_path": "b.md"}]}'
    golds = [{"rel_path": "a.md", "mine": 1.5}, {"rel_path": "c.md", "snippets": ["x"]}]
    assert edit_line(line, {"gold_supports": golds}) == line.replace(
        '{"rel_path": "b.md"}', '{"rel_path": "c.md", "snippets": ["x"]}'
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{}", '{"k": 1}'),
        ("{ }", '{"k": 1 }'),
        ('{"a":1}', '{"a":1,"k":1}'),
        ('{"a": 1}', '{"a": 1, "k": 1}'),
        ('{"a": 1,"b":2}', '{"a": 1,"b":2,"k": 1}'),
    ],
)
def test_a_new_key_is_written_as_its_neighbours_are(line: str, expected: str) -> None:
    assert edit_line(line, {"k": 1}) == expected


def test_the_only_key_can_be_removed() -> None:
    assert edit_line('{ "a" : 1 }', {"a": REMOVED}) == "{  }"


def test_letters_are_escaped_where_the_line_escapes_its_own() -> None:
    assert edit_line(r'{"a": "\u00e9"}', {"b": "ö"}) == r'{"a": "\u00e9", "b": "\u00f6"}'
    assert edit_line(r'{"a": "x\n"}', {"b": "ö"}) == r'{"a": "x\n", "b": "ö"}'


def test_what_acts_on_a_reader_of_the_file_is_escaped() -> None:
    hostile = "a\u202eb\x1b[31m\u2028\ud800"
    assert edit_line('{"a":"é"}', {"a": hostile}) == r'{"a":"a\u202eb\u001b[31m\u2028\ud800"}'


def test_a_key_that_stands_twice_is_not_chosen_from() -> None:
    with pytest.raises(DatasetError, match="k: the key stands twice") as caught:
        edit_line('{"k": 1, "k": 2}', {"k": 3})
    assert caught.value.faults[0].col == 10


def test_a_key_that_stands_twice_and_is_not_meant_stays_twice() -> None:
    assert edit_line('{"k": 1, "k": 2, "a": 1}', {"a": 2}) == '{"k": 1, "k": 2, "a": 2}'


def test_values_that_python_cannot_hold_stay_as_they_are() -> None:
    line = '{"a": ' + "9" * 5000 + ', "b": 1e999, "c": NaN, "d": 1}'
    assert edit_line(line, {"d": 2}) == line.replace('"d": 1', '"d": 2')


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "expected one JSON object"),
        ("", "Expecting value, expected one JSON object"),
        ('{"a": 1', "Expecting ',' delimiter"),
        ('{"a": 1} x', "Extra data"),
        ('{"a":' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
    ],
)
def test_what_is_no_object_is_refused(line: str, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        edit_line(line, {"a": 2})


@pytest.mark.parametrize("value", [float("nan"), {1: 2}, {"a"}, object(), [float("inf")]])
def test_a_value_that_json_cannot_hold_is_refused(value: object) -> None:
    for line in ('{"a": 1}', '{"a": [1]}', '{"a": {"1": 3}}', "{}"):
        with pytest.raises(DatasetError, match=r"JSON can hold|expected a string"):
            edit_line(line, {"a": value})


def test_a_value_alone_is_written_in_the_style_of_a_line() -> None:
    assert dump_like('{"a":1,"b":2}', {"x": [1, 2]}) == '{"x":[1,2]}'
    assert dump_like("", {"x": [1, 2]}) == '{"x": [1, 2]}'


# --- at random ---------------------------------------------------------------------------------

blank = st.text(" \t\r", max_size=2)
texts = st.text(max_size=8)
numbers = st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(["id", "k", "gold_supports", "notes", "é", "\\", '"'])


def written(draw: st.DrawFn, value: Any) -> str:
    """One of the many ways to write a value."""
    if isinstance(value, dict):
        parts = [
            f"{draw(blank)}{written(draw, key)}{draw(blank)}:{draw(blank)}"
            f"{written(draw, item)}{draw(blank)}"
            for key, item in value.items()
        ]
        return "{" + (",".join(parts) or draw(blank)) + "}"
    if isinstance(value, list):
        parts = [f"{draw(blank)}{written(draw, item)}{draw(blank)}" for item in value]
        return "[" + (",".join(parts) or draw(blank)) + "]"
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


@st.composite
def lines(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A line, written oddly, and what it holds."""
    value = draw(st.dictionaries(keys, values, max_size=5))
    text = draw(blank) + written(draw, value) + draw(blank)
    # Half a surrogate pair has no raw form in a file.
    return text.encode("utf-8", "backslashreplace").decode(), value


@given(line=lines(), changes=st.dictionaries(keys, values | st.just(REMOVED), max_size=4))
def test_an_edit_changes_what_was_meant_and_nothing_else(
    line: tuple[str, dict[str, Any]], changes: dict[str, Any]
) -> None:
    text, before = line
    after = edit_line(text, changes)
    expected = dict(before)
    for key, value in changes.items():
        if value is REMOVED:
            expected.pop(key, None)
        else:
            expected[key] = value
    found = json.loads(after)
    # Within a value members may stay in the order that they had.
    assert json.dumps(found, sort_keys=True) == json.dumps(expected, sort_keys=True)
    assert list(found) == list(expected)
    assert "\n" not in after
    assert edit_line(after, changes) == after


@given(line=lines(), key=keys, value=values)
def test_a_change_that_is_taken_back_leaves_other_members_as_they_were(
    line: tuple[str, dict[str, Any]], key: str, value: Any
) -> None:
    text, before = line
    for other in before.keys() - {key}:
        raw = raw_of(text, other)
        assert raw_of(edit_line(text, {key: value}), other) == raw
        assert raw_of(edit_line(text, {key: REMOVED}), other) == raw


def raw_of(text: str, key: str) -> str:
    """The characters of a member's value, found with nothing of the code under test."""
    found: dict[str, str] = {}
    decoder = json.JSONDecoder()
    at = text.index("{") + 1
    while True:
        while text[at] in " \t\r\n,":
            at += 1
        if text[at] == "}":
            return found[key]
        name, at = decoder.raw_decode(text, at)
        at = text.index(":", at) + 1
        while text[at] in " \t\r\n":
            at += 1
        _, end = decoder.raw_decode(text, at)
        found[name], at = text[at:end], end
