"""The rules of matching in words."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pytest_rageval.report.wording import chunk_sentences, rules_text
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import RetrievedChunk
from pytest_rageval.values.settings import Settings, TargetSettings
from tests.analysis.aggregate.test_operational_target_faults import headed, replied, retrieved

ALONE = (
    "without a heading, text or page to compare, such a case is matched by document (doc_hit_at_k)"
)


@pytest.mark.parametrize(
    ("matching", "text"),
    [
        ({}, ""),
        ({"heading": 12}, ""),
        ({"heading": 12, "snippet": 0}, ""),
        (
            {"snippet": 40, "heading": 812, "undecided": 2},
            f"heading 812, snippet 40; 2 by document alone: {ALONE}",
        ),
        ({"undecided": 5}, f"document alone 5: {ALONE}"),
        ({"document": 3}, "document 3"),
        ({"other": 4}, ""),
    ],
)
def test_rules_are_named_unless_headings_decided_alone(matching: dict[str, int], text: str) -> None:
    assert rules_text(matching) == text


# --- sentences on replies that lack retrieved chunks

FIXTURE = ("the rag_client fixture of conftest.py",)


def sentence(
    *records: CaseRecord,
    response: str | Mapping[str, str] | None = None,
    asked: tuple[str, ...] = (),
) -> str:
    settings = Settings(rootdir=".", target=TargetSettings(response=response))
    return "; ".join(chunk_sentences(records, settings, asked))


def chunkless(*keys: str, chunks: tuple[RetrievedChunk, ...] | None = None) -> CaseRecord:
    return replied("a", chunks, keys=keys)


def test_fields_of_an_api_are_to_be_mapped() -> None:
    assert sentence(chunkless("answer", "sources", "chunks")) == (
        "retrieval was not checked: no reply reported retrieved_chunks (1 case has golds); keys "
        "that came: answer, sources, chunks; map them with [tool.rageval.target.response], see "
        "`rageval doctor`"
    )


def test_empty_lists_name_the_expression_of_the_mapping() -> None:
    expression = "output[?type=='x'].results[]"
    for response in ({"retrieved_chunks": expression}, {"debug.retrieved_chunks": expression}):
        found = sentence(chunkless("answer", "output", chunks=()), response=response)
        assert found.startswith(
            "every reply had 0 retrieved chunks (1 case has golds): the mapping"
        )
        assert expression in found
        assert found.endswith("keys that came: answer, output")
    assert expression in sentence(chunkless(chunks=()), response=expression)


def test_headings_that_never_match_are_named_without_their_text() -> None:
    found = sentence(headed("a", "a.md", "B", ()), headed("b", "a.md", None, ()))
    assert found == (
        "no gold matched by its heading: in 2 of 2 cases the document of a gold was retrieved, and "
        "its chunks name other headings than the golds; `rageval doctor` compares those of a case, "
        "`rageval check --target`, or with --rag-url URL, all"
    )
    ordinary_miss = headed("a", "a.md", "B", ())
    assert sentence(ordinary_miss) == ""
    alone = sentence(headed("a", "a.md", None, ()), asked=FIXTURE)
    assert alone.startswith("no gold could be compared by its section: in 1 of 1 case the document")
    assert "name no headings; these cases are matched by document; `rageval doctor`" in alone


def test_names_of_another_kind_are_said_with_the_expression_that_maps_them() -> None:
    records = [retrieved("a", "a.md", "Pumps"), retrieved("b", "b.md", "Oil")]
    found = sentence(*records, response={"retrieved_chunks": "hits[].{rel_path: title}"})
    assert found.startswith(
        "no document of a gold was retrieved in any of 2 cases: if the rel_path"
    )
    assert "mapped by hits[].{rel_path: title}, is another name than that of the golds" in found
