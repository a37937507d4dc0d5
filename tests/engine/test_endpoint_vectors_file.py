from __future__ import annotations

from contextlib import chdir
from pathlib import Path

import pytest

from pytest_rageval.engine.endpoint import load_vectors
from pytest_rageval.values.errors import DatasetError
from tests.build.files import write_lines
from tests.build.scores import chunk


def faults(path: Path, *lines: object) -> list[str]:
    write_lines(path, *lines)
    with chdir(path.parent), pytest.raises(DatasetError) as caught:
        load_vectors(Path(path.name))
    return str(caught.value).splitlines()


def test_vectors_are_found_by_text_and_by_chunk_id(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "v.jsonl",
        {"text": "one", "embedding": [1, 0.5]},
        "",
        {"chunk_id": "c1", "embedding": [0, -1e3], "model": "m"},
        {"chunk_id": "c2", "text": "two", "embedding": [3, 4]},
        {"text": "one", "embedding": [1.0, 0.5]},
    )
    table = load_vectors(path)
    assert {key: v.tolist() for key, v in table.by_text.items()} == {"one": [1, 0.5], "two": [3, 4]}
    assert sorted(table.by_chunk_id) == ["c1", "c2"]
    by_id, by_text = chunk("a.md", chunk_id="c1", text="one"), chunk("a.md", text="one")
    for found, expected in ((by_id, [0, -1000]), (by_text, [1, 0.5])):
        vector = table.of_chunk(found)
        assert vector is not None
        assert vector.tolist() == expected
    assert table.of_chunk(chunk("a.md", chunk_id="c9", text="three")) is None


def test_every_faulty_line_is_named(tmp_path: Path) -> None:
    expected = 'expected {"text" or "chunk_id": a string, "embedding": a list of numbers}'
    huge = "1" + "0" * 400
    assert faults(
        tmp_path / "v.jsonl",
        {"text": "one", "embedding": [1, 0]},
        [],
        '{"text" 1}',
        {"embedding": [1, 0]},
        {"text": 7, "embedding": [1, 0]},
        {"text": "", "embedding": [1, 0]},
        {"text": "a"},
        {"text": "b", "embedding": "1, 0"},
        {"text": "c", "embedding": []},
        {"text": "d", "embedding": [1, True]},
        {"text": "e", "embedding": [1, "0"]},
        {"text": "f", "embedding": [1, 0, 0]},
        '{"text": "g", "embedding": [1, NaN]}',
        f'{{"text": "h", "embedding": [1, {huge}]}}',
        {"text": "one", "embedding": [1, 1]},
    ) == [
        f"v.jsonl:2: got [], {expected}",
        f"v.jsonl:3: not JSON: Expecting ':' delimiter at column 9, {expected}",
        f"v.jsonl:4: text and chunk_id missing, {expected}",
        "v.jsonl:5: text: got 7, expected a string that is not empty",
        'v.jsonl:6: text: got "", expected a string that is not empty',
        "v.jsonl:7: embedding: missing",
        'v.jsonl:8: embedding: got "1, 0", expected a list of at least 1',
        "v.jsonl:9: embedding: got [], expected a list of at least 1",
        "v.jsonl:10: embedding[1]: got true, expected a finite number",
        'v.jsonl:11: embedding[1]: got "0", expected a finite number',
        "v.jsonl:12: embedding: got 3 numbers, expected 2 as above",
        "v.jsonl:13: embedding[1]: got NaN, expected a finite number",
        f"v.jsonl:14: embedding[1]: got 1{'0' * 56}..., expected a finite number",
        "v.jsonl:15: text: 'one' has a different vector on an earlier line",
    ]
