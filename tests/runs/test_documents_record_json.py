from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.matching import text_hash
from pytest_rageval.runs.documents import record_line, record_of_line, redact
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.lenient import MOST_AMOUNT
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import (
    Citation,
    ErrorInfo,
    FolderSelection,
    RetrievedChunk,
    Search,
)
from pytest_rageval.values.verdict import Claim
from tests.build.first_use import exit_code_of_first_uses
from tests.build.records import changed, failed, record
from tests.build.verdicts import called, judged_by

RECORD = record(
    "a/1",
    {"recall_at_k": 1.0, "groundedness": None},
    file="evals/eval_set.jsonl",
    case_hash="0123456789abcdef",
    question="Why?",
    answer="Because.",
    retrieved_chunks=(RetrievedChunk(rel_path="a.md", text="short"),),
    not_applicable={"groundedness": "no judge"},
    latency={"total_ms": 12.5},
)


def back(one: CaseRecord) -> CaseRecord:
    """Record as it comes back from its line."""
    return record_of_line(record_line(one))


def line_of(one: CaseRecord) -> dict[str, Any]:
    """JSON object of a record's line."""
    line: dict[str, Any] = json.loads(record_line(one))
    return line


# Any text of UTF-8, line separators included.
TEXT = st.text(max_size=20)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
AMOUNT = st.floats(-MOST_AMOUNT, MOST_AMOUNT)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
SCORE = st.none() | NUMBER
CHUNKS = st.lists(
    st.builds(
        RetrievedChunk,
        rel_path=TEXT,
        text=st.none() | TEXT,
        score_vector=SCORE,
        score_lexical=SCORE,
        score_final=SCORE,
        matched_golds=st.none() | st.lists(st.integers(min_value=0)).map(tuple),
    ),
    max_size=3,
).map(tuple)
CITATIONS = st.lists(st.from_type(Citation), max_size=2).map(tuple)


def records() -> st.SearchStrategy[CaseRecord]:
    texts = st.dictionaries(TEXT, TEXT, max_size=2)
    scores = st.dictionaries(TEXT, AMOUNT, max_size=3)
    # Hypothesis tries the texts of the package as well, of which some name a metric with a scale.
    own = TEXT.filter(lambda name: name not in BUILT_IN.cases)
    return st.builds(
        record,
        case_id=TEXT,
        file=TEXT,
        lineno=st.integers(),
        case_hash=TEXT,
        repeat=st.integers(),
        status=st.sampled_from(["ok", "error"]),
        outcome=st.sampled_from(["passed", "missed", "error"]),
        k=st.integers(min_value=1, max_value=2**53),
        answer=st.none() | TEXT,
        question=TEXT,
        metrics=st.dictionaries(own, st.none() | AMOUNT, max_size=3),
        latency=st.dictionaries(TEXT, AMOUNT, max_size=3),
        judgements=st.builds(judged_by, TEXT, scores, reasoning=TEXT),
        not_applicable=texts,
        models=texts,
        indexing_coverage=st.none() | st.dictionaries(TEXT, PLAIN, max_size=3),
        retrieved_chunks=st.none() | CHUNKS,
        references=st.none() | CITATIONS,
        citations=st.none() | CITATIONS,
        folder_selection=st.none() | st.from_type(FolderSelection),
        error=st.none()
        | st.builds(
            ErrorInfo,
            facts=st.dictionaries(TEXT, TEXT | st.integers(-(2**63), 2**63 - 1), max_size=3),
        ),
        tags=st.lists(TEXT, max_size=2).map(tuple),
    )


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(records())
def test_a_record_comes_back_from_its_line_as_it_was(one: CaseRecord) -> None:
    assert back(one) == one


def test_a_line_has_the_parts_of_the_record_by_their_names() -> None:
    line = line_of(RECORD)
    assert list(line)[:2] == ["schema_version", "case"]
    assert line["case"]["id"] == "a/1"
    assert line["scores"]["metrics"] == {"recall_at_k": 1.0, "groundedness": None}


class Text(str):
    __slots__ = ()


def test_text_that_is_no_plain_string_of_utf_8_is_stored_as_well() -> None:
    assert back(changed(RECORD, answer=Text("é"))).answer == "é"
    halves = "a\ud800b", "\udfff", "\\ud800 \U0001f600 \ud83d"
    assert [back(changed(RECORD, answer=text)).answer for text in halves] == [*halves]


@pytest.mark.parametrize("field", ["metrics", "latency", "usage"])
@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_json_lacks_never_becomes_null(field: str, number: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        record_line(changed(RECORD, **{field: {"a": 1.0, "b": number}}))


def test_verdicts_come_back_as_they_were() -> None:
    claims = (Claim(text="a", supported=True, passage=1), Claim(text="b", supported=False))
    first = judged_by(scores={"groundedness": 2.5}, claims=claims) | called(10, cached=True)
    second = {"groundedness": None, **judged_by("correctness", error=("refused", "no"))}
    one = changed(record("q"), judgements=first, spot_check=second, context_chunk_ids=("a", None))
    assert back(one) == one


def test_usage_session_and_searches_come_back() -> None:
    usage = {"input_tokens": 812.0, "cost_usd": 0.01}
    for searches in ((), (Search(query="q", tool="t", chunks=("a",)), Search())):
        one = changed(RECORD, usage=usage, session="s-1", searches=searches)
        assert back(one) == one
    for chunks in (None, ()):  # which stay apart
        none = changed(RECORD, retrieved_chunks=chunks)
        assert back(none).reply.retrieved_chunks == chunks


def test_a_field_that_a_line_lacks_has_its_default() -> None:
    line = line_of(changed(RECORD, error=ErrorInfo(kind="empty", message="m")))
    del line["error"]["traceback"], line["response"]["reply_keys"]
    read = record_of_line(json.dumps(line))
    assert read.error is not None
    assert (read.error.traceback, read.reply.reply_keys) == ("", ())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"schema_version": 2}, "Invalid enum value 2 - at `$.schema_version`"),
        ({"scores": {"metrics": {}, "not_applicable": {}, "outcome": "won"}},
         "Invalid enum value 'won' - at `$.scores.outcome`"),
        ({"k": "many"}, "Expected `int`, got `str` - at `$.k`"),
        ({"response": {"answer": "", "retrieved_chunks": [{}]}},
         "Object missing required field `rel_path` - at `$.response.retrieved_chunks[0]`"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named(line: dict[str, Any], message: str) -> None:
    with pytest.raises(StorageError, match=f"^{re.escape(message)}"):
        record_of_line(json.dumps({**line_of(RECORD), **line}))


@pytest.mark.parametrize(
    "line",
    [b"[]", b'{"case":' * 5000, b'{"a": "\xae"}', b'{"schema_version": 1, "file": "\\ud800"}'],
    ids=["list", "nested", "not UTF-8", "half of a surrogate pair"],
)
def test_a_line_that_holds_no_record_is_refused(line: bytes) -> None:
    with pytest.raises(StorageError):
        record_of_line(line)


# --- redaction -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "kept", "cut"), [(0, 0, False), (200, 200, False), (201, 200, True)]
)
def test_a_chunk_beyond_k_keeps_two_hundred_characters(length: int, kept: int, cut: bool) -> None:
    chunk = RetrievedChunk(rel_path="a.md", text="é" * length)
    record = redact(changed(RECORD, retrieved_chunks=(chunk,) * 3, k=2), full_text=False)
    assert record.reply.retrieved_chunks is not None
    *judged, stored = record.reply.retrieved_chunks
    assert judged == [chunk, chunk]
    assert stored.text == "é" * kept
    assert stored.text_truncated is cut
    full = changed(RECORD, retrieved_chunks=(chunk,), k=0)
    assert redact(full, full_text=True).reply.retrieved_chunks == (chunk,)


@pytest.mark.parametrize(
    ("length", "kept", "full_text"),
    [(100_000, 100_000, False), (100_001, 100_000, False), (100_001, 100_000, True)],
)
def test_a_long_answer_is_cut_and_its_length_kept(length: int, kept: int, full_text: bool) -> None:
    stored = redact(changed(RECORD, answer="x" * length), full_text=full_text)
    assert stored.answer is not None
    assert len(stored.answer) == kept
    assert stored.answer_chars == length


def test_a_cut_chunk_has_the_hash_of_its_whole_also_when_it_is_cut_again() -> None:
    chunk = RetrievedChunk(rel_path="a.md", text="é" * 201, embedding=(1.0,))
    whole = changed(RECORD, retrieved_chunks=(chunk, chunk), k=1)
    once = redact(whole, full_text=False)
    first, second = once.reply.retrieved_chunks or ()
    assert first == replace(chunk, embedding=None)
    assert second.text_hash == text_hash("é" * 201)
    assert redact(once, full_text=False) is once
    unanswered = failed("a", "timeout")
    assert redact(unanswered, full_text=False) is unanswered
    (again,) = (
        redact(
            changed(RECORD, retrieved_chunks=(replace(second, text="é" * 300),), k=0),
            full_text=False,
        ).reply.retrieved_chunks
        or ()
    )
    assert again == second


def test_the_first_records_may_be_read_on_several_threads_at_once() -> None:
    line = record_line(record("a", {"mrr": 1.0}))
    read = f"module.record_of_line({line!r})"
    assert exit_code_of_first_uses("pytest_rageval.runs.documents", read) == 0
