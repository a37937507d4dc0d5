"""Reading a target's reply: strict where a score depends on it, lenient where none does."""

from __future__ import annotations

import json
import math
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.target.contract import (
    PageReader,
    last_data,
    parse_ask_response,
    parse_reply_bytes,
    reply_json_schema,
    reply_keys,
    request_body,
    shown_keys,
)
from pytest_rageval.values.case import Message
from pytest_rageval.values.errors import EndpointError
from pytest_rageval.values.reply import (
    AskRequest,
    AskResponse,
    Citation,
    RetrievedChunk,
    Search,
    is_empty_answer,
)
from tests.build.first_use import exit_code_of_first_uses

FULL = {
    "answer": "Monthly.",
    "references": [
        {"vault": "v", "rel_path": "a.md", "heading_path": "# A > ## Oil", "chunk_index": 2}
    ],
    "abstained": False,
    "abstain_reason": None,
    "debug": {
        "retrieved_chunks": [
            {
                "chunk_id": "c1",
                "rel_path": "a.md",
                "heading_path": "# A > ## Oil",
                "start_line": 3,
                "end_line": 9,
                "score_vector": 0.5,
                "score_lexical": 1,
                "score_final": 0.75,
                "text": "Oil it monthly.",
                "rank": 1,
                "token_count": 4,
                "rank_before_rerank": 2,
            }
        ],
        "folder_selection": {
            "selected_folders": ["docs"],
            "available_folders": ["docs", "notes"],
            "fallback_used": False,
            "reasoning": "docs it is",
        },
        "latency": {"retrieval_ms": 12, "total_ms": 40.5},
        "indexing_coverage": {"docs_processed": 3, "chunk_token_stats": {"min": 1}},
        "models": {"llm_model": "m", "prompt_version": 3},
    },
}


def parse_chunks(*chunks: object) -> tuple[RetrievedChunk, ...]:
    response = parse_ask_response({"answer": "a", "debug": {"retrieved_chunks": list(chunks)}})
    assert response.retrieved_chunks is not None
    return response.retrieved_chunks


def fault(payload: object) -> str:
    with pytest.raises(EndpointError) as caught:
        parse_ask_response(payload)
    assert caught.value.kind == "protocol"
    return caught.value.message


# --- replies -------------------------------------------------------------------------------


def test_every_field_of_the_contract_is_read() -> None:
    response = parse_ask_response(FULL)
    assert response.answer == "Monthly."
    assert response.references == (
        Citation(rel_path="a.md", heading_path="# A > ## Oil", vault="v", chunk_index=2),
    )
    assert response.abstained is False
    assert response.retrieved_chunks == (
        RetrievedChunk(
            rel_path="a.md",
            heading_path="# A > ## Oil",
            chunk_id="c1",
            start_line=3,
            end_line=9,
            score_vector=0.5,
            score_lexical=1.0,
            score_final=0.75,
            text="Oil it monthly.",
            rank=1,
            rank_before_rerank=2,
            token_count=4,
        ),
    )
    assert response.folder_selection is not None
    assert response.folder_selection.selected_folders == ("docs",)
    assert response.folder_selection.fallback_used is False
    assert response.latency == {"retrieval_ms": 12.0, "total_ms": 40.5}
    assert response.indexing_coverage == {"docs_processed": 3, "chunk_token_stats": {"min": 1}}
    assert response.models == {"llm_model": "m", "prompt_version": "3"}


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ("no chat with this id", "no chat with this id"),
        ("two\nlines\x1b", "two lines"),
        ("x" * 500, "x" * 397 + "..."),
        ({"message": "quota", "code": 7}, "quota"),
        (["slow down"], "slow down"),
        ({"detail": {"message": "no such chat"}}, "no such chat"),
        (102, "error 102"),
        (True, "the reply reports an error without a message"),
        ({"code": 7}, "the reply reports an error without a message"),
    ],
)
@pytest.mark.parametrize("answer", [{"answer": "a"}, {}, {"answer": None}])
def test_an_error_in_the_reply_is_one_of_the_target(
    error: object, message: str, answer: dict[str, object]
) -> None:
    with pytest.raises(EndpointError) as caught:
        parse_ask_response({**answer, "error": error})
    assert caught.value.kind == "target"
    assert caught.value.message == message


@pytest.mark.parametrize("error", [None, "", " ", False, 0, {}, [], {"code": 0, "message": ""}])
def test_an_empty_error_is_none(error: object) -> None:
    assert parse_ask_response({"answer": "a", "error": error}) == AskResponse(answer="a")


def test_usage_session_and_searches_are_read() -> None:
    chunks = [{"chunk_id": 7, "rel_path": "a.md"}, {"rel_path": "b.md"}, "c3", {}, None]
    debug = {
        "usage": {"input_tokens": 812, "output_tokens": "95", "cost_usd": 0.01, "total": 907},
        "session": 12,
        "searches": [
            {"query": "pump oil", "tool": "file_search", "chunks": chunks},
            {"query": None},
            "no object",
        ],
    }
    response = parse_ask_response({"answer": "a", "debug": debug})
    assert response.usage == {"input_tokens": 812, "output_tokens": 95, "cost_usd": 0.01}
    assert response.session == "12"
    assert response.searches == (
        Search(query="pump oil", tool="file_search", chunks=("7", "b.md", "c3")),
        Search(),
    )


@pytest.mark.parametrize(
    "debug",
    [
        {"usage": 3, "session": {}, "searches": "x"},
        {"usage": {"input_tokens": -1, "output_tokens": 1e13, "cost_usd": "free"}},
        {"usage": None, "session": None, "searches": None},
    ],
)
def test_usage_session_and_searches_of_another_shape_are_left_out(debug: object) -> None:
    assert parse_ask_response({"answer": "a", "debug": debug}) == AskResponse(answer="a")


@pytest.mark.parametrize(
    "payload",
    [
        {"answer": "a"},
        {"answer": "a", "references": None, "abstained": None, "debug": None, "extra": [1]},
        {"answer": "a", "debug": {}},
        {"answer": "a", "debug": {"retrieved_chunks": None, "folder_selection": None}},
    ],
)
def test_what_is_absent_or_null_is_not_reported(payload: object) -> None:
    assert parse_ask_response(payload) == AskResponse(answer="a")


def test_an_empty_list_differs_from_an_absent_one() -> None:
    response = parse_ask_response(
        {
            "answer": "a",
            "references": [],
            "debug": {"retrieved_chunks": [], "folder_selection": {"selected_folders": []}},
        }
    )
    assert response.references == ()
    assert response.retrieved_chunks == ()
    assert response.folder_selection is not None
    assert response.folder_selection.selected_folders == ()
    assert response.folder_selection.available_folders is None


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ([], "the reply: expected an object, got a list"),
        (None, "the reply: expected an object, got null"),
        ({"text": 1}, "answer: expected a string, got nothing (fields: text)"),
        ({"answer": None}, "answer: expected a string, got null"),
        (
            {"answer": "a", "debug": {"retrieved_chunks": [{"id": 7, "content": "b"}]}},
            "debug.retrieved_chunks[0].rel_path: expected a string, got nothing (fields: content,"
            " id)",
        ),
        ({"answer": ["a"]}, "answer: expected a string, got a list"),
        ({"answer": "a", "abstained": "no"}, "abstained: expected true or false, got 'no'"),
        ({"answer": "a", "abstained": 0}, "abstained: expected true or false, got 0"),
        ({"answer": "a", "references": "a.md"}, "references: expected a list, got 'a.md'"),
        ({"answer": "a", "references": {}}, "references: expected a list, got an object"),
        (
            {"answer": "a", "references": [{"rel_path": "a"}, "b"]},
            "references[1]: expected an object, got 'b'",
        ),
        ({"answer": "a", "debug": "on"}, "debug: expected an object, got 'on'"),
        (
            {"answer": "a", "debug": {"folder_selection": {"selected_folders": [1]}}},
            "debug.folder_selection.selected_folders[0]: expected a string, got 1",
        ),
    ],
)
def test_a_wrong_type_that_a_score_depends_on_names_its_field(
    payload: object, message: str
) -> None:
    assert fault(payload) == message


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("rel_path", 7, "rel_path: expected a string, got 7"),
        ("rel_path", None, "rel_path: expected a string, got null"),
        ("heading_path", ["A"], "heading_path: expected a string, got a list"),
        ("vault", 1, "vault: expected a string, got 1"),
        ("text", {}, "text: expected a string, got an object"),
        ("chunk_id", True, "chunk_id: expected a string, got true"),
        ("rank", "first", "rank: expected an integer, got 'first'"),
        ("rank", 1.5, "rank: expected an integer, got 1.5"),
        ("rank", True, "rank: expected an integer, got true"),
        ("rank", 2**5000, "rank: expected an integer, got a value of type int"),
        ("rank_before_rerank", [], "rank_before_rerank: expected an integer, got a list"),
    ],
)
def test_a_wrong_type_in_a_chunk_names_the_chunk_and_its_field(
    field: str, value: object, message: str
) -> None:
    good = {"rel_path": "a.md"}
    payload = {"answer": "", "debug": {"retrieved_chunks": [good, good, {**good, field: value}]}}
    assert fault(payload) == f"debug.retrieved_chunks[2].{message}"


@pytest.mark.parametrize(
    ("came", "score"),
    [
        ("0.5", 0.5),
        (" -1e-3 ", -0.001),
        (3, 3.0),
        (math.nan, None),
        (math.inf, None),
        ("NaN", None),
        ("1e999", None),
        ("1_0", None),
        ("high", None),
        (True, None),
        ([], None),
        (10**400, None),
        (None, None),
    ],
)
def test_a_score_is_a_number_or_a_decimal_string_or_nothing(
    came: object, score: float | None
) -> None:
    [chunk] = parse_chunks({"rel_path": "a", "score_final": came})
    assert chunk.score_final == score


def test_chunks_are_sorted_by_rank_when_all_have_one_and_ties_keep_their_order() -> None:
    ranks = [("a", 2), ("b", "1"), ("c", 2.0), ("d", 0)]
    chunks = parse_chunks(*({"rel_path": path, "rank": rank} for path, rank in ranks))
    assert [chunk.rel_path for chunk in chunks] == ["d", "b", "a", "c"]


@pytest.mark.parametrize("missing", [{}, {"rank": None}, {"rank": math.nan}])
def test_list_order_is_the_rank_when_one_chunk_has_none(missing: dict[str, Any]) -> None:
    scored = {"score_final": 0.9}  # by which nothing is ordered
    chunks = parse_chunks({"rel_path": "a", "rank": 2}, {"rel_path": "b", **scored, **missing})
    assert [chunk.rel_path for chunk in chunks] == ["a", "b"]


def test_chunk_ids_may_be_missing_repeated_or_numbers() -> None:
    ids = [7, "7", None, "x", "x"]
    chunks = parse_chunks(*({"rel_path": "a", "chunk_id": name} for name in ids))
    assert [chunk.chunk_id for chunk in chunks] == ["7", "7", None, "x", "x"]


def test_what_a_target_says_of_its_own_matching_is_not_believed() -> None:
    [chunk] = parse_chunks({"rel_path": "a", "matched_golds": [0], "irrelevant": True})
    assert chunk.matched_golds is None
    assert chunk.irrelevant is None
    [cited] = (
        parse_ask_response(
            {"answer": "a", "references": [{"rel_path": "a", "chunk_rank": 1}]}
        ).references
        or ()
    )
    assert cited.chunk_rank is None


@pytest.mark.parametrize(
    "latency",
    [
        "fast",
        [1],
        {"total_ms": "soon"},
        *({"total_ms": ms} for ms in (-1, -1.0, 2e12, math.nan)),
    ],
)
def test_a_latency_that_makes_no_sense_is_left_out(latency: object) -> None:
    assert parse_ask_response({"answer": "a", "debug": {"latency": latency}}).latency == {}


def test_lone_surrogates_become_replacement_characters() -> None:
    payload = {"answer": "a\ud800b", "debug": {"indexing_coverage": {"k\udfff": ["\udc00"]}}}
    response = parse_ask_response(payload)
    assert response.answer == "a\ufffdb"
    assert response.indexing_coverage == {"k\ufffd": ["\ufffd"]}


def test_a_reply_nested_beyond_reason_is_a_protocol_error() -> None:
    nested: list[Any] = []
    nested.append(nested)
    payload = {"answer": "a", "debug": {"indexing_coverage": {"x": nested}}}
    assert fault(payload) == "the reply is nested too deeply to be read"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


def objects(names: list[str], inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Objects with some fields of the contract, each of any type or of the right one."""
    named = {name: inner | json_values for name in names}
    return st.fixed_dictionaries({}, optional=named) | json_values


texts = st.text(max_size=5)
numbers = st.integers() | st.floats() | st.sampled_from(["1", "0.5", "NaN", "x"])
chunk_values = objects([field.name for field in fields(RetrievedChunk)], texts | numbers)
replies = st.fixed_dictionaries(
    {"answer": texts},
    optional={
        "error": st.none() | json_values,
        "references": st.lists(objects(["rel_path", "heading_path"], texts), max_size=2),
        "abstained": st.booleans() | st.none(),
        "debug": st.fixed_dictionaries(
            {},
            optional={
                "retrieved_chunks": st.lists(chunk_values, max_size=3),
                "folder_selection": objects(["selected_folders"], st.lists(texts)),
                "latency": objects(["total_ms"], numbers),
                "indexing_coverage": json_values,
                "models": json_values,
                "usage": objects(["input_tokens"], numbers),
                "session": json_values,
                "searches": st.lists(objects(["query", "chunks"], json_values), max_size=2),
            },
        ),
    },
)


def leaves(value: object) -> list[object]:
    if is_dataclass(value):
        return leaves([getattr(value, field.name) for field in fields(value)])
    if isinstance(value, dict):
        return leaves([*value, *value.values()])
    if isinstance(value, list | tuple):
        return [leaf for entry in value for leaf in leaves(entry)]
    return [value]


def outcome_of(read: Callable[[Any], object], argument: object) -> object:
    try:
        return read(argument)
    except EndpointError as error:
        return error


def is_protocol_error(outcome: object) -> bool:
    if not isinstance(outcome, EndpointError):
        return False
    assert outcome.kind in {"protocol", "target"}
    assert outcome.message.isprintable()
    return True


@settings(max_examples=40, deadline=None)
@given(replies | json_values)
def test_any_json_value_parses_or_is_a_protocol_error(payload: object) -> None:
    response = outcome_of(parse_ask_response, payload)
    if is_protocol_error(response):
        return
    assert isinstance(response, AskResponse)
    for leaf in leaves(response):
        assert not isinstance(leaf, float) or math.isfinite(leaf)
    ranks = [chunk.rank for chunk in response.retrieved_chunks or ()]
    if None not in ranks:
        assert ranks == sorted(rank for rank in ranks if rank is not None)


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=40) | json_values.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_read_or_are_a_protocol_error(body: bytes) -> None:
    value = outcome_of(parse_reply_bytes, body)
    if not is_protocol_error(value):
        assert json.loads(json.dumps(value, allow_nan=False)) == value


# --- bytes ---------------------------------------------------------------------------------


def test_a_byte_order_mark_is_ignored() -> None:
    assert parse_reply_bytes(b'\xef\xbb\xbf{"answer": "a"}') == {"answer": "a"}


@pytest.mark.parametrize("token", [b"NaN", b"-Infinity", b"Infinity", b"1e999", b"-1e999"])
def test_numbers_that_json_does_not_have_become_null(token: bytes) -> None:
    assert parse_reply_bytes(b"[1.5, " + token + b"]") == [1.5, None]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the reply is empty; expected a JSON object"),
        (b" \n", "the reply is empty; expected a JSON object"),
        (b"\n<!doctype html>\r\n<p>Hi\x07", "HTML (line 2); it begins: <!doctype html> <p>Hi"),
        (b"answer: yes", "the reply is not JSON (line 1); it begins: answer: yes"),
        (b'{"a": 1} x', "not JSON"),
        (b"\xff\xfe", "the reply is not UTF-8: byte 0xff at offset 0; expected JSON in UTF-8"),
        (b"[" * 100_000, "the reply is nested deeper than 100 levels"),
        (b"[" * 150 + b"]" * 150, "the reply is nested deeper than 100 levels"),
        (b"1" * 5_000, "the reply is not JSON; it begins: 111"),
    ],
)
def test_a_body_that_is_no_json_says_what_it_is(body: bytes, message: str) -> None:
    with pytest.raises(EndpointError) as caught:
        parse_reply_bytes(body)
    assert caught.value.kind == "protocol"
    assert message in caught.value.message
    assert len(caught.value.message) < 200


@pytest.mark.parametrize("before", ["", "[],"])
def test_a_hundred_levels_are_read_and_one_more_is_not(before: str) -> None:
    for levels in (100, 101):
        body = f"[{before * 60}{'[' * (levels - 1)}{']' * levels}".encode()
        found = outcome_of(parse_reply_bytes, body)
        assert (found == json.loads(body)) is (levels == 100)
        assert isinstance(found, EndpointError) is (levels == 101)


# --- names ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "names"),
    [
        ({"answer": 1, "data": {"hits": [], "n": 1, "x y": 1}}, ["answer", "data.hits", "data.n"]),
        ({"result": {}, "data": [1], "meta": {"a": 1}}, ["result", "data", "meta"]),
        ({"see a.md": 1, "a" * 40: 1, "b" * 41: 1}, ["a" * 40]),
        ({f"n{n}": 1 for n in range(21)}, [f"n{n}" for n in range(20)]),
        ([{"answer": 1}], []),
    ],
)
def test_the_keys_of_a_reply_are_plain_names_and_those_within_a_wrapper(
    reply: object, names: list[str]
) -> None:
    assert reply_keys(reply) == (*names,)


@pytest.mark.parametrize(
    ("reply", "place", "shown"),
    [
        ({"a": {"b": {"c": {"d": {"e": 1}}}}}, "", "a; a: b; a.b: c; a.b.c: d"),
        ({"b": [{"x": 1}, {"y": 1}], "a": []}, "", "a, b; b[]: x"),
        ({"b": {"c": 1}}, "data", "data: b; data.b: c"),
        (7, "", ""),
    ],
)
def test_keys_are_shown_to_the_fourth_level(reply: object, place: str, shown: str) -> None:
    assert shown_keys(reply, place) == shown


def test_the_data_of_a_stream_is_that_of_its_last_event() -> None:
    assert last_data({"events": [], "last": {"data": {"a": 1}}}) == {"a": 1}
    assert last_data({"events": [], "last": None}) is None
    reply = {"events": [], "last": {"data": 1}, "more": 1}
    assert last_data(reply) is reply


# --- requests ------------------------------------------------------------------------------


def test_everything_that_is_set_is_sent_and_nothing_else() -> None:
    request = AskRequest(
        question="q",
        vaults=("v",),
        folders=("a", "b"),
        k=0,
        folder_mode="on",
        vector_weight=0.0,
        lexical_weight=1.0,
        params={"min_score": 0.1},
    )
    assert request_body(request) == {
        "question": "q",
        "vaults": ["v"],
        "folders": ["a", "b"],
        "k": 0,
        "folder_mode": "on",
        "rerank_weights": {"vector": 0.0, "lexical": 1.0},
        "min_score": 0.1,
    }
    assert request_body(AskRequest(question="q")) == {"question": "q"}
    body = request_body(AskRequest(question="q", lexical_weight=0.3))
    assert body["rerank_weights"] == {"lexical": 0.3}


def test_a_conversation_is_sent_as_its_messages_and_its_session() -> None:
    history = (Message(role="user", content="a"), Message(role="assistant", content="b"))
    assert request_body(AskRequest(question="q", history=history, session="s")) == {
        "question": "q",
        "history": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
        "session": "s",
    }


def test_a_parameter_gives_way_to_a_field_that_is_set() -> None:
    request = AskRequest(question="q", k=5, params={"k": 9, "question": "other", "folders": ["x"]})
    assert request_body(request) == {"question": "q", "k": 5, "folders": ["x"]}


# --- empty answers -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "abstained", "empty"),
    [
        ("", None, True),
        (" \n\t\u3000", False, True),
        ("", True, False),
        ("a", None, False),
        ("0", False, False),
    ],
)
def test_an_answer_is_empty_when_blank_and_not_abstained(
    answer: str, abstained: bool | None, empty: bool
) -> None:
    assert is_empty_answer(AskResponse(answer=answer, abstained=abstained)) is empty


# --- pages -----------------------------------------------------------------------------------


def pages_of(**fields: Any) -> Any:
    chunk = {"rel_path": "a.pdf", **fields}
    reply = parse_ask_response({"answer": "a", "debug": {"retrieved_chunks": [chunk]}})
    [found] = reply.retrieved_chunks or ()
    return found.pages


@pytest.mark.parametrize(
    ("fields", "pages"),
    [
        ({}, None),
        ({"page": 12}, (12,)),
        ({"page": "12"}, (12,)),
        ({"page": 12.0}, (12,)),
        ({"page": None, "pages": None}, None),
        ({"pages": [13, 12, 13, None]}, (12, 13)),
        ({"pages": []}, None),
        ({"pages": [None]}, None),
        ({"pages": "12-14, 20"}, (12, 13, 14, 20)),
        ({"pages": "14-12"}, None),
        ({"pages": ["1\u20132", 5]}, (1, 2, 5)),
        ({"page": "iv"}, None),
        ({"pages": ",".join(f"{n}0001-{n}9999" for n in range(1, 60))}, None),
        ({"page_index": 0}, (1,)),
        ({"page_index": [0, 4]}, (1, 5)),
        ({"page": 3, "pages": [4]}, (3, 4)),
    ],
)
def test_pages_are_numbers_from_one(fields: dict[str, Any], pages: Any) -> None:
    assert pages_of(**fields) == pages


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"page": 0}, "page: expected page numbers from 1; one that counts from 0 belongs into"),
        ({"pages": [1, 0]}, "pages: expected page numbers from 1"),
        ({"page_index": -1}, "page_index: expected page numbers from 0, got -1"),
        ({"page": 1.5}, "page: expected a page number, got 1.5"),
        ({"page": True}, "page: expected a page number, got true"),
        ({"pages": [{"from": 1}]}, "pages: expected a page number"),
    ],
)
def test_a_page_that_would_be_one_off_is_an_error(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(EndpointError) as caught:
        pages_of(**fields)
    assert f"debug.retrieved_chunks[0].{message}" in str(caught.value)


@pytest.mark.parametrize("score", [0.5, "0.5"])
def test_the_pages_of_all_chunks_are_bounded(score: object) -> None:
    chunk = {"rel_path": "a.pdf", "page": "1-10000", "score_final": score}
    debug = {"retrieved_chunks": [dict(chunk) for _ in range(10)]}
    assert parse_ask_response({"answer": "a", "debug": debug}).retrieved_chunks
    with pytest.raises(EndpointError) as caught:
        parse_ask_response(
            {"answer": "a", "debug": {"retrieved_chunks": [dict(chunk) for _ in range(11)]}}
        )
    message = "debug.retrieved_chunks[10].page: expected at most 100000 pages in all chunks"
    assert message in str(caught.value)


@pytest.mark.parametrize("value", ["1-9999," * 50_000 + "1", ["1-9999"] * 50_000])
def test_ranges_of_pages_repeated_without_end_are_none_at_once(value: Any) -> None:
    started = time.process_time()
    assert PageReader().read(value) == set()
    assert time.process_time() - started < 5


def test_a_long_text_of_pages_takes_little_memory() -> None:
    text = "1-9999," * 200_000 + "1"
    tracemalloc.start()
    try:
        assert PageReader().read(text) == set()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000


def test_a_chunk_may_have_ten_thousand_pages() -> None:
    assert PageReader().read("1-9999, 10000") == set(range(1, 10_001))
    assert PageReader().read("1-10000, 1") == set()


def test_the_first_replies_may_be_read_on_several_threads_at_once() -> None:
    reply = {"answer": "x", "debug": {"retrieved_chunks": [{"rel_path": "a.md"}]}}
    read = f"module.parse_ask_response({reply!r})"
    assert exit_code_of_first_uses("pytest_rageval.target.contract", read) == 0


# --- the schema ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "valid"),
    [
        ({"answer": "a", "debug": {"retrieved_chunks": [{"rel_path": "a.md", "rank": 1}]}}, True),
        ({"answer": "a", "more": 1}, True),
        ({"debug": {}}, False),
        ({"answer": "a", "debug": {"retrieved_chunks": [{"rank": 1}]}}, False),
    ],
)
def test_the_schema_of_a_reply_asks_for_what_scores_need(reply: object, valid: bool) -> None:
    assert jsonschema.Draft202012Validator(reply_json_schema()).is_valid(reply) is valid
