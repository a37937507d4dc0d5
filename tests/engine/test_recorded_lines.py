"""Lines of recorded responses."""

from __future__ import annotations

import json

import pytest

from pytest_rageval.engine.recorded_lines import parse_line
from pytest_rageval.support.reading import Unfit

REPLY = {"answer": "Yes [1]."}


def encoded(line: object) -> bytes:
    return json.dumps(line).encode()


@pytest.mark.parametrize(
    "line",
    [
        {"id": "one"},
        {"response": REPLY},
        {"id": 1, "response": REPLY},
        {"id": "one", "response": REPLY, "repeat": -1},
        {"id": "one", "response": REPLY, "repeat": 1.0},
        [REPLY],
    ],
    ids=repr,
)
def test_a_line_of_another_shape_is_refused(line: object) -> None:
    with pytest.raises(Unfit) as caught:
        parse_line(encoded(line))
    assert {"found", "expected"} <= caught.value.facts.keys()
