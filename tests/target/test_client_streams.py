"""The HTTP client against targets that answer with a stream of events, over real sockets."""

from __future__ import annotations

import gzip
import re
from collections.abc import Sequence
from typing import Any

import pytest

from pytest_rageval.target.client import HttpRagClient
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.reply import AskRequest, AskResponse, AskResult
from pytest_rageval.values.settings import TargetSettings
from tests.build.streams import SlowStream, line, sse, whole
from tests.build.targets import FakeTarget, Reply, fake_target, http_reply, json_reply
from tests.docs.examples import read_document

TRUTH_MS = 30
MAP_IT = "; map it with answer in [tool.rageval.target.response]"
TOKENS = ("Every ", "14", " days.")
END = {"documents": [{"path": "pump.md", "text": "Oil it every 14 days."}]}
SSE: dict[str, Any] = {
    "stream": "sse",
    "last_event": "event == 'end'",
    "response": {
        "answer": "join('', events[?event=='token'].data.t)",
        "retrieved_chunks": "last.data.documents[].{rel_path: path, text: text}",
        "error": "events[?event=='error'] | [0].data.message",
    },
}
NDJSON: dict[str, Any] = {
    "stream": "ndjson",
    "last_event": "data.done",
    "first_token": "data.response",
    "response": {
        "answer": "join('', events[].data.response)",
        "retrieved_chunks": "events[0].data.references[].{rel_path: file_path}",
    },
}


def tokens() -> list[bytes]:
    return [sse({"t": text}, "token") for text in TOKENS]


def ask(*replies: Reply, **settings: Any) -> AskResult:
    return ask_noting(*replies, **settings)[0]


def ask_noting(*replies: Reply, **settings: Any) -> tuple[AskResult, FakeTarget]:
    with fake_target(*replies) as target:
        client = HttpRagClient(
            TargetSettings(**{"url": target.url, "retries": 2, **settings}), sleep=lambda _: None
        )
        result = client.ask_result(AskRequest(question="How often does the pump need oil?"))
        client.close()
    return result, target


def answered(*replies: Reply, **settings: Any) -> AskResponse:
    result = ask(*replies, **settings)
    assert result.response is not None, result.error
    return result.response


def failure(*replies: Reply, **settings: Any) -> tuple[str, str]:
    result = ask(*replies, **settings)
    assert result.response is None
    assert result.error is not None
    return result.error.kind, result.error.message


def timed(pieces: Sequence[tuple[float, bytes]], first: int, **settings: Any) -> AskResponse:
    """Ask a server whose first token is one of its pieces; its time must be that of the server.

    Two of three tries may be late, for the machine may do other things.
    """
    off = []
    for _ in range(3):
        server = SlowStream(pieces)
        result = ask(server, **settings)
        assert result.response is not None, result.error
        assert result.total_ms is not None
        assert result.asked_at is not None
        times = ((result.response.latency["ttft_ms"], first), (result.total_ms, -1))
        # Since the request was sent, with which the server may take long to begin.
        sent = [(at - result.asked_at) * 1000 for at in server.sent]
        off.append(max(abs(ms - sent[n]) for ms, n in times))
        if off[-1] <= TRUTH_MS:
            return result.response
    pytest.fail(f"milliseconds off the truth: {off}")


def test_slow_tokens_are_joined_and_the_first_one_is_timed() -> None:
    first, *others = tokens()
    status = sse({"state": "searching"}, "status")
    pieces = [(0.0, status), (0.15, first), *((0.05, one) for one in [*others, sse(END, "end")])]
    response = timed(pieces, 1, **SSE)
    assert response.answer == "Every 14 days."
    assert [chunk.rel_path for chunk in response.retrieved_chunks or ()] == ["pump.md"]


def test_lines_of_json_are_read_as_they_come() -> None:
    references = line({"references": [{"file_path": "pump.md"}]})
    parts = [(0.1, line({"response": text})) for text in TOKENS]
    response = timed([(0.0, references), *parts, (0.0, line({"done": True}))], 1, **NDJSON)
    assert response.answer == "Every 14 days."
    assert [chunk.rel_path for chunk in response.retrieved_chunks or ()] == ["pump.md"]


def test_plain_text_is_the_answer_without_a_mapping_and_its_first_piece_is_timed() -> None:
    pieces = [(0.0, b"\n"), (0.1, b"Alle 14 Tage \xc3"), (0.05, b"\xb6len.")]
    response = timed(pieces, 1, stream="text")
    assert response.answer == "\nAlle 14 Tage ölen."
    assert response.retrieved_chunks is None


def test_plain_text_of_known_length_and_one_document_are_read_too() -> None:
    found = answered(whole(b"Every 14 days. [DONE]", "text/plain; charset=utf-8"), stream="text")
    assert found.answer == "Every 14 days. [DONE]"
    document = whole(b'{"answer": "Every 14 days."}', "application/json")
    assert answered(document, stream="text").answer == "Every 14 days."
    assert ask(whole(b"", "text/plain"), stream="text").response is not None


def test_a_page_in_place_of_plain_text_is_no_answer() -> None:
    page = b"<!DOCTYPE html>\n<html><title>Sign in</title></html>"
    kind, text = failure(whole(page, "text/html"), stream="text")
    assert (kind, text.partition(";")[0]) == ("protocol", "the reply is HTML")


@pytest.mark.parametrize(
    ("kind", "body", "content_type"),
    [
        ("sse", sse("Every 14 days."), "text/event-stream"),
        ("ndjson", line({"a": 1}) + line({"a": 2}), "application/x-ndjson"),
    ],
)
def test_a_stream_of_events_in_place_of_plain_text_is_no_answer(
    kind: str, body: bytes, content_type: str
) -> None:
    found = failure(whole(body, content_type), stream="text")
    assert found[0] == "protocol"
    assert found[1].endswith(f'set stream = "{kind}" in [tool.rageval.target]')


def test_plain_text_whose_mapping_finds_nothing_is_not_called_a_json_document() -> None:
    kind, text = failure(whole(b"14", "text/plain"), stream="text", response={"answer": "other"})
    assert kind == "protocol"
    assert "JSON document" not in text


@pytest.mark.parametrize(
    "content_type", ["text/plain", "text/html; charset=utf-8", "application/octet-stream", ""]
)
def test_plain_text_that_no_setting_expects_is_named(content_type: str) -> None:
    for stream in ("off", "sse", "ndjson"):
        kind, text = failure(whole(b"Every 14 days.", content_type), stream=stream)
        assert kind == "protocol"
        assert text.endswith(
            'it looks like plain text: set stream = "text" in [tool.rageval.target]'
        )


@pytest.mark.parametrize("body", [b"\n<h1>Not here</h1>", b" ", b'{"answer": "Ev', b"%PDF-1.7\0"])
def test_a_body_of_another_kind_is_not_called_plain_text(body: bytes) -> None:
    for content_type in ("text/html", "application/octet-stream", ""):
        assert "plain text" not in failure(whole(body, content_type), stream="off")[1]


@pytest.mark.parametrize("name", ["first_token", "last_event"])
def test_plain_text_has_no_events_to_name(name: str) -> None:
    settings: dict[str, Any] = {"url": "http://127.0.0.1:9", "stream": "text", name: "data"}
    with pytest.raises(ConfigError, match=f"{name}: a stream of plain text has no events"):
        HttpRagClient(TargetSettings(**settings))


@pytest.mark.slow
def test_a_pause_of_three_seconds_before_the_first_token_is_its_time() -> None:
    first, *others = tokens()
    pieces = [(0.0, b": connected\n\n"), (3.0, first)]
    pieces += [(0.0, one) for one in [*others, sse(END, "end")]]
    response = timed(pieces, 1, **SSE)
    assert response.latency["ttft_ms"] >= 3000


@pytest.mark.parametrize(
    ("settings", "reply", "accept"),
    [
        (SSE, whole(sse({"t": "a"}, "token") + sse(END, "end")), "text/event-stream"),
        (
            NDJSON,
            whole(line({"response": "a", "done": True}), "text/plain"),
            "application/x-ndjson",
        ),
    ],
)
def test_a_stream_is_asked_for_and_read_also_where_it_ends_with_the_connection(
    settings: dict[str, Any], reply: bytes, accept: str
) -> None:
    closed = re.sub(rb"Content-Length: \d+\r\n", b"", reply)
    result, target = ask_noting(closed, **settings)
    assert result.response is not None, result.error
    assert result.response.answer == "a"
    assert target.received[0].headers["accept"] == f"{accept}, application/json"


@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize(
    ("piece", "settings"),
    [(sse({"t": TOKENS[0]}, "token"), SSE), (b"Every 14", {"stream": "text"})],
)
def test_a_stream_that_is_cut_is_an_error_and_not_tried_again(
    piece: bytes, settings: dict[str, Any], chunked: bool
) -> None:
    kind = "text/plain" if settings["stream"] == "text" else "text/event-stream"
    server = SlowStream([(0.0, piece)], kind, chunked=chunked, cut=True)
    result, target = ask_noting(server, **settings)
    assert result.response is None
    assert result.error is not None
    assert (result.error.kind, len(target.received)) == ("protocol", 1)
    assert "the stream ended early" in result.error.message
    assert "keys of the reply" not in result.error.message


def test_a_stream_without_a_named_end_that_is_cut_is_an_error() -> None:
    settings = SSE | {"last_event": None}
    server = SlowStream([(0.0, one) for one in tokens()[:2]], cut=True)
    kind, message = failure(server, **settings)
    assert (kind, "the stream ended early, after 2 events" in message) == ("protocol", True)
    kind, message = failure(SlowStream(server.pieces, chunked=False), **settings)
    assert (kind, "name the event that ends it" in message) == ("protocol", True)


def test_events_after_the_last_one_are_not_waited_for_and_not_the_answer() -> None:
    telemetry = sse({"t": "Not the answer."}, "token")
    pieces = [*((0.0, one) for one in tokens()), (0.0, sse(END, "end")), (5.0, telemetry)]
    result = ask(SlowStream(pieces), **SSE)
    assert result.response is not None, result.error
    assert result.response.answer == "Every 14 days."
    assert result.total_ms is not None
    assert result.total_ms < 2000
    at_once = ask(whole(b"".join(one for _, one in pieces)), **SSE)
    assert at_once.response is not None
    assert at_once.response.answer == "Every 14 days."


def test_an_error_in_the_stream_is_one_of_the_target_also_where_the_stream_ends_with_it() -> None:
    body = tokens()[0] + sse({"message": "rate limit"}, "error")
    assert failure(whole(body), **SSE) == ("target", "rate limit")


def test_a_document_in_place_of_a_stream_is_named_before_its_expressions_are_searched() -> None:
    reply = json_reply(
        {"choices": [{"message": {"content": "a"}}]}, content_type="application/json"
    )
    kind, message = failure(reply, **SSE)
    assert kind == "protocol"
    assert message.endswith("; it is one JSON document, not a stream")
    lost = SSE | {"response": {"answer": "last.data.txt"}}
    assert "as a stream" not in failure(whole(sse({}, "end")), **lost)[1]


def test_pieces_of_plain_text_are_joined_by_the_expression_of_the_page() -> None:
    found = re.search(r"`(join\(.*map\(.*)`\.", read_document("streams.md"))
    assert found is not None
    body = b"event: sources\ndata: []\n\ndata: Every 14 days \n\ndata: [1]\n\ndata: [DONE]\n\n"
    response = answered(whole(body), stream="sse", response={"answer": found[1]})
    assert response.answer == "Every 14 days [1]"


@pytest.mark.parametrize("spec", [{"answer": "join('', events[].data.t)"}, "{answer: 'a'}", None])
def test_an_error_in_the_stream_needs_no_mapping(spec: Any) -> None:
    settings = SSE | {"response": spec}
    error = sse({"error": {"message": "out of tokens for s3cret-key"}})
    server = SlowStream([(0.0, tokens()[0]), (0.0, error), (20.0, sse(END, "end"))])
    headers = {"X-Api-Key": "s3cret-key"}
    assert failure(server, **settings, headers=headers) == ("target", "out of tokens for ***")


def test_a_reply_of_type_json_is_read_as_without_a_stream() -> None:
    settings = SSE | {"response": {"answer": "answer || join('', events[].data.t)"}}
    headers = {"content_type": "application/json; charset=utf-8"}
    response = answered(json_reply({"answer": "At once."}, **headers), **settings)
    assert response.answer == "At once."
    assert "ttft_ms" not in response.latency


def test_events_of_type_json_are_a_stream() -> None:
    pieces = [b": connected\n\n", *tokens(), sse(END, "end")]
    server = SlowStream([(0.0, one) for one in pieces], content_type="application/json")
    response = answered(server, **SSE)
    assert response.answer == "Every 14 days."
    assert response.latency["ttft_ms"] > 0


def test_lines_of_json_of_type_json_are_a_stream_and_one_document_is_none() -> None:
    lines = [line({"response": text}) for text in TOKENS] + [line({"done": True})]
    server = SlowStream([(0.0, one) for one in lines], content_type="application/json")
    response = answered(server, **NDJSON)
    assert response.answer == "Every 14 days."
    assert response.latency["ttft_ms"] > 0
    settings = NDJSON | {"response": {"answer": "response"}}
    for body in (b'{"response": "a", "done": true}\n', b'{\n  "response": "a"\n}'):
        pieces = [(0.0, body[:9]), (0.0, body[9:])]
        response = answered(SlowStream(pieces, content_type="application/json"), **settings)
        assert response.answer == "a"
        assert "ttft_ms" not in response.latency


@pytest.mark.parametrize(
    ("kind", "reply", "named"),
    [
        ("off", whole(sse("a")), '; it looks like server-sent events: set stream = "sse"'),
        ("ndjson", whole(sse("a")), '; it looks like server-sent events: set stream = "sse"'),
        ("sse", whole(line({}) * 2), '; it looks like lines of JSON: set stream = "ndjson"'),
        (
            "sse",
            whole(line({}) * 2, "application/json"),
            '; it looks like lines of JSON: set stream = "ndjson"',
        ),
    ],
)
def test_a_reply_in_another_format_than_set_is_named(kind: str, reply: bytes, named: str) -> None:
    assert named in failure(reply, stream=kind)[1]


@pytest.mark.parametrize(
    ("kind", "response", "depth"),
    [("off", {"answer": "answer", "retrieved_chunks": "x[][]"}, 500), ("sse", None, 100_000)],
)
def test_a_reply_that_is_nested_too_deeply_is_an_error(
    kind: Any, response: Any, depth: int
) -> None:
    body = b'{"answer": "a", "x": ' + b"[" * depth + b"]" * depth + b"}"
    reply = whole(b"data: " + body + b"\n\n") if kind == "sse" else http_reply(body)
    with fake_target(reply) as target:
        headers = {"X-Api-Key": "s3cret-key"}
        settings = TargetSettings(url=target.url, headers=headers, stream=kind, response=response)
        client = HttpRagClient(settings)
        result = client.inspect(AskRequest(question="q")).result
        client.close()
    assert result.error is not None
    assert result.error.kind == "protocol"
    assert "nested deeper than 100 levels" in result.error.message


def test_an_answer_of_an_mcp_server_is_read_in_both_of_its_forms() -> None:
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "14"}]}}
    note = {"jsonrpc": "2.0", "method": "notifications/progress"}
    settings = {"stream": "sse", "response": {"answer": "(last.data || @).result.content[0].text"}}
    for reply in (
        SlowStream([(0.0, sse(note)), (0.0, sse(answer))], chunked=False),
        json_reply(answer, content_type="application/json"),
    ):
        result = ask(reply, **settings)
        assert result.response is not None, result.error
        assert result.response.answer == "14"


def test_a_secret_that_tokens_spell_does_not_come_out() -> None:
    parts = [sse({"t": part}, "token") for part in ("key s3cr", "et-key", ".")]
    settings = SSE | {"headers": {"X-Api-Key": "s3cret-key"}}
    assert answered(whole(b"".join([*parts, sse(END, "end")])), **settings).answer == "key ***."


def test_a_packed_stream_is_unpacked() -> None:
    body = gzip.compress(b"".join([*tokens(), sse(END, "end")]))
    reply = http_reply(body, content_type="text/event-stream", content_encoding="gzip")
    assert answered(reply, **SSE).answer == "Every 14 days."


def test_the_limit_of_a_body_holds_for_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_rageval.support.http.exchange.MAX_BODY_BYTES", 1 << 20)
    pieces = [(0.0, sse({"t": "x" * 300_000}, "token"))] * 8
    kind, message = failure(SlowStream(pieces), **SSE)
    assert (kind, "the reply is larger than 1 MB" in message) == ("protocol", True)


@pytest.mark.parametrize(
    ("pause", "limits", "named"),
    [
        (5.0, {"read_timeout_s": 0.2, "timeout_s": 3}, "nothing received or sent within 0.2 s"),
        (0.1, {"timeout_s": 0.35}, "no complete reply within 0.35 s"),
    ],
)
def test_limits_of_time_hold_during_a_stream(
    pause: float, limits: dict[str, float], named: str
) -> None:
    pieces = [(0.0, tokens()[0]), *[(pause, tokens()[1])] * 10]
    kind, message = failure(SlowStream(pieces), **SSE, **limits)
    assert (kind, named in message) == ("timeout", True)


def test_a_mapping_that_finds_no_answer_names_the_expression_and_the_keys() -> None:
    settings = SSE | {"response": {"answer": "last.data.txt"}}
    kind, message = failure(whole(sse({"text": "a"}, "end")), **settings)
    assert kind == "protocol"
    assert "`last.data.txt` in [tool.rageval.target.response] gave nothing" in message
    assert "keys of the reply: events, last; last.data: text" in message


def test_a_mapping_that_finds_no_answer_names_the_events_and_their_keys() -> None:
    settings = SSE | {"response": {"answer": "text"}}
    events = sse([{"path": "a.md"}], "docs") + sse({"piece": "A"}, "token") + sse({}, "end")
    assert failure(whole(events), **settings)[1].endswith(
        "keys of the reply: events, last; last.data: no keys; "
        "events[?event=='docs'].data[]: path; events[?event=='token'].data: piece"
    )
    events = sse({"piece": "A", "meta": {"page": 1}}) + sse({"piece": "B"})
    settings |= {"last_event": "data.piece == 'B'"}
    assert failure(whole(events), **settings)[1].endswith(
        "last.data: piece; events[].data: meta, piece; events[].data.meta: page"
    )


def kinds(data: str) -> bytes:
    """Return events of a chat of several kinds, each as a format of the data and its name."""
    texts = [("status", '"Looking"'), ("sources", "[1]"), *(("token", f'"{t}"') for t in TOKENS)]
    return b"".join(f"{data % one}\n\n".encode() for one in texts)


@pytest.mark.parametrize(
    ("body", "expression"),
    [
        (kinds('event: %s\ndata: {"text": %s}'), "events[?event=='token'].data.text"),
        (kinds('data: {"type": "%s", "content": %s}'), "events[?data.type=='token'].data.content"),
        (
            kinds('message:\ndata:{"event":"%s","data":%s}'),
            "events[?data.event=='token'].data.data",
        ),
        (b"".join(sse({"text": t}) for t in TOKENS), "events[].data.text"),
        (b"".join(sse({"type": 1, "text": t}) for t in TOKENS), "events[].data.text"),
        (b"".join(sse({"token": t}) for t in TOKENS), "events[].data.token"),
        (
            b"".join(sse({"choices": [{"delta": {"content": t}}]}) for t in TOKENS),
            "events[].data.choices[0].delta.content",
        ),
    ],
)
def test_a_stream_without_a_mapping_is_answered_with_the_likely_one(
    body: bytes, expression: str
) -> None:
    assert failure(whole(body))[1].endswith('set stream = "sse" in [tool.rageval.target]')
    kind, message = failure(whole(body), stream="sse")
    assert kind == "protocol"
    assert f"""answer = "join('', {expression})\"""" in message
    response = {"answer": f"join('', {expression})"}
    assert answered(whole(body), stream="sse", response=response).answer == "Every 14 days."


def test_a_citation_among_pieces_of_text_names_what_joins_it_too() -> None:
    body = sse("Every ") + sse("14") + sse("[1]")
    response = {"answer": "join('', events[].data)"}
    kind, message = failure(whole(body), stream="sse", response=response)
    assert kind == "protocol"
    assert "; write join('', map(&to_string(@), ...)) if a piece may be a list;" in message
    response = {"answer": "join('', map(&to_string(@), events[].data))"}
    assert answered(whole(body), stream="sse", response=response).answer == "Every 14[1]"


@pytest.mark.parametrize("event", ["", "text-delta"])
def test_pieces_of_text_without_a_mapping_are_answered_with_the_one_that_joins_them(
    event: str,
) -> None:
    pieces = [sse("Every ", event), sse("14", event), sse("[1]", event)]
    body = whole(
        b"".join([sse([{"path": "a.md"}], "sources"), sse("searching", "status"), *pieces])
    )
    _, message = failure(body, stream="sse")
    found = re.search(r'answer = "(.*)"', message)
    assert found is not None
    assert answered(body, stream="sse", response={"answer": found[1]}).answer == "Every 14[1]"


def test_a_stream_without_texts_is_answered_without_an_expression() -> None:
    for one in (sse([1]), sse("a", "it's")):
        assert failure(whole(one), stream="sse")[1].endswith("(fields: events, last)" + MAP_IT)
