from __future__ import annotations

import contextlib
import tomllib
from typing import Any

import pytest

from pytest_rageval.target.client import HttpRagClient, Inspection
from pytest_rageval.target.proposing import (
    Proposal,
    propose_request,
    propose_response,
    skeleton,
)
from pytest_rageval.values.reply import AskRequest, ErrorInfo
from pytest_rageval.values.settings import TargetSettings
from tests.build.targets import fake_target, json_reply

TEXT = "The north gate opens at 8:15 and closes at 17:40."
HITS = {"said": "At 8:15.", "hits": [{"path": "a.md", "body": TEXT}]}
CHUNKS = "hits[].{rel_path: path, text: body}"


def proposed(response: Any, reply: object) -> dict[str, str] | None:
    found = propose_response(TargetSettings(response=response), reply, {}, ())
    return None if found is None else {**found.response}


def test_a_proposal_without_a_mapping_keeps_what_is_read_without_one() -> None:
    reply = {**HITS, "error": None, "abstained": False, "debug": {"models": {"llm_model": "m"}}}
    assert proposed(None, reply) == {
        "answer": "said",
        "retrieved_chunks": CHUNKS,
        "abstained": "abstained",
        "error": "error",
        "models": "debug.models",
    }
    assert proposed(None, {"answer": "Yes.", "debug": {"retrieved_chunks": []}}) is None


def test_a_proposal_leaves_out_what_cannot_be_read_without_a_mapping() -> None:
    sources = [{"url": "a.md", "content": TEXT}]
    assert proposed(None, {"answer": {"text": "Yes."}, "references": sources}) == {
        "answer": "answer.text",
        "retrieved_chunks": "references[].{rel_path: url, text: content}",
    }


def test_expressions_that_read_the_reply_stay_and_the_others_are_replaced() -> None:
    written = {"answer": "said", "abstained": "hits", "retrieved_chunks": "hits[].{rel_path: p}"}
    assert proposed(written, HITS) == {"answer": "said", "retrieved_chunks": CHUNKS}
    assert proposed("{answer: nothing}", HITS) == {"answer": "said", "retrieved_chunks": CHUNKS}
    assert proposed({"answer": "said", "debug.retrieved_chunks": CHUNKS}, HITS) is None


def test_expressions_of_a_blank_answer_or_of_no_chunks_are_replaced() -> None:
    reply = {**HITS, "blank": " ", "none": []}
    read = {"answer": "said", "retrieved_chunks": CHUNKS}
    for written in ({"answer": "blank"}, {"answer": "said", "retrieved_chunks": "none"}):
        assert proposed(written, reply) == read
    assert proposed({**read, "answer": "hits[0].path"}, reply) is None


def test_references_are_proposed_only_where_none_are_read() -> None:
    reply = {**HITS, "cited": ["a.md"]}
    named = {"answer": "said", "retrieved_chunks": CHUNKS, "references": "cited[].{rel_path: @}"}
    assert proposed(None, reply) == named
    written = {"references": "cited[:1].{rel_path: @}"}
    assert proposed(written, reply) == {**named, **written}


def test_a_search_that_writes_no_answer_has_a_placeholder() -> None:
    found = propose_response(TargetSettings(), HITS["hits"], {}, ())
    assert found is not None
    assert found.searches
    assert found.response == {"answer": "'-'", "retrieved_chunks": CHUNKS.removeprefix("hits")}


@pytest.mark.parametrize("reply", [{"state": "done"}, [], "", None, {"answer": "Yes."}, 7])
def test_nothing_is_proposed_where_nothing_more_is_read(reply: object) -> None:
    assert proposed(None, reply) is None


def test_a_stream_is_proposed_with_its_pieces_joined() -> None:
    pieces = [{"event": "token", "data": {"text": one}} for one in ("At ", "8:15.")]
    last = {"event": "end", "data": {"hits": HITS["hits"]}}
    assert proposed(None, {"events": [*pieces, last], "last": last}) == {
        "answer": "join('', events[?event=='token'].data.text)",
        "retrieved_chunks": f"last.data.{CHUNKS}",
    }


def test_the_trial_says_what_was_read() -> None:
    hits = [{"path": "a.md", "body": f"{TEXT} {n}", "s": 0.5 / n} for n in (1, 2, 4)]
    found = propose_response(TargetSettings(), {"said": "At 8:15.", "hits": hits}, {}, ())
    assert found is not None
    assert found.reads == (
        'answer "At 8:15.", 3 chunks of 1 document, rel_path such as "a.md", scores 0.5 to 0.125'
    )


def test_the_trial_names_a_heading_and_counts_documents_and_references() -> None:
    hits = [{"path": f"{n}.md", "body": f"{TEXT} {n}", "section": f"Part {n}"} for n in (1, 2, 4)]
    reply = {"said": "At 8:15.", "hits": hits, "cited": ["1.md", "2.md"]}
    target = TargetSettings(response={"references": "cited[].{rel_path: @}"})
    found = propose_response(target, reply, {}, ())
    assert found is not None
    assert found.reads.split(", ") == [
        'answer "At 8:15."',
        "3 chunks of 3 documents",
        'rel_path such as "1.md"',
        'heading_path such as "Part 1"',
        "no scores",
        "2 references",
    ]


def test_the_settings_are_toml_of_any_names_and_expressions() -> None:
    request = {"input.query": "question", "ort": '"a"'}
    response = {"answer": "join('', \"Wörter\")"}
    found = Proposal(request=request, response=response, reads="")
    table = tomllib.loads(found.settings)["tool"]["rageval"]["target"]
    assert table == {"request": request, "response": response}


def test_a_skeleton_is_bounded_and_has_no_control_characters() -> None:
    wide = {f"name {n}": "x" * 10_000 for n in range(100)}
    lines = skeleton({"a\x1b[31m\nb": "c\x1b[2J\nd", "deep": [[[[[[wide]]]]]], **wide})
    assert lines[0] == 'a b "c d"'
    assert len(lines) == 31
    assert max(map(len, lines)) <= 240
    assert skeleton(None) == skeleton({}) == ()
    assert skeleton({"a": {"b": {"c": {"d": 1}}}}) == ("a.b.c.d 1",)
    assert skeleton({"a": {"b": {"c": {"d": {"e": 1}}}}}) == ("a.b.c.d {e 1}",)
    assert skeleton([[[[[1]]]]]) == ("[1][1][1][1][...]",)
    assert skeleton([dict.fromkeys("abcdefghijkl", 1)])[0].endswith("k 1, l 1}")
    assert skeleton([dict.fromkeys("abcdefghijklm", 1)])[0].endswith("k 1, l 1, ...}")
    assert [len(skeleton({str(i): i for i in range(n)})) for n in (30, 31)] == [30, 31]
    assert skeleton({str(i): i for i in range(31)})[-1] == "..."
    assert skeleton({"lists": [[["x" * 50]]], "objects": [{"c": {"d": {"e": 1}}}], "none": []}) == (
        f'lists[1][1][1] "{"x" * 21}..."',
        "objects[1] {c {d {...}}}",
        "none[0]",
    )


def inspected(*replies: bytes, **settings: Any) -> tuple[Inspection, list[Any]]:
    with fake_target(*replies) as server:
        client = HttpRagClient(TargetSettings(url=server.url, retries=0, **settings), environ={})
        with contextlib.closing(client):
            found = client.inspect(AskRequest(question="When?", k=3))
    return found, [one.json for one in server.received]


def refusal(message: str, status: str = "500 Internal Server Error") -> bytes:
    return json_reply({"oops": message}, status)


def test_a_field_that_the_target_misses_is_tried_with_the_question() -> None:
    found, sent = inspected(refusal("KeyError: 'utterance'"), json_reply(HITS))
    assert sent == [{"question": "When?", "k": 3}, {"utterance": "When?"}]
    assert found.result.error is not None
    assert found.sent == ('question "When?"', "k 3")
    assert found.proposal is not None
    assert found.proposal.request == {"utterance": "question"}
    assert found.proposal.response == {"answer": "said", "retrieved_chunks": CHUNKS}
    assert found.reply[0] == 'said "At 8:15."'


def test_a_server_that_misses_ever_more_fields_is_not_asked_for_ever() -> None:
    names = ("query", "q", "input", "message", "prompt", "text", "content", "size", "limit", "topK")
    found, sent = inspected(*(refusal(f"KeyError: '{name}'") for name in names))
    assert len(sent) == 9
    assert found.proposal is not None
    assert found.proposal.reads.endswith("""KeyError: 'limit'"}""")


def test_fields_that_are_missed_one_after_the_other_are_tried_together() -> None:
    replies = refusal("KeyError: 'utterance'"), refusal("KeyError: 'sessionId'")
    found, sent = inspected(*replies, json_reply({"answer": "At 8:15."}))
    assert found.proposal is not None
    assert found.proposal.request == {"utterance": "question", "sessionId": "uuid"}
    assert [*sent[-1]] == ["utterance", "sessionId"]
    assert found.proposal.reads.startswith('answer "At 8:15."')


def test_a_field_that_is_missed_though_it_was_sent_is_not_proposed() -> None:
    found, sent = inspected(refusal("KeyError: 'embedding'"))
    assert (found.proposal, len(sent)) == (None, 2)


@pytest.mark.parametrize(
    ("reply", "proposes"),
    [
        ({"answer": "At 8:15.", "hits": HITS["hits"]}, True),
        ({"answer": "", **HITS}, True),
        ({"answer": "Yes.", "debug": {"retrieved_chunks": [{"rel_path": "a.md"}]}, **HITS}, False),
        ({"error": "busy", **HITS}, False),
    ],
)
def test_a_mapping_is_proposed_where_the_answer_or_chunks_are_not_read(
    reply: object, proposes: bool
) -> None:
    found, _ = inspected(json_reply(reply))
    assert (found.proposal is not None) is proposes
    assert found.reply


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden", "404 Not Found"])
def test_no_field_is_tried_where_the_status_has_another_cause(status: str) -> None:
    found, sent = inspected(refusal("KeyError: 'utterance'", status))
    assert (found.proposal, len(sent)) == (None, 1)


@pytest.mark.parametrize(
    ("kind", "facts", "request_", "fields"),
    [
        ("http", {"reason": "KeyError: 'q'"}, None, ["q"]),
        ("http", {"begins": "KeyError: 'q'"}, {"k": "k"}, ["k", "q"]),
        ("http", {"reason": "KeyError: 'q'", "status": 405}, None, []),
        ("http", {"reason": "KeyError: 'question'"}, None, []),  # which was sent
        ("timeout", {"reason": "KeyError: 'q'"}, None, []),
        ("http", {"reason": "KeyError: 'q'"}, "{question: question}", []),
    ],
)
def test_a_request_is_proposed_with_fields_that_a_refusal_misses_and_that_were_not_sent(
    kind: Any, facts: dict[str, Any], request_: Any, fields: list[str]
) -> None:
    error = ErrorInfo(kind=kind, message="", facts=facts)
    found = propose_request(TargetSettings(request=request_), error, {"question": "When?"})
    assert [*found] == fields


def test_neither_the_body_nor_the_reply_shows_a_secret() -> None:
    key = "s3cret-key-17"
    found, _ = inspected(
        json_reply({"said": f"It is {key}.", key: 1}, "400 Bad Request"),
        headers={"X-Api-Key": key},
        request={"q": "question", "key": f"'{key}'"},
    )
    assert found.sent == ('q "When?"', 'key "***"')
    found, _ = inspected(json_reply({"said": f"It is {key}.", key: 1}), headers={"X-Api-Key": key})
    assert found.reply == ('said "It is ***."', "*** 1")
