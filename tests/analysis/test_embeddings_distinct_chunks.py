from __future__ import annotations

from typing import Any

from pytest_rageval.analysis.embeddings import distinct_chunks
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import RetrievedChunk
from tests.build.records import record
from tests.build.scores import case, chunk


def asked(case_id: str, *chunks: RetrievedChunk, **fields: Any) -> CaseRecord:
    return record(case_id, retrieved_chunks=chunks, **fields)


def test_a_chunk_of_several_replies_counts_once() -> None:
    one = asked("a", chunk("a.md | # A", chunk_id="1", text="t"))
    other = asked("b", chunk("./a.md | # B", chunk_id="1", text="u"), chunk("b.md", text="t"))
    found = [*distinct_chunks([one, other], "sensitive").values()]
    assert [(c.chunk.text, c.document) for c in found] == [
        ("t", (None, "a.md")),
        ("t", (None, "b.md")),
    ]


def test_labels_are_document_folders_and_the_deepest_gold_section() -> None:
    gold = chunk("x/y/a.md | # A > ## B", text="t", matched_golds=(0,))
    deep = asked("a", gold, case=case("x/y/a.md | # A > ## B"))
    shallow = asked("b", gold, case=case("x/y/a.md | # A"))
    (found,) = distinct_chunks([shallow, deep, shallow], "sensitive").values()
    assert found.label("document") == (None, "x/y/a.md")
    assert found.label("folder") == (None, "x", "y")
    assert found.label("top_folder") == (None, "x")
    assert found.label("gold_section") == ((None, "x/y/a.md"), ("a", "b"))
