from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.runs import record_json
from pytest_rageval.runs.record_json import (
    record_from_json,
    record_line,
    record_to_json,
    redact,
)
from pytest_rageval.runs.slim import Slimmer
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
from tests.build.first_use import exit_code_of_first_uses
from tests.build.records import changed, record

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

CONTRACT = """
case_id file case_hash repeat status error outcome failure_stage question answer references
citations abstained abstain_reason retrieved_chunks folder_selection metrics not_applicable
groundedness correctness abstention latency cost judge_input indexing_coverage
""".split()


def test_a_line_has_every_key_of_the_contract_even_without_a_judge() -> None:
    assert set(CONTRACT) - record_to_json(RECORD).keys() == set()


# Any text at all, half surrogate pairs and line separators included.
TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
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
        cost=st.dictionaries(TEXT, st.none() | AMOUNT, max_size=3),
        not_applicable=texts,
        models=texts,
        indexing_coverage=st.none() | st.dictionaries(TEXT, PLAIN, max_size=3),
        retrieved_chunks=st.none() | CHUNKS,
        references=st.none() | CITATIONS,
        citations=st.none() | CITATIONS,
        folder_selection=st.none() | st.from_type(FolderSelection),
        error=st.none() | st.from_type(ErrorInfo),
        tags=st.lists(TEXT, max_size=2).map(tuple),
    )


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(records())
def test_a_record_comes_back_from_its_json_text_as_it_was(one: CaseRecord) -> None:
    line = json.dumps(record_to_json(one), allow_nan=False)
    assert record_from_json(json.loads(line)) == one


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(records())
def test_the_line_of_a_record_holds_its_json_values_in_their_order(one: CaseRecord) -> None:
    line, expected = json.loads(record_line(one)), record_to_json(one)
    assert line == expected
    assert list(line) == list(expected)
    assert json.dumps(line) == json.dumps(expected)


def test_a_line_is_spelled_as_json_spells_it() -> None:
    one = changed(RECORD, tags=("é", '"', "\u2028"), latency={"total_ms": 1.0})
    line = record_line(one).decode()
    assert line == json.dumps(record_to_json(one), ensure_ascii=False)


@pytest.mark.parametrize("field", ["metrics", "latency", "cost", "usage"])
@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_json_lacks_never_becomes_null(field: str, number: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        record_line(changed(RECORD, **{field: {"a": 1.0, "b": number}}))


def test_what_a_judge_leaves_needs_no_second_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    cost = {"judge_prompt_tokens": 10, "judge_cost_usd": None, "cached": True}
    judged = changed(record("q"), cost=cost)

    def refused(*_: object) -> CaseRecord:
        raise AssertionError("read with care")

    monkeypatch.setattr(record_json, "_read_with_care", refused)
    assert record_from_json(json.loads(record_line(judged))).verdicts.cost == cost


def test_a_line_says_its_schema_version_first() -> None:
    document = record_to_json(RECORD)
    assert next(iter(document.items())) == ("schema_version", 1)


def test_the_fields_of_a_reply_and_the_place_of_an_error_come_back() -> None:
    error = ErrorInfo(kind="empty", message="m", traceback="conftest.py:1: in f")
    one = changed(RECORD, reply_keys=("answer", "docs"), error=error, status="error")
    assert record_from_json(json.loads(json.dumps(record_to_json(one)))) == one


def test_usage_session_and_searches_come_back_and_are_left_out_where_they_are_not_reported() -> (
    None
):
    usage = {"input_tokens": 812.0, "cost_usd": 0.01}
    for searches in ((), (Search(query="q", tool="t", chunks=("a",)), Search())):
        one = changed(RECORD, usage=usage, session="s-1", searches=searches)
        assert record_from_json(json.loads(json.dumps(record_to_json(one)))) == one
    assert not {"usage", "session", "searches"} & record_to_json(RECORD).keys()


def test_a_line_of_an_older_version_lacks_both() -> None:
    document = record_to_json(changed(RECORD, error=ErrorInfo(kind="empty", message="m")))
    assert "reply_keys" not in document
    del document["error"]["traceback"]
    read = record_from_json(document)
    assert read.error is not None
    assert read.response is not None
    assert (read.error.traceback, read.response.reply_keys) == ("", ())


def test_an_absent_list_and_an_empty_one_stay_apart() -> None:
    for chunks in (None, ()):
        record = changed(RECORD, retrieved_chunks=chunks)
        assert record_from_json(record_to_json(record)).reply.retrieved_chunks == chunks


def test_a_field_that_is_not_known_is_left_out() -> None:
    assert record_from_json({**record_to_json(RECORD), "later": 1}) == RECORD


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema_version": 2}, "schema_version: got 2, expected 1"),
        ({"schema_version": None}, "schema_version: got None, expected 1"),
        ({"outcome": "won"}, "outcome: Input should be 'passed', 'flawed', 'missed' or 'error'"),
        ({"k": "many"}, "k: Input should be a valid integer"),
        ({"retrieved_chunks": [{}]}, "retrieved_chunks.0.rel_path: "),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(StorageError) as caught:
        record_from_json({**record_to_json(RECORD), **change})
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k: got 0, expected an integer of at least 1"),
        ({"k": 2**64}, f"k: got {2**64}, expected an integer of at least 1 and at most {2**53}"),
        ({"latency": {"total_ms": 1e308}}, "latency.total_ms: got 1e+308, expected 1e+12 at most"),
        ({"usage": {"cost_usd": -1e13}}, "usage.cost_usd: got -10000000000000.0, expected 1e+12"),
        ({"cost": {"judge_cost_usd": 1e13}}, "cost.judge_cost_usd: got 10000000000000.0"),
        ({"metrics_before_rerank": {"mrr": 1e308}}, "metrics_before_rerank.mrr: got 1e+308"),
        ({"gold_supports": [{"rel_path": "a.md", "grade": 0}]}, "case.gold_supports.0.grade: got"),
        ({"gold_supports": [{"rel_path": "a.md", "grade": 10**400}]}, "case.gold_supports.0.grade"),
        ({"retrieved_chunks": [{"rel_path": "a.md", "matched_golds": [0, -1]}]},
         "retrieved_chunks.0.matched_golds: got (0, -1), expected indices of at least 0"),
        ({"required_support_groups": []}, "case.required_support_groups: got (), expected groups"),
        ({"required_support_groups": [[]]}, "case.required_support_groups: got ((),)"),
        ({"required_support_groups": [[0], [1]]}, "case.required_support_groups: got ((0,), (1,))"),
        ({"required_support_groups": [[-1]]}, "case.required_support_groups: got ((-1,),)"),
    ],
)  # fmt: skip
def test_a_value_that_no_case_and_no_reply_can_have_is_refused(
    change: dict[str, Any], message: str
) -> None:
    line = record_to_json(replace(RECORD, case_stored=True))
    line["case"] |= {"gold_supports": [{"rel_path": "a.md"}]}
    assert record_from_json(line).case.gold_supports
    for name, value in change.items():
        (line if name in line or name == "usage" else line["case"])[name] = value
    with pytest.raises(StorageError, match=f"^{re.escape(message)}"):
        record_from_json(line)
    with pytest.raises(StorageError, match=f"^{re.escape(message)}"):
        Slimmer()(json.dumps(line).encode())


def test_a_name_with_half_of_a_surrogate_pair_is_read_and_written() -> None:
    line = record_to_json(RECORD)
    line["latency"] = {**line["latency"], "\ud800": 1.0}
    assert json.loads(record_line(record_from_json(line)))["latency"] == line["latency"]


def test_a_missing_field_is_named() -> None:
    document = record_to_json(RECORD)
    del document["case_id"]
    with pytest.raises(StorageError, match="case_id"):
        record_from_json(document)


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


def test_a_chunk_that_came_truncated_stays_so() -> None:
    chunk = RetrievedChunk(rel_path="a.md", text="x", text_truncated=True)
    record = changed(RECORD, retrieved_chunks=(chunk, RetrievedChunk(rel_path="b.md")))
    assert redact(record, full_text=False).reply.retrieved_chunks == record.reply.retrieved_chunks


def test_full_text_keeps_chunks_whole() -> None:
    chunk = RetrievedChunk(rel_path="a.md", text="x" * 1000)
    record = changed(RECORD, retrieved_chunks=(chunk,))
    assert redact(record, full_text=True).reply.retrieved_chunks == (chunk,)


@pytest.mark.parametrize(
    ("length", "kept"), [(99_999, 99_999), (100_000, 100_000), (100_001, 100_000)]
)
@pytest.mark.parametrize("full_text", [False, True])
def test_a_long_answer_is_cut_and_its_length_kept(length: int, kept: int, full_text: bool) -> None:
    stored = redact(changed(RECORD, answer="x" * length), full_text=full_text)
    assert stored.answer is not None
    assert len(stored.answer) == kept
    assert stored.answer_chars == length


def test_the_answer_as_the_input_of_a_judge_is_cut_like_the_answer() -> None:
    given = {"question": "q", "answer": "x" * 100_001}
    stored = redact(changed(RECORD, answer="x" * 100_001, judge_input=given), full_text=False)
    assert stored.verdicts.judge_input == {"question": "q", "answer": "x" * 100_000}


def test_no_answer_has_no_length() -> None:
    assert redact(changed(RECORD, answer=None), full_text=False).answer_chars is None


def test_redacting_twice_is_redacting_once() -> None:
    chunk = RetrievedChunk(rel_path="a.md", text="x" * 1000)
    record = changed(RECORD, answer="y" * 100_001, retrieved_chunks=(chunk, chunk), k=1)
    once = redact(record, full_text=False)
    assert redact(once, full_text=False) == once


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("recall_at_k", float("nan"), "got nan, expected 0 to 1"),
        ("recall_at_k", 7.0, "got 7.0, expected 0 to 1"),
        ("groundedness", -0.5, "got -0.5, expected 0 to 5"),
        ("of_ones_own", float("inf"), "got inf, expected -1e+50 to 1e+50"),
        ("of_ones_own", -1e308, "got -1e+308, expected -1e+50 to 1e+50"),
    ],
)
def test_a_score_that_no_metric_can_have_is_refused(key: str, value: float, expected: str) -> None:
    document = record_to_json(RECORD)
    document["metrics"] = {key: value}
    with pytest.raises(StorageError, match=re.escape(f"metrics.{key}: {expected}")):
        record_from_json(document)


def test_the_first_records_may_be_read_on_several_threads_at_once() -> None:
    document = record_to_json(record("a", {"mrr": 1.0}))
    read = f"module.record_from_json({document!r})"
    assert exit_code_of_first_uses("pytest_rageval.runs.record_json", read) == 0
