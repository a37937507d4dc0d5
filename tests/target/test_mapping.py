from __future__ import annotations

import tomllib
from typing import Any, Literal

import pytest

from pytest_rageval.project.presets.preset import load_preset, preset_names
from pytest_rageval.target.mapping import (
    _found_nothing,
    asks_question,
    compile_expression,
    compile_mapping,
    mapping_report,
    quoted,
    sends_conversation,
    sends_k,
    unread_fields,
)
from pytest_rageval.values.errors import ConfigError, EndpointError, target_error
from pytest_rageval.values.settings import TargetSettings

Direction = Literal["request", "response"]


def config_fault(spec: Any, direction: Direction = "response") -> str:
    with pytest.raises(ConfigError) as caught:
        compile_mapping(spec, direction)
    return str(caught.value)


def test_no_mapping_changes_nothing() -> None:
    document = {"answer": None}
    assert compile_mapping(None, "response")(document) is document


@pytest.mark.parametrize(
    ("spec", "sent"),
    [
        ("{query: question, top_k: k, opts: {deep: x, y: `1`}}", {"query": "q", "opts": {"y": 1}}),
        ({"query": "question", "filter.in": "folders"}, {"query": "q"}),
        (
            {"input.query": "question", "input.y": "`2`", "mode": "`fast`"},
            {"input": {"query": "q", "y": 2}, "mode": "fast"},
        ),
    ],
)
def test_a_dot_nests_and_what_comes_out_null_is_left_out_with_its_parents(
    spec: str | dict[str, str], sent: object
) -> None:
    assert compile_mapping(spec, "request")({"question": "q"}) == sent


@pytest.mark.parametrize(
    ("name", "nested"),
    [
        ("retrieved_chunks", {"retrieved_chunks": [3]}),
        ("debug.retrieved_chunks", {"retrieved_chunks": [3]}),
        ("latency.retrieval_ms", {"latency": {"retrieval_ms": [3]}}),
        ("query_embedding", {"query_embedding": [3]}),
    ],
)
def test_fields_of_debug_may_be_named_with_or_without_it(name: str, nested: object) -> None:
    read = compile_mapping({"answer": "text", name: "found"}, "response")
    assert read({"text": "a", "found": [3]}) == {"answer": "a", "debug": nested}


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ("a b", "unexpected 'b' at position 3"),
        ("a.", "unexpected its end at position 3"),
        ("a.[", "unexpected its end at position 4"),
        ("a['x", "at position 3"),
        ("#", "unexpected '#' at position 1"),
        ("", "cannot be empty"),
        ("lenght(a)", "unknown function lenght() at position 1; did you mean length()?"),
        ("a.b[?foo(@)]", "unknown function foo() at position 6"),
    ],
)
def test_a_bad_expression_names_its_key_and_the_position(expression: str, fault: str) -> None:
    whole = config_fault(expression)
    assert whole.startswith("[tool.rageval.target] response: ")
    assert fault in whole
    in_table = config_fault({"input.query": expression}, "request")
    assert in_table.startswith('[tool.rageval.target] request."input.query": ')
    assert fault in in_table


def test_an_expression_of_another_type_is_refused() -> None:
    assert "response.answer: got 7, expected a JMESPath expression" in config_fault({"answer": 7})


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("anwser", "unknown field 'anwser', did you mean"),
        ("anwser", 'did you mean "answer"?'),
        ("debug.chunks", "unknown field 'debug.chunks'"),
        ("answer.text", "unknown field 'answer.text'"),
        ("debug.", "expected a field name"),
        ("", "expected a field name"),
    ],
)
def test_an_unknown_field_of_our_contract_is_refused(name: str, fault: str) -> None:
    assert fault in config_fault({name: "x"})


def test_fields_that_overlap_are_refused() -> None:
    spec = {"input.query": "question", "input": "folders"}
    assert "'input' and 'input.query' overlap" in config_fault(spec, "request")
    chunks = {"debug.retrieved_chunks": "a", "retrieved_chunks": "b"}
    assert "overlap" in config_fault(chunks)


def test_an_expression_that_does_not_suit_a_reply_is_a_protocol_error_that_names_it() -> None:
    read = compile_mapping({"answer": "length(text)"}, "response")
    with pytest.raises(EndpointError, match=r"response\.answer cannot be applied") as caught:
        read({"text": 7})
    assert caught.value.kind == "protocol"


def test_a_fault_of_a_mapped_reply_names_the_expression_behind_it() -> None:
    reply = {"text": "Yes.", "hits": [{"path": "a.md"}]}
    response = {"answer": "text", "debug.retrieved_chunks": "hits[].{rel_path: file}"}
    report = mapping_report(TargetSettings(response=response), {}, reply)
    keys = "keys of the reply: hits, text; hits[]: path"
    table = "in [tool.rageval.target.response]"
    place = "debug.retrieved_chunks[0].rel_path"
    error = target_error("reply_field", field=place, expected="a string", got="null")
    found = report.explained(error, "")
    assert found.message == f"{error.message}, by `hits[].{{rel_path: file}}` {table}; {keys}"
    assert found.facts["expression"] == "hits[].{rel_path: file}"
    whole = mapping_report(TargetSettings(response="{answer: out}"), {}, reply)
    error = target_error("reply_field", field="answer", expected="a string", got="nothing")
    found = whole.explained(error, "text")
    assert found.message == f"{error.message}, by `{{answer: out}}` {table}; {keys}"
    lacking = mapping_report(TargetSettings(response={"references": "refs"}), {}, reply)
    found = lacking.explained(error, "text")
    advice = 'map it: [tool.rageval.target.response] answer = "text"'
    assert found.message == f"{error.message}; {advice}; {keys}"
    assert lacking.explained(error, "").facts["unmapped"] == "answer"


def test_the_keys_of_a_nested_reply_reach_those_of_a_chunk() -> None:
    reply = {"data": {"sources": [{"document": {"path": "a.md"}, "body": "A."}], "n": 1}}
    report = mapping_report(TargetSettings(response={"answer": "text"}), {}, reply)
    assert report.keys == (
        "data; data: n, sources; data.sources[]: body, document; data.sources[].document: path"
    )
    assert mapping_report(TargetSettings(), {}, [reply]).keys.startswith("[]: data; [].data: n,")


@pytest.mark.parametrize(
    "expression", ["(" * 2000, f"{'(a || ' * 900}a{')' * 900}", "!" * 2000 + "a"]
)
def test_an_expression_that_is_nested_too_deeply_is_refused(expression: str) -> None:
    with pytest.raises(ConfigError, match=r"response\.answer: bad .*: nested too deeply$"):
        compile_mapping({"answer": expression}, "response")


@pytest.mark.parametrize(
    ("expression", "reply", "lost"),
    [
        ("hits[] | [].a", {"hits": []}, False),
        ("hits[] | [?b].a", {"hits": [{"a": 1}]}, True),
        ("hits[] | [].parts[]", {"hits": [{"parts": []}]}, False),
        ("hits[].parts[]", {"hits": [{"parts": []}]}, False),
        ("hits[?b].a || more[?b]", {"hits": [{"a": 1}], "more": []}, False),
        ("`[]`", {"hits": []}, True),
    ],
)
def test_an_empty_list_is_lost_unless_one_of_the_reply_explains_it(
    expression: str, reply: object, lost: bool
) -> None:
    assert _found_nothing(expression, reply) is lost


@pytest.mark.parametrize(
    ("field", "expression", "unread"),
    [
        ("retrieved_chunks", "hits[].{rel_path: a, text: b, chunk_id: c, page: d}", []),
        ("retrieved_chunks", "hits[].{rel_path: a, score: b, body: c}", ["score", "body"]),
        ("debug.retrieved_chunks", "some(hits[?a].{path: a})[]", ["path"]),
        ("retrieved_chunks", "(x || y)[].hits[].{path: {score: a}.score}", ["path"]),
        ("retrieved_chunks", "a && [x.{path: b}, y][] | [].{rel_path: path}", []),
        ("retrieved_chunks", "a[].{score: x} || b[].{rank: y}", ["score"]),
        ("retrieved_chunks", "unnest(hits, 'parts')", []),
        ("retrieved_chunks", "hits[", []),
        ("references", "cited[].{rel_path: a, page: b}", ["page"]),
        ("usage", "u.{input_tokens: a, outputTokens: b}", ["outputTokens"]),
        ("usage", "a.b.{outputTokens: c}", ["outputTokens"]),
        ("usage", "a.b[0].c.d.{outputTokens: c}", ["outputTokens"]),
        ("usage", "{outputTokens: c}.outputTokens", []),
        ("latency", "t.{anything: a}", []),
    ],
)
def test_names_that_an_expression_gives_and_nobody_reads_are_found(
    field: str, expression: str, unread: list[str]
) -> None:
    found = list(unread_fields({field: expression}))
    assert [said.split("'")[1] for _, said in found] == unread
    assert {name for name, _ in found} <= {field.removeprefix("debug.")}
    assert list(unread_fields(expression)) == list(unread_fields(None)) == []


def test_the_nearest_name_is_asked_for_and_else_all_are_listed() -> None:
    hits = "hits[].{rel_path: a, scor_final: b, zzz: c}"
    near, other = [said for _, said in unread_fields({"retrieved_chunks": hits})]
    assert near == "'scor_final' is not read, did you mean 'score_final'?"
    assert other.startswith("'zzz' is not read; read are rel_path, heading_path, chunk_id, ")


@pytest.mark.parametrize("preset", preset_names())
def test_every_name_that_a_preset_gives_is_read(preset: str) -> None:
    assert list(unread_fields(load_preset(preset).settings["target.response"])) == []


@pytest.mark.parametrize(
    ("request_", "more", "sends"),
    [
        (None, {}, "question k conversation"),
        ("@", {}, "question k conversation"),
        ({"q": "question"}, {}, "question"),
        ({"q": "metadata.asked", "n": "k"}, {}, "question k"),
        ({"q": "'question k history'", "n": "`[k]`", "kind": "questions"}, {}, ""),
        ({"n": "`1`"}, {"path": "/ask/{question}/{k}"}, "question k"),
        ({"n": "`1`"}, {"path": "/ask/{session}"}, "conversation"),
        ({"q": "question"}, {"headers": {"X-Chat": "{session}"}}, "question conversation"),
        ("{q: question, h: history}", {}, "question conversation"),
    ],
)
def test_a_request_sends_what_its_expressions_path_or_headers_name(
    request_: Any, more: dict[str, Any], sends: str
) -> None:
    target = TargetSettings(request=request_, **more)
    known = {"question": asks_question, "k": sends_k, "conversation": sends_conversation}
    assert [name for name, of in known.items() if of(target)] == sends.split()


def test_a_report_names_what_was_not_sent_and_what_gave_nothing() -> None:
    request = {"q": "question", "f": "folders", "m": "metadata.owner"}
    request |= {"bad": "questoin", "odd": "length(`1`)"}
    response = {"answer": "out", "debug.retrieved_chunks": "hits[]", "references": "cited[?x]"}
    target = TargetSettings(request=request, response={**response, "abstained": "no"})
    reply = {"out": "a", "hits": [], "cited": [{"y": 1}]}
    found = mapping_report(target, {"question": "Why?"}, reply)
    assert found.unsent == {name: request[name] for name in ("f", "m", "bad", "odd")}
    assert found.never_sent == {"bad", "odd"}
    assert found.empty == {"references", "abstained"}
    assert [name for name in ("answer", "references", "usage") if found.nothing(name)] == [
        "references"
    ]
    assert found.nothing("references").endswith(f"; keys of the reply: {found.keys}")
    names = {name: found.name_of(name) for name in ("retrieved_chunks", "usage")}
    assert names == {"retrieved_chunks": "retrieved_chunks", "usage": None}
    assert mapping_report(target, {}, None).empty == set()


def test_what_a_preset_may_leave_out_is_not_called_nothing_unless_it_is_mapped_anew() -> None:
    own = load_preset("hayhooks").settings["target.response"]
    for response in (own, {**own, "retrieved_chunks": "documents"}):
        found = mapping_report(TargetSettings(preset="hayhooks", response=response), {}, {})
        assert found.optional == ({"retrieved_chunks"} if response is own else set())
        assert bool(found.nothing("retrieved_chunks")) is (response is not own)


def test_an_error_of_no_field_has_the_keys_and_no_expression() -> None:
    report = mapping_report(TargetSettings(response="out"), {}, {})
    whole = target_error("reply_field", field="the reply", expected="an object", got="null")
    for error in (whole, target_error("mapping_failed", setting="x", reason="y", instead="")):
        facts = report.explained(error, "text").facts
        assert ("expression" in facts, facts["keys"]) == (False, "none")


def test_the_keys_of_a_stream_are_those_of_the_first_event_of_each_kind_and_of_the_last() -> None:
    kinds = [("b", {"y": 1}), ("a", {"x": 1}), ("b", {"z": 1})]
    events = [{"event": kind, "data": data} for kind, data in kinds]

    def keys(events: list[Any], last: object) -> str:
        return mapping_report(TargetSettings(), {}, {"events": events, "last": last}).keys

    first, second = "events[?event=='a'].data: x", "events[?event=='b'].data: y"
    assert keys(events, {"data": {"w": 1}}) == f"events, last; last.data: w; {first}; {second}"
    assert keys(events[:1], None) == "events, last; last.data: no keys; events[].data: y"


@pytest.mark.parametrize("spec", ["{answer: text}", {"answer": "text"}])
def test_a_mapping_gives_as_much_as_the_limit_and_no_more(
    spec: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = compile_mapping(spec, "response")
    monkeypatch.setattr("pytest_rageval.target.mapping.MOST_CHARS", 1000)
    around = 8 + (8 + len("answer") if isinstance(spec, str) else 8)
    assert read({"text": "x" * (1000 - around)})
    with pytest.raises(EndpointError) as caught:
        read({"text": "x" * (1001 - around)})
    assert caught.value.code == "mapping_too_large"


def test_an_error_that_is_mapped_hides_what_else_is_read_from_a_reply() -> None:
    table = {"answer": "length(x)", "error": "e"}
    assert compile_mapping(table, "response")({"e": "It failed."}) == {"error": "It failed."}
    assert compile_mapping(table, "response")({"e": 0, "x": "ab"}) == {"answer": 2, "error": 0}
    assert compile_mapping(table, "request")({"e": "no", "x": "ab"}) == {"answer": 2, "error": "no"}


@pytest.mark.parametrize("expression", ["env:KEY", "Bearer env:KEY "])
def test_a_variable_in_the_place_of_an_expression_is_named(expression: str) -> None:
    with pytest.raises(ConfigError) as caught:
        compile_expression(expression, "x")
    assert caught.value.faults[0].facts["variable"] == "KEY"


def test_lists_that_cannot_be_joined_are_advised_to_become_texts() -> None:
    for value, advised in (([["x"]], True), ([1], False), ("x", False)):
        with pytest.raises(EndpointError) as caught:
            compile_expression("join(', ', a)", "x")({"a": value})
        assert ("instead" in caught.value.facts) is advised


def test_a_text_is_quoted_as_toml_reads_it() -> None:
    for text in ("a", 'a"b', "a'b", "a'b\"c", "ö\n"):
        assert tomllib.loads(f"x = {quoted(text)}") == {"x": text}
    assert quoted('a"b') == "'a\"b'"
