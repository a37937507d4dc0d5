from __future__ import annotations

import time

import pytest

from pytest_rageval.metrics.citation_markers import ChunkIds
from pytest_rageval.metrics.prepared import PreparedAnswer
from pytest_rageval.values.reply import RetrievedChunk

CHUNKS = [
    RetrievedChunk(rel_path="shop.md", chunk_id="4be81f07-91c2-5d0e-8a61-0f6b2c1d9e33"),
    RetrievedChunk(rel_path="fees.md", chunk_id="93ce0282-7a10-5b6f-9f4e-5d21c0a7b844"),
]
NAMED = [
    RetrievedChunk(rel_path="a.md", chunk_id="a-100#1"),
    RetrievedChunk(rel_path="a.md", chunk_id="a-100#2"),
    RetrievedChunk(rel_path="b.md", chunk_id="7"),
]


def read(answer: str, chunks: list[RetrievedChunk] = CHUNKS) -> str:
    return PreparedAnswer(answer, list(ChunkIds(chunks).markers(answer))).read


@pytest.mark.parametrize(
    ("answer", "ours"),
    [
        ("At nine [93ce028].", "At nine [2]."),
        ("At nine[4be81f0][93ce028].", "At nine[1][2]."),
        ("At nine [4be81f0, 93ce028].", "At nine [1][2]."),
        ("At nine 【4BE81F07】.", "At nine [1]."),
        ("At nine [citation:93ce0282-7a10-5b6f-9f4e-5d21c0a7b844].", "At nine [2]."),
        ("At nine [citation:4be81f07, citation:93ce0282].", "At nine [1][2]."),
        ("At nine (citation: 4be81f07).", "At nine [1]."),
        ("At nine [id: 4be81f0…].", "At nine [1]."),
        ("At nine [citation:2].", "At nine [2]."),
        ("At nine [citation:gone].", "At nine [0]."),
        ("At nine [deadbee7].", "At nine [0]."),
    ],
)
def test_an_id_or_its_beginning_is_a_citation(answer: str, ours: str) -> None:
    assert read(answer) == ours


@pytest.mark.parametrize(
    "answer", ["At nine [see below].", "At nine [1].", "items[0]", "[defaced]", "[93ce]", "[1, 2]"]
)
def test_other_brackets_stay(answer: str) -> None:
    assert read(answer) == answer


def test_ids_of_other_kinds_are_names_too() -> None:
    assert read("One [a-100#2], two [a-100#], three [7], four [citation:7].", NAMED) == (
        "One [2], two [File: a.md], three [7], four [3]."
    )
    assert read("One [deadbee7].", NAMED) == "One [deadbee7]."


@pytest.mark.parametrize(
    ("answer", "ours"),
    [
        ("[123] [1234]", "[123] [3]"),  # three digits are a number of a chunk
        ("[id: 123] [chunk_id=1234]", "[2] [3]"),
        ("[citation:999] [citation:1000]", "[999] [0]"),
        ("[cite: A-10000]", "[1]"),  # the first chunk of an id
        ("[d-3000] [d-300]", "[8] [d-300]"),  # a beginning has six characters
        ("[a-10000, ] [a-10000, why]", "[1] [a-10000, why]"),
        ("[b-20000] [b-2000]", "[7] [b-2000]"),  # the beginning of ids of two documents
        ("['a-10001'] [a-10001...]", "[5] [5]"),
    ],
)
def test_an_id_names_the_first_chunk_that_has_it(answer: str, ours: str) -> None:
    ids = ("a-10000", "123", "1234", "a-10000", "a-10001", "b-20001", "b-20000", "d-30000")
    paths = ("a.md", "n.md", "n.md", "a.md", "c.md", "b.md", "c.md", "d.md")
    pairs = zip(paths, ids, strict=True)
    assert read(answer, [RetrievedChunk(rel_path=p, chunk_id=i) for p, i in pairs]) == ours


def test_a_rank_of_more_than_three_digits_is_read_as_nothing() -> None:
    chunks = [RetrievedChunk(rel_path="a.md", chunk_id=f"id{n:06}") for n in range(1, 1001)]
    assert read("[id000999] [id001000]", chunks) == "[999] [0]"


def test_without_chunks_only_the_word_citation_marks_one() -> None:
    assert read("One [citation:4be81f07] [4be81f07].", []) == "One [0] [4be81f07]."


@pytest.mark.parametrize("run", ["[", "[4be81f0,", "[[[]", "[a ", "citation:", "(citation:"])
def test_the_time_grows_with_the_length_alone(run: str) -> None:
    started = time.process_time()
    read(run * (300_000 // len(run)))
    assert time.process_time() - started < 5
