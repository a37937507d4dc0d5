from __future__ import annotations

import json

import pytest

from pytest_rageval.support.json_text import survey


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"a": {"b": 1, "b": 1}}',
        '{"a": ": one", "b": [{"c": 1}, {"c" : 1, "c": 2}]}',
        '{"a": ":", "a": 1}',
        "[NaN]",
        "[-Infinity]",
        "[1e999]",
        r'["\ud800"]',
        r'{"\uDC00": 1}',
        r'["\ud83d \ude00"]',
    ],
)
def test_what_readers_disagree_about_is_named(text: str) -> None:
    assert len(survey(text)[1]) == 1


def test_a_survey_leaves_out_keys_that_no_schema_could_name() -> None:
    value, unfit = survey(r'{"a": {"\ud800": 1, "b": 2}, "\udc00": 3}')
    assert value == {"a": {"b": 2}}
    assert [one.loc for one in unfit] == [("\udc00",), ("a", "\ud800")]


@pytest.mark.parametrize(
    ("text", "error"), [("{", json.JSONDecodeError), ("[" * 200_000, RecursionError)]
)
def test_what_is_no_json_is_no_unfit_json(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        survey(text)


def test_every_fault_is_named_with_its_path() -> None:
    found = survey('{"a": 1, "b": [{"c": 2, "c": NaN}], "a": 3}')
    assert [(one.loc, one.field, one.code) for one in found[1]] == [
        (("a",), "a", "duplicate_key"),
        (("b", 0, "c"), "b[0].c", "duplicate_key"),
        (("b", 0, "c"), "b[0].c", "not_finite"),
    ]
