""""""

from __future__ import annotations

import json
import time

import pytest

from pytest_rageval.support.json_text import json_objects, survey


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


# --- JSON objects within other text


def test_outermost_objects_come_in_order_with_their_places() -> None:
    text = 'either {"a": {"b": 1}} or {c} or [{"d": "}"}] {"e": '
    found = list(json_objects(text))
    assert [value for _, _, value in found] == [{"a": {"b": 1}}, {"d": "}"}]
    assert [json.loads(text[start:end]) for start, end, _ in found] == [one[2] for one in found]


@pytest.mark.parametrize(
    ("text", "n_objects"),
    [
        ("{" * 1_000_000, 0),
        ('{"a":' * 200_000, 0),
        ('{"<a>' * 150_000, 0),
        ('{"a": 0} {"' * 90_000, None),
        ('{"a": 0}' * 9_999, 9_999),
    ],
)
def test_a_text_of_very_many_braces_costs_no_time(text: str, n_objects: int | None) -> None:
    started = time.process_time()
    found = list(json_objects(text))
    assert n_objects is None or len(found) == n_objects
    assert time.process_time() - started < 4
