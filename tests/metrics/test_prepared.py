from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.metrics.prepared import STATED, PreparedAnswer, Span, merged
from pytest_rageval.metrics.view import prepare
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import AskResponse, RetrievedChunk

CHUNKS = (
    RetrievedChunk(rel_path="docs/shop.md", chunk_id="4be81f07"),
    RetrievedChunk(rel_path="docs/fees.md", chunk_id="93ce0282"),
)


def prepared(answer: str) -> PreparedAnswer:
    return prepare(AskResponse(answer=answer), CHUNKS, ScoreSettings())


def parts(answer: str) -> list[tuple[str, str]]:
    found = prepared(answer)
    return [(one.kind, answer[one.start : one.end].strip()) for one in found.spans]


def test_an_answer_has_parts_of_each_kind() -> None:
    answer = (
        "<think>Nine or ten [2]?</think>Hello! Certainly. The shop opens at nine [4be81f0].\n\n"
        "Sources:\n- fees.md\n\nLet me know if you need more."
    )
    assert [one for one in parts(answer) if one[1]] == [
        ("thought", "<think>Nine or ten [2]?</think>"),
        ("greeting", "Hello!"),
        ("lead_in", "Certainly."),
        ("prose", "The shop opens at nine"),
        ("marker", "[4be81f0]"),
        ("prose", "."),
        ("sources", "Sources:\n- fees.md"),
        ("farewell", "Let me know if you need more."),
    ]
    found = prepared(answer)
    assert found.text(STATED).split() == ["The", "shop", "opens", "at", "nine", "[1]."]
    assert found.visible == answer.removeprefix("<think>Nine or ten [2]?</think>")


def test_yes_within_a_list_is_prose() -> None:
    assert [kind for kind, _ in parts("Allowed are:\n- Dogs\n- Yes\n")] == ["prose"]


def test_entries_of_a_list_are_citations_where_nothing_else_cites() -> None:
    only = prepared("At nine.\n\nSources:\n- shop.md\n- [1] fees.md\n- other.md")
    assert only.cited.count("[File: docs/") == 2
    assert "[1]" not in only.cited
    both = prepared("At nine [1].\n\nSources:\n- [2] fees.md")
    assert both.cited.split() == ["At", "nine", "[1]."]
    assert both.read == "At nine [1].\n\nSources:\n- [File: docs/fees.md]"


@pytest.mark.parametrize(
    "entries",
    [
        "- docs/fees.md, page 3",
        "* [Fees](docs/fees.md)",
        "1. **fees.md**",
        "[7] fees.md - all fees",
        "unknown.md, fees.md",
    ],
)
def test_an_entry_names_what_was_retrieved_in_any_form(entries: str) -> None:
    assert "[File: docs/fees.md]" in prepared(f"At nine.\n\nSources:\n{entries}").cited


WORDS = st.sampled_from(
    "<think> </think> Hello! Yes. Sources: References - [1] [93ce028] shop.md ` ``` \n . ! nine "
    "[citation:x] Source: https://a.example/b 参考 Viele Grüße , ? ( ) # ★ \ud800 \r\n".split(" ")
)


@given(st.lists(WORDS, max_size=30).map(" ".join))
def test_parts_are_the_whole_answer_in_order(answer: str) -> None:
    found = prepared(answer)
    assert "".join(answer[one.start : one.end] for one in found.spans) == answer
    assert all(one.start < one.end for one in found.spans)
    assert len(found.cited) + len(found.read) + len(found.visible) >= 0


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 5)), max_size=8))
def test_merged_spans_do_not_overlap(starts: list[tuple[int, int]]) -> None:
    spans = merged([], [])
    for start, length in sorted(starts):
        spans = merged(spans, [Span("marker", start, start + length)])
    assert all(one.end <= after.start for one, after in pairwise(spans))


@pytest.mark.parametrize(
    "run",
    [
        "<think>a</think>b ",
        "<think>",
        "[1] ",
        "[4be81f0] ",
        "Hello! ",
        "Sources:\n- a.md\n",
        "`",
        "[File: a",
        ". ",
        "[citation:x](",
        "File: a.b, Section: c ",
        "yes, ",
    ],
)
def test_the_time_grows_with_the_length_alone(run: str) -> None:
    answer = f"It is. {run * (300_000 // len(run))}"
    started = time.process_time()
    found = prepared(answer)
    assert len(found.spans) >= 1
    assert found.cited
    assert time.process_time() - started < 15
