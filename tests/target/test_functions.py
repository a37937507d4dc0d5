"""The functions of mappings; `tests/project/presets` applies them to replies of systems."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.target.client import HttpRagClient
from pytest_rageval.target.functions import MappingFunctions
from pytest_rageval.target.mapping import compile_mapping
from pytest_rageval.values.errors import ConfigError, EndpointError
from pytest_rageval.values.reply import AskRequest
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


@settings(max_examples=50, deadline=None)
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


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(json_values, json_values)))
def test_rows_is_the_inverse_of_projections(pairs: list[tuple[object, object]]) -> None:
    document = {"a": [left for left, _ in pairs], "b": [right for _, right in pairs]}
    rows = search("rows(@)", document)
    assert repr([(row["a"], row["b"]) for row in rows]) == repr(pairs)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.integers(), min_size=1), max_size=5))
def test_unnest_keeps_order_number_and_parents(lists: list[list[int]]) -> None:
    document = [{"n": n, "items": items} for n, items in enumerate(lists)]
    expected = [{"n": n, "items": item} for n, items in enumerate(lists) for item in items]
    assert search("unnest(@, 'items')", document) == expected


# --- secrets --------------------------------------------------------------------------------


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
