"""JSON objects within other text."""

from __future__ import annotations

import json
import time

import pytest

from pytest_rageval.support.json_text import json_objects


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
