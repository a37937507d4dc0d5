"""Lines of recorded responses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_rageval.engine import recorded_lines
from pytest_rageval.engine.recorded_lines import file_may_name, parse_line
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


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (b'{"x": 1, "pages": [3]}', True),
        (b'{"x": 1, "p\\u0061ges": [3]}', True),
        (b'{"x": 1, "\\u0070ages": [3]}', True),
        (b'{"x": "How many pages?"}', False),
        (b"", False),
    ],
)
def test_a_field_is_found_in_a_file_wherever_its_blocks_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes, named: bool
) -> None:
    (tmp_path / "cases.jsonl").write_bytes(text)
    for size in range(len(b'"pages"'), 30):
        monkeypatch.setattr(recorded_lines, "_BLOCK", size)
        assert file_may_name(b'"pages"', tmp_path / "cases.jsonl") is named
