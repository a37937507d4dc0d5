"""Bytes of streams as events, by the rules of the standard."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.support.http.transport import Stopwatch
from pytest_rageval.target import stream
from pytest_rageval.target.stream import LinesParser, SseParser, StreamReader, StreamRules
from pytest_rageval.values.errors import ConfigError, EndpointError
from pytest_rageval.values.settings import TargetSettings
from tests.build.streams import line, sse


def events(body: bytes, parser: SseParser | LinesParser | None = None) -> list[dict[str, Any]]:
    parser = parser or SseParser()
    return [*parser.feed(body), *parser.end()]


def message(data: object, event: str = "message", **named: str) -> dict[str, Any]:
    return {"event": event, "data": data, **named}


@pytest.mark.parametrize(
    ("body", "found"),
    [
        # The examples of the standard.
        (b"data: YHOO\ndata: +2\ndata: 10\n\n", [message("YHOO\n+2\n10")]),
        (
            b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\n"
            b"data:  third event\n\n",
            [message("first event", id="1"), message("second event"), message(" third event")],
        ),
        (b"data\n\ndata\ndata\n\ndata:", [message(""), message("\n")]),
        (b"data:test\n\ndata: test\n\n", [message("test"), message("test")]),
        # Ends of lines, a byte order mark, fields that mean nothing, names without data.
        (b"\xef\xbb\xbfdata: a\r\n\r\ndata: b\r\rdata: c\n\n", [message(c) for c in "abc"]),
        (b"event: add\ndata: 1 2\nretry: 7\nfoo: bar\n\n", [message("1 2", "add")]),
        (b"event: ping\n\ndata: a\n\n", [message("a")]),
        (b"id: 4\ndata: a\n\nid: 5\0\ndata: b\n\n", [message("a", id="4"), message("b", id="4")]),
        (b" data: not a field\n\n", []),
        (b"data: cut", []),
        (b"data: cut\n", []),
        (b"data: \xff\n\n", [message("�")]),
        (b"", []),
    ],
)
def test_server_sent_events_are_read_by_the_rules_of_the_standard(
    body: bytes, found: list[dict[str, Any]]
) -> None:
    assert events(body) == found


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ('{"a": [1, 2.5, NaN]}', {"a": [1, 2.5, None]}),
        ("[1]", [1]),
        ('"two words"', "two words"),
        ("42", "42"),  # a token of an answer, which join() takes
        ("true", "true"),
        ("{not json", "{not json"),
        ('{"a":\ndata: 1}', {"a": 1}),
    ],
)
def test_data_is_decoded_where_it_is_an_object_a_list_or_a_string(text: str, data: object) -> None:
    assert events(f"data: {text}\n\n".encode()) == [message(data)]


def test_a_line_end_in_pieces_leaves_the_blank_line_after_it() -> None:
    parser = SseParser()
    pieces = (b"data: x\r", b"\n", b"\n")
    assert [len(list(parser.feed(piece))) for piece in pieces] == [0, 0, 1]


def test_lines_of_json_are_events_without_a_name() -> None:
    body = b'\xef\xbb\xbf{"a": 1}\r\n\n7\n"x"\n[DONE]\n{"last": true}'
    assert [e["data"] for e in events(body, LinesParser())] == [
        {"a": 1}, 7, "x", "[DONE]", {"last": True},
    ]  # fmt: skip
    assert events(b'{"a": 1}\n{"b": ', LinesParser()) == [{"event": None, "data": {"a": 1}}]


def test_a_line_with_a_prefix_is_an_event_of_that_name() -> None:
    found = events(b'0:"14 days."\n8:[{"a": 1}]\nd:{"finishReason": "stop"}', LinesParser())
    assert [(one["event"], one["data"]) for one in found] == [
        ("0", "14 days."), ("8", [{"a": 1}]), ("d", {"finishReason": "stop"}),
    ]  # fmt: skip


def test_a_line_that_is_not_json_is_named() -> None:
    with pytest.raises(EndpointError, match="line 2 of the stream is not JSON; it begins: data: x"):
        events(b"{}\ndata: x\n", LinesParser())


def pieces(body: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(body), *(cut % (len(body) + 1) for cut in cuts)})
    return [body[a:b] for a, b in itertools.pairwise(places)]


LINE = st.one_of(
    st.sampled_from(
        ["", "data", "data:", ": c", "id: 1", "event: e", "data: é€😀", 'data: {"a":1}']
    ),
    st.text("data: evntidé😀\0", max_size=12),
)
STREAM = st.lists(st.tuples(LINE, st.sampled_from(["\n", "\r", "\r\n"])), max_size=12)
CUTS = st.lists(st.integers(0, 500), max_size=20)


@settings(max_examples=60)
@given(STREAM, st.booleans(), CUTS)
def test_any_pieces_of_server_sent_events_give_the_same_events(
    lines: list[tuple[str, str]], marked: bool, cuts: list[int]
) -> None:
    text = "".join(text + end for text, end in lines)
    body = b"\xef\xbb\xbf" * marked + text.encode()
    parser = SseParser()
    found = [event for piece in pieces(body, cuts) for event in parser.feed(piece)]
    assert found == events(body) == by_the_book(text)


@settings(max_examples=40)
@given(st.lists(st.recursive(st.text() | st.integers(), st.lists, max_leaves=4)), CUTS)
def test_any_pieces_of_lines_of_json_give_the_same_events(
    values: list[Any], cuts: list[int]
) -> None:
    body = b"".join(map(line, values))
    parser = LinesParser()
    found = [event["data"] for piece in pieces(body, cuts) for event in parser.feed(piece)]
    assert found == values == [event["data"] for event in events(body, LinesParser())]


def by_the_book(text: str) -> list[dict[str, Any]]:
    """Events of a whole text, written after the steps of the standard (9.2.6)."""
    found = []
    data = event = last_id = ""
    *lines, _ = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for one in lines:
        if one == "":
            if data != "":
                value: Any = data.removesuffix("\n")
                if value.strip() == '{"a":1}':
                    value = {"a": 1}
                named = {"id": last_id} if last_id else {}
                found.append({"event": event or "message", "data": value, **named})
            data = event = ""
        elif not one.startswith(":"):
            name, _, value = one.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if name == "event":
                event = value
            elif name == "data":
                data += value + "\n"
            elif name == "id" and "\0" not in value:
                last_id = value
    return found


def rules(**target: Any) -> StreamRules:
    return StreamRules(TargetSettings(**{"stream": "sse", **target}))


def document(
    body: bytes, *, delimited: bool = True, **target: Any
) -> tuple[Any, EndpointError | None]:
    return StreamReader(rules(**target)).document(body, delimited=delimited)


def test_the_last_event_ends_the_stream_and_what_follows_is_left_out() -> None:
    body = sse({"text": "a"}) + sse({"n": 1}, "end") + sse({"text": "telemetry"})
    found, fault = document(body, last_event="event == 'end'")
    assert [event["data"] for event in found["events"]] == [{"text": "a"}, {"n": 1}]
    assert found["last"] == message({"n": 1}, "end")
    assert fault is None


@pytest.mark.parametrize("last_event", [None, "data == '[DONE]'"])
def test_the_mark_of_the_end_is_no_event(last_event: str | None) -> None:
    body = sse({"text": "a"}) + sse("[DONE]") + sse({"text": "b"})
    found, fault = document(body, last_event=last_event)
    assert found == {"events": [message({"text": "a"})], "last": message({"text": "a"})}
    assert fault is None


def test_the_answer_of_an_mcp_server_ends_its_stream() -> None:
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "a"}]}}
    note = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}
    found, fault = document(sse(note) + sse(answer) + sse(note))
    assert found["last"]["data"] == answer
    assert fault is None


def test_a_stream_without_its_last_event_ended_early() -> None:
    body = sse({"answer": "14 da"}, "token") + sse({"answer": "ys"}, "token")
    fault = document(body, last_event="event == 'end'")[1]
    assert fault is not None
    assert (fault.kind, fault.code) == ("protocol", "stream_no_last_event")
    assert fault.message == (
        "the stream ended early: last_event `event == 'end'` matches none of its 2 events "
        "(2 token); keys of the last one's data: answer"
    )


def test_a_body_without_an_event_ended_early() -> None:
    early = "the stream ended early: no event arrived"
    assert str(document(b"<html>")[1]) == f"{early}; it begins: <html>"
    assert str(document(b"")[1]) == f"{early}; it is empty"
    fault = document(line({"a": 1}) * 2)[1]
    assert fault is not None
    assert (fault.code, fault.facts["stream"]) == ("stream_no_event", "ndjson")


def test_a_body_that_only_the_connection_ends_needs_a_last_event() -> None:
    fault = document(sse("a"), delimited=False)[1]
    assert "name the event that ends it: last_event in [tool.rageval.target]" in str(fault)
    assert document(sse("a") + sse("[DONE]"), delimited=False)[1] is None


@pytest.mark.parametrize(
    ("body", "kind", "read_as"),
    [
        (line({"a": 1}) * 2, "sse", "ndjson"),
        (line({"a": 1}) * 2, "off", "ndjson"),
        (b"\n: hi\n\n" + sse({}), "off", "sse"),
        (sse("a"), "ndjson", "sse"),
        (sse("a"), "sse", ""),
        (b'{\n"a": 1\n}', "off", ""),
        (b"<html>", "sse", ""),
        (b"", "sse", ""),
    ],
)
def test_a_body_in_another_format_is_recognised(body: bytes, kind: str, read_as: str) -> None:
    names = {"ndjson": "lines of JSON", "sse": "server-sent events"}
    found = stream.stream_facts(body, kind)
    assert found == ({"looks_like": names[read_as], "stream": read_as} if read_as else {})


def test_the_pieces_of_a_stream_are_read_once() -> None:
    body = sse({"t": "a"}) + sse({"t": "b"})
    reader = StreamReader(rules())
    reader.feed("text/event-stream", body[:-4])
    found: Any = reader.document(body)[0]
    assert [event["data"] for event in found["events"]] == [{"t": "a"}, {"t": "b"}]


@pytest.mark.parametrize("live", [True, False])
def test_a_stream_of_too_many_events_is_an_error(
    monkeypatch: pytest.MonkeyPatch, live: bool
) -> None:
    monkeypatch.setattr(stream, "MOST_EVENTS", 3)
    assert document(sse("a") * 3 + sse("[DONE]"))[1] is None
    reader = StreamReader(rules())
    if live:
        assert reader.feed("text/event-stream", sse("a") * 4)
    with pytest.raises(EndpointError, match="the stream has more than 3 events"):
        reader.document(sse("a") * 4)


@given(
    st.sampled_from(["[DONE]", "", None, 0, [], {"jsonrpc": "[DONE]"}])
    | st.dictionaries(
        st.sampled_from(["jsonrpc", "result", "error", "id"]),
        st.sampled_from([None, False, 0, "", "2.0", [], {}, [0], {"a": 1}]),
    )
)
def test_the_usual_end_is_that_of_its_expression(data: object) -> None:
    written = "data == '[DONE]' || data.jsonrpc && (data.result || data.error)"
    event = {"event": "message", "data": data}
    assert rules().is_last(event) == rules(last_event=written).is_last(event)


@pytest.mark.parametrize(("kind", "depth"), [("sse", 150), ("ndjson", 100_000)])
def test_an_event_that_is_nested_too_deeply_is_an_error(kind: str, depth: int) -> None:
    data = "[" * depth + "]" * depth
    body = sse(data) if kind == "sse" else data.encode() + b"\n"
    with pytest.raises(EndpointError, match="nested deeper than 100 levels"):
        document(body, stream=kind)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (sse({"message": "rate limit", "code": 7}, "error"), "rate limit"),
        (sse("rate limit", "error"), "rate limit"),
        (sse({"code": 7}, "error"), "the reply reports an error without a message"),
        (sse({}, "error"), "the reply reports an error without a message"),
        (sse({"error": {"message": "rate limit"}}), "rate limit"),
        (sse({"error": "rate limit"}, "status"), "rate limit"),
        (sse({"error": None}) + sse({"error": {"code": 0}}) + sse({"error": ""}), ""),
        (sse("error"), ""),
    ],
)
def test_an_event_that_reports_an_error_ends_the_stream(body: bytes, message: str) -> None:
    found, _ = document(body + sse("after"))
    assert rules().error(found["last"]) == message
    assert (found["last"]["data"] == "after") == (message == "")
    mapped = rules(response={"answer": "last.data", "error": "last.x"})
    assert mapped.error(found["last"]) == ""


@pytest.mark.parametrize("key", ["first_token", "last_event"])
def test_a_bad_expression_is_named_by_its_key(key: str) -> None:
    with pytest.raises(ConfigError, match=rf"\[tool\.rageval\.target\] {key}: bad JMESPath"):
        rules(**{key: "data.["})


def test_events_that_one_piece_holds_are_not_read_beyond_the_limit_of_time() -> None:
    watch = Stopwatch()
    reader = StreamReader(rules(), watch=watch)
    reader.feed("text/event-stream", sse("a"))
    watch.ends_at = 0.0
    with pytest.raises(TimeoutError):
        reader.feed("text/event-stream", sse("a") * 64)
