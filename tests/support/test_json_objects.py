"""JSON objects within other text."""

from __future__ import annotations

import json
import time

import pytest

from pytest_rageval.support.json_objects import json_objects


def test_outermost_objects_come_in_order_with_their_places() -> None:
    text = 'either {"a": {"b": 1}} or {c} or [{"d": "}"}] {"e": '
    found = list(json_objects(text))
    assert [value for _, _, value in found] == [{"a": {"b": 1}}, {"d": "}"}]
    assert [json.loads(text[start:end]) for start, end, _ in found] == [one[2] for one in found]


@pytest.mark.parametrize("text", ["{" * 200_000, '{"a":' * 200_000, '{"a": 0} ' * 100_000])
def test_a_text_of_very_many_braces_costs_no_time(text: str) -> None:
    started = time.process_time()
    assert len(list(json_objects(text))) <= 1_000
    assert time.process_time() - started < 2
