"""The functions of mappings, first alone, then on replies of real systems over real sockets."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.target.client import HttpRagClient
from pytest_rageval.target.functions import MappingFunctions
from pytest_rageval.target.mapping import compile_mapping
from pytest_rageval.values.errors import ConfigError, EndpointError
from pytest_rageval.values.reply import AskRequest, AskResponse
from pytest_rageval.values.settings import TargetSettings
from tests.build.targets import fake_target, json_reply


def search(expression: str, document: object) -> Any:
    mapped: Any = compile_mapping({"answer": expression}, "response")(document)
    return mapped.get("answer")


def fault(expression: str, document: object) -> str:
    with pytest.raises(EndpointError) as caught:
        search(expression, document)
    assert caught.value.kind == "protocol"
    return caught.value.message


# --- each function -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("indexes", "picked"),
    [
        ([0, 2, 0], ["a", "c", "a"]),
        (["0", "2"], ["a", "c"]),
        ([3, -1, 1.0, True, None, "x", "²", "9" * 5000], [None] * 8),
        ([], []),
    ],
)
def test_pick_takes_items_by_index_and_null_where_there_is_none(
    indexes: list[object], picked: list[object]
) -> None:
    assert search("pick(all, i)", {"all": ["a", "b", "c"], "i": indexes}) == picked


def test_lookup_finds_the_first_item_by_the_value_of_a_key() -> None:
    document = {
        "docs": [{"id": "d1", "n": 1}, {"id": 7, "n": 2}, {"id": "7", "n": 3}, "no object"],
        "cited": [{"doc": "7"}, {"doc": "d1"}, {"doc": "d9"}, {"doc": True}],
    }
    found = search("lookup(docs, 'id', cited[].doc)", document)
    assert [item and item["n"] for item in found] == [2, 1, None, None]


def test_lookup_takes_an_expression_as_its_key() -> None:
    document = {"docs": [{"meta": {"id": "x"}, "n": 1}, {}], "ids": ["x", "y"]}
    assert search("lookup(docs, &meta.id, ids)[].n", document) == [1]


def test_unnest_gives_nested_items_the_fields_of_their_parent() -> None:
    document = {
        "files": [
            {"path": "a.md", "id": 1, "parts": ["x", "y"]},
            {"path": "b.md", "id": 2, "parts": [{"text": "z", "id": 3}]},
            {"path": "c.md", "parts": "one"},
            {"path": "d.md"},
            {"path": "e.md", "parts": []},
            "no object",
        ]
    }
    assert search("unnest(files, 'parts')", document) == [
        {"path": "a.md", "id": 1, "parts": "x"},
        {"path": "a.md", "id": 1, "parts": "y"},
        {"path": "b.md", "id": 3, "text": "z"},
        {"path": "c.md", "parts": "one"},
    ]


def test_rows_makes_objects_of_parallel_lists_and_repeats_single_values() -> None:
    document = {"texts": ["x", "y"], "scores": [1, 2], "source": "a.md"}
    rows = search("rows({text: texts, score: scores, path: source, page: pages})", document)
    assert rows == [
        {"text": "x", "score": 1, "path": "a.md", "page": None},
        {"text": "y", "score": 2, "path": "a.md", "page": None},
    ]
    assert search("rows({text: texts})", {"texts": []}) == []


def test_rows_of_lists_of_different_length_are_an_error_that_names_them() -> None:
    message = fault("rows({text: a, score: b})", {"a": ["x", "y"], "b": [1]})
    assert "rows(): the lists differ in length: text 2, score 1" in message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, "x"]}', {"a": [1, "x"]}),
        (" ", None),
        ("[NaN, Infinity, -1e999, 0.5]", [None, None, None, 0.5]),
        ({"a": 1}, {"a": 1}),
        (3, 3),
    ],
)
def test_parse_json_reads_json_within_a_string(text: object, value: object) -> None:
    assert search("parse_json(text)", {"text": text}) == value


@pytest.mark.parametrize("text", ["not found", "{", "9" * 5000])
def test_parse_json_of_another_text_is_an_error_that_shows_how_it_begins(text: str) -> None:
    assert f"parse_json(): not JSON, it begins: {text[:9]}" in fault(
        "parse_json(text)", {"text": text}
    )


@pytest.mark.parametrize("empty", [[], {}, "", None])
def test_some_makes_null_of_what_is_empty(empty: object) -> None:
    assert search("some(v)", {"v": empty}) is None


@pytest.mark.parametrize("value", [[0], {"a": 1}, " ", 0, False])
def test_some_keeps_any_other_value(value: object) -> None:
    assert search("some(@)", value) == value


@pytest.mark.parametrize(
    "expression",
    [
        "pick(no, a)",
        "pick(a, no)",
        "lookup(no, 'id', a)",
        "lookup(a, 'id', no)",
        "unnest(no, 'parts')",
        "rows(no)",
        "rows({text: no})",
        "parse_json(no)",
        "some(no)",
    ],
)
def test_what_is_absent_stays_absent(expression: str) -> None:
    assert search(expression, {"a": [1]}) is None


# --- wrong expressions and hostile replies -------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("pik(a, b)", "unknown function pik() at position 1; did you mean pick()?"),
        ("parsejson(a)", "did you mean parse_json()?"),
        ("pick(a)", "pick() takes 2 arguments, got 1"),
        ("a[].some()", "some() takes 1 argument, got 0"),
        ("length(a, b)", "length() takes 1 argument, got 2"),
    ],
)
def test_an_unknown_function_or_a_wrong_number_of_arguments_is_found_at_once(
    expression: str, said: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        compile_mapping({"answer": expression}, "response")
    assert said in str(caught.value)


@pytest.mark.parametrize("expression", ["merge(a, b, c)", "not_null(a, b)"])
def test_functions_of_any_number_of_arguments_stay_so(expression: str) -> None:
    found = compile_mapping({"answer": expression}, "response")({"a": {"x": 1}, "b": {}, "c": {}})
    assert found == {"answer": {"x": 1}}


@pytest.mark.parametrize(
    ("expression", "document"),
    [
        ("ceil(to_number(n))", {"n": "1e999"}),
        ("pick(a, b)", {"a": "text", "b": [0]}),
        ("unnest(a, b)", {"a": [], "b": None}),
        ("rows(a)", {"a": [[1]]}),
    ],
)
def test_an_argument_of_another_type_is_a_protocol_error(expression: str, document: object) -> None:
    assert "response.answer cannot be applied" in fault(expression, document)


@pytest.mark.parametrize(
    ("expression", "document"),
    [
        ("unnest(a, 'c')", {"a": [{**{str(i): i for i in range(2000)}, "c": [0] * 2000}]}),
        ("rows(@)", {**{str(i): i for i in range(2000)}, "c": [0] * 2000}),
        (
            "a[].unnest(@.b, 'c')",
            {"a": [{"b": [{**{str(i): i for i in range(200)}, "c": [0] * 200}]}] * 200},
        ),
        ("pick(a, i)", {"a": [{"t": "x" * 100_000}], "i": [0] * 40_000}),
        ("pick(a, i)[].{t: t}", {"a": ["x" * 500_000], "i": [0] * 30_000}),
        ("lookup(a, 'n', i)", {"a": [{"n": 0, "t": "x" * 100_000}], "i": [0] * 40_000}),
        ("join('', pick(a, i))", {"a": ["x" * 100], "i": [0] * 1_000_000}),
        ("join(a, b)", {"a": "x" * 1_000_000, "b": ["x"] * 1_000_000}),
        ("rows({t: t, n: n})", {"t": ["x"] * 30_000, "n": "x" * 500_000}),
    ],
)
def test_a_reply_cannot_fill_the_memory_by_copies(expression: str, document: object) -> None:
    started = time.process_time()
    assert "its results have over 30,000,000 characters" in fault(expression, document)
    assert time.process_time() - started < 5


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats()
    | st.sampled_from(["a", "b", "0", "", "[1]", '{"a": 1}', "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "b", "c", "0"]), inner, max_size=4)
    ),
    max_leaves=12,
)
arguments = st.sampled_from(
    ["a", "b", "a[]", "b[*].a", "@", "'a'", "&b", "`[0, 1]`", "{a: a, b: b}"]
)


@settings(max_examples=100, deadline=None)
@given(data=st.data(), name=st.sampled_from(sorted(MappingFunctions.FUNCTION_TABLE)))
def test_any_reply_gives_a_value_or_a_protocol_error(data: st.DataObject, name: str) -> None:
    signature = MappingFunctions.FUNCTION_TABLE[name]["signature"]
    call = f"{name}({', '.join(data.draw(arguments) for _ in signature)})"
    document = data.draw(json_values)
    fault = None
    try:
        search(call, document)
    except EndpointError as error:
        fault = error
    assert fault is None or (fault.kind == "protocol" and "cannot be applied: " in str(fault))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(json_values, json_values)))
def test_rows_is_the_inverse_of_projections(pairs: list[tuple[object, object]]) -> None:
    document = {"a": [left for left, _ in pairs], "b": [right for _, right in pairs]}
    rows = search("rows(@)", document)
    assert repr([(row["a"], row["b"]) for row in rows]) == repr(pairs)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(), min_size=1), max_size=5))
def test_unnest_keeps_order_number_and_parents(lists: list[list[int]]) -> None:
    document = [{"n": n, "items": items} for n, items in enumerate(lists)]
    expected = [{"n": n, "items": item} for n, items in enumerate(lists) for item in items]
    assert search("unnest(@, 'items')", document) == expected


# --- replies of real systems ---------------------------------------------------------------


def ask(reply: object, **response: str) -> AskResponse:
    with fake_target(json_reply(reply)) as target:
        client = HttpRagClient(TargetSettings(url=target.url, response=response))
        try:
            return client.ask(AskRequest(question="How often does the pump need oil?"))
        finally:
            client.close()


def cited(response: AskResponse) -> list[str | None]:
    return [reference.rel_path for reference in response.references or ()]


def chunks(response: AskResponse) -> list[tuple[str, str | None, float | None]]:
    return [(c.rel_path, c.text, c.score_final) for c in response.retrieved_chunks or ()]


def test_vertex_rag_engine_cites_by_index() -> None:
    grounding = {
        "groundingChunks": [
            {"retrievedContext": {"uri": "gs://b/a.md", "title": "a", "text": "Monthly."}},
            {"retrievedContext": {"uri": "gs://b/b.md", "title": "b", "text": "Yearly."}},
        ],
        "groundingSupports": [
            {"segment": {"endIndex": 8, "text": "Monthly."}, "groundingChunkIndices": [0]},
            {"segment": {"endIndex": 9, "text": "x"}, "groundingChunkIndices": [0, 1]},
        ],
    }
    parts = [{"text": "Monthly, "}, {"text": "or so."}]
    reply = {"candidates": [{"content": {"parts": parts}, "groundingMetadata": grounding}]}
    response = ask(
        reply,
        answer="join('', candidates[0].content.parts[].text)",
        retrieved_chunks="candidates[0].groundingMetadata.groundingChunks[].retrievedContext"
        ".{rel_path: uri, text: text}",
        references="candidates[0].groundingMetadata.pick(groundingChunks, "
        "groundingSupports[].groundingChunkIndices[])[].retrievedContext.{rel_path: uri}",
    )
    assert response.answer == "Monthly, or so."
    assert [path for path, _, _ in chunks(response)] == ["gs://b/a.md", "gs://b/b.md"]
    assert cited(response) == ["gs://b/a.md", "gs://b/a.md", "gs://b/b.md"]


def test_vertex_ai_search_cites_by_index_in_a_string() -> None:
    def reference(uri: str, content: str, score: float) -> dict[str, object]:
        metadata = {"uri": uri, "title": uri}
        chunk = {"content": content, "relevanceScore": score, "documentMetadata": metadata}
        return {"chunkInfo": chunk}

    reply = {
        "answer": {
            "state": "SUCCEEDED",
            "answerText": "Monthly.",
            "citations": [{"endIndex": "8", "sources": [{"referenceId": "1"}]}],
            "references": [reference("a", "Yearly.", 0.4), reference("b", "Monthly.", 0.9)],
        }
    }
    info = "chunkInfo.{rel_path: documentMetadata.uri, text: content, score_final: relevanceScore}"
    response = ask(
        reply,
        answer="answer.answerText",
        retrieved_chunks=f"answer.references[].{info}",
        references="answer.pick(references, citations[].sources[].referenceId)[]"
        ".chunkInfo.{rel_path: documentMetadata.uri}",
    )
    assert chunks(response) == [("a", "Yearly.", 0.4), ("b", "Monthly.", 0.9)]
    assert cited(response) == ["b"]


def test_onyx_cites_by_the_id_of_a_document() -> None:
    reply = {
        "answer": "Monthly [[2]](https://w/b).",
        "top_documents": [
            {"document_id": "https://w/a", "semantic_identifier": "a.md", "blurb": "x"},
            {"document_id": "https://w/b", "semantic_identifier": "b.md", "blurb": "y"},
        ],
        "citation_info": [{"citation_number": 2, "document_id": "https://w/b"}],
        "error_msg": None,
    }
    response = ask(
        reply,
        answer="answer",
        retrieved_chunks="top_documents[].{rel_path: semantic_identifier, text: blurb}",
        references="lookup(top_documents, 'document_id', citation_info[].document_id)[]"
        ".{rel_path: semantic_identifier}",
    )
    assert [path for path, _, _ in chunks(response)] == ["a.md", "b.md"]
    assert cited(response) == ["b.md"]


def test_lightrag_lists_chunks_below_their_file() -> None:
    reply = {
        "response": "Monthly.",
        "references": [
            {"reference_id": "1", "file_path": "a.md", "content": ["Oil monthly.", "Grease."]},
            {"reference_id": "2", "file_path": "b.md", "content": ["Belts."]},
        ],
    }
    response = ask(
        reply,
        answer="response",
        retrieved_chunks="unnest(references, 'content')[].{rel_path: file_path, text: content}",
    )
    assert chunks(response) == [
        ("a.md", "Oil monthly.", None),
        ("a.md", "Grease.", None),
        ("b.md", "Belts.", None),
    ]


def test_open_webui_lists_texts_and_scores_side_by_side() -> None:
    source = {
        "source": {"name": "notes", "id": "c1"},
        "document": ["Oil monthly.", "Belts."],
        "metadata": [{"source": "a.md"}, {"source": "b.md"}],
        "distances": [0.9, 0.4],
    }
    reply = {"choices": [{"message": {"content": "Monthly [1]."}}], "sources": [source]}
    response = ask(
        reply,
        answer="choices[0].message.content",
        retrieved_chunks="sources[].rows({text: document, about: metadata, score: distances})[]"
        ".{rel_path: about.source, text: text, score_final: score}",
    )
    assert chunks(response) == [("a.md", "Oil monthly.", 0.9), ("b.md", "Belts.", 0.4)]


def test_openrag_puts_its_sources_into_a_string() -> None:
    extra = {"sources": [{"filename": "a.md", "content": "Oil monthly.", "score": 0.5}]}
    reply = {
        "choices": [{"message": {"content": "Monthly."}}],
        "extra": json.dumps(extra),
    }
    response = ask(
        reply,
        answer="choices[0].message.content",
        retrieved_chunks="parse_json(extra).sources[]"
        ".{rel_path: filename, text: content, score_final: score}",
    )
    assert chunks(response) == [("a.md", "Oil monthly.", 0.5)]


def test_langgraph_returns_the_result_of_a_tool_as_a_string() -> None:
    found = [{"source": "a.md", "page_content": "Oil monthly."}]
    reply = {
        "messages": [
            {"type": "human", "content": "How often?"},
            {"type": "ai", "content": "", "tool_calls": [{"name": "search"}]},
            {"type": "tool", "name": "search", "content": json.dumps(found)},
            {"type": "ai", "content": "Monthly."},
        ]
    }
    response = ask(
        reply,
        answer="messages[?type=='ai'].content | [-1]",
        retrieved_chunks="messages[?type=='tool'].parse_json(content)[]"
        ".{rel_path: source, text: page_content}",
    )
    assert response.answer == "Monthly."
    assert chunks(response) == [("a.md", "Oil monthly.", None)]


def test_a_secret_that_parse_json_uncovers_is_blotted_out() -> None:
    inner = '{"note": "sent with t0ken\\u002dabc"}'
    with fake_target(json_reply({"text": inner})) as target:
        settings = TargetSettings(
            url=target.url,
            headers={"X-Key": "env:TOKEN"},
            response={"answer": "parse_json(text).note"},
        )
        client = HttpRagClient(settings, environ={"TOKEN": "t0ken-abc"})
        result = client.ask_result(AskRequest(question="q"))
        client.close()
    assert result.response is not None
    assert result.response.answer == "sent with ***"
