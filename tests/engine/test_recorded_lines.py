"""Reading a line in one go gives the result of reading it field by field."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.engine import recorded_lines
from pytest_rageval.engine.recorded_lines import file_may_name, read_sound_line
from pytest_rageval.target.contract import parse_ask_response
from pytest_rageval.values.errors import EndpointError

CHUNK: dict[str, Any] = {
    "rel_path": "a.md",
    "heading_path": "# Größe",
    "chunk_id": "7f",
    "vault": None,
    "start_line": 1,
    "end_line": 9,
    "score_vector": 0.1,
    "score_lexical": 3,
    "score_final": 1e-7,
    "text": "naïve 索引 \U0001f600",
    "text_truncated": False,
    "rank": 1,
    "rank_before_rerank": 2,
    "token_count": 40,
    "embedding": [0.5, -1],
    "matched_golds": [3],
    "irrelevant": True,
    "unknown": {"x": [1]},
}
LINE: dict[str, Any] = {
    "id": "one",
    "response": {
        "answer": "Yes [1].",
        "references": [{"rel_path": "a.md"}],
        "debug": {
            "retrieved_chunks": [CHUNK, {"rel_path": "b.md"}],
            "latency": {"total_ms": 3},
            "models": {"prompt_version": 3},
            "indexing_coverage": {"docs_processed": 4},
        },
    },
}


def with_care(text: str) -> object:
    return parse_ask_response(json.loads(text)["response"])


def in_one_go(text: str) -> object:
    found = read_sound_line(text)
    assert found is not None
    return found[2]


def changed(**fields: Any) -> str:
    line = copy.deepcopy(LINE)
    line["response"]["debug"]["retrieved_chunks"][0].update(fields)
    return json.dumps(line)


def ways(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if way:
        yield way
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from ways(item, (*way, key))


# --- what is usual


@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_a_usual_line_gives_the_response_that_careful_reading_gives(ensure_ascii: bool) -> None:
    text = json.dumps(LINE, ensure_ascii=ensure_ascii)
    assert in_one_go(text) == with_care(text)


def test_a_usual_line_names_its_case_and_repeat() -> None:
    found = read_sound_line(json.dumps(LINE | {"repeat": 2, "error": None}))
    assert found is not None
    assert found[:2] == ("one", 2)
    first = read_sound_line(json.dumps(LINE))
    assert first is not None
    assert first[1] == 0


def test_what_a_target_says_of_matching_is_not_read() -> None:
    found = read_sound_line(json.dumps(LINE))
    assert found is not None
    (chunk, _) = found[2].retrieved_chunks or ()
    assert (chunk.matched_golds, chunk.irrelevant, chunk.text_hash) == (None, None, None)


def test_an_integer_score_becomes_a_float() -> None:
    found = read_sound_line(json.dumps(LINE))
    assert found is not None
    (chunk, _) = found[2].retrieved_chunks or ()
    assert isinstance(chunk.score_lexical, float)


def test_the_last_of_two_equal_keys_counts() -> None:
    twice = '{"rel_path": "first.md", ' + '"rel_path": "second.md"}'
    text = json.dumps(LINE).replace('{"rel_path": "b.md"}', twice)
    assert in_one_go(text) == with_care(text)


@pytest.mark.parametrize("fields", [{"text_truncated": None}, {"text_truncated": 1}], ids=repr)
def test_a_chunk_is_mended_as_careful_reading_mends_it(fields: dict[str, Any]) -> None:
    assert in_one_go(changed(**fields)) == with_care(changed(**fields))


# --- what is left to careful reading


@pytest.mark.parametrize(
    "fields",
    [
        {"rel_path": None},
        {"rel_path": 7},
        {"heading_path": 7},
        {"heading_path": "\ud800"},
        {"vault": True},
        {"text": []},
        {"rank": True},
        {"chunk_id": 7},
        {"score_final": "0.5"},
        {"score_final": True},
        {"score_final": float("nan")},
        {"score_final": float("inf")},
        {"score_final": 10**400},
        {"start_line": 1.0},
        {"start_line": 10**16},
        {"rank": "1"},
        {"embedding": []},
        {"embedding": [1.0, None]},
    ],
    ids=repr,
)
def test_a_chunk_that_is_wrong_or_to_be_mended_is_left_alone(fields: dict[str, Any]) -> None:
    assert read_sound_line(changed(**fields)) is None


@pytest.mark.parametrize(
    "line",
    [
        {"id": "one"},
        {"response": LINE["response"]},
        LINE | {"id": 1},
        LINE | {"repeat": -1},
        LINE | {"repeat": 1.0},
        LINE | {"error": {"kind": "timeout"}},
        LINE | {"response": None},
        LINE | {"response": {"debug": {"retrieved_chunks": []}}},
        LINE | {"response": {"answer": "", "debug": {"retrieved_chunks": {}}}},
        [LINE],
    ],
    ids=repr,
)
def test_a_line_of_another_shape_is_left_alone(line: object) -> None:
    assert read_sound_line(json.dumps(line)) is None


def test_what_is_cut_short_is_left_alone() -> None:
    text = json.dumps(LINE)
    assert [read_sound_line(text[:end]) for end in range(len(text))] == [None] * len(text)


# --- whatever comes


def test_what_is_read_in_one_go_never_departs_from_careful_reading() -> None:
    rng = random.Random(20260104)
    values: tuple[Any, ...] = (
        None,
        True,
        0,
        -3,
        2.0,
        10**15,
        10**16,
        10**400,
        float("nan"),
        -0.0,
        "",
        "1.5",
        "x",
    )
    values += ("\ud800", [], [1, 2.5], ["1"], {}, {"a": 1})
    places = list(ways(LINE["response"]))
    n_read = 0
    for _ in range(3000):
        line = copy.deepcopy(LINE)
        *outer, last = rng.choice(places)
        within = line["response"]
        for key in outer:
            within = within[key]
        within[last] = rng.choice(values)
        text = json.dumps(line, ensure_ascii=True)
        if read_sound_line(text) is not None:
            n_read += 1
            assert _outcome(in_one_go, text) == _outcome(with_care, text), text
    assert n_read > 500


def test_a_damaged_text_is_never_read_as_anything_but_what_json_says() -> None:
    rng = random.Random(20260105)
    whole = json.dumps(LINE, ensure_ascii=False)
    n_read = 0
    for _ in range(5000):
        at = rng.randrange(len(whole))
        text = whole[:at] + rng.choice('{}[]",:0-.eE\\ NIn\x00\t\x7f') + whole[at + 1 :]
        if read_sound_line(text) is not None:
            n_read += 1
            assert _outcome(in_one_go, text) == _outcome(with_care, text), text
    assert n_read > 500


def _outcome(read: Any, text: str) -> str:
    try:
        return repr(read(text))
    except EndpointError as error:
        return error.message


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


def test_a_file_that_cannot_be_read_may_name_anything(tmp_path: Path) -> None:
    assert file_may_name(b'"pages"', tmp_path / "none.jsonl")
