"""The settings and the code of docs/traces.md work, and its ids are right."""

from __future__ import annotations

from typing import Any

from pytest_rageval.values.reply import AskRequest, trace_id, traceparent
from tests.build.asking import ask_client
from tests.build.targets import fake_target, json_reply
from tests.docs.examples import read_document, sections

BLOCKS = {
    section.title: [block.text for block in section.blocks]
    for section in sections(read_document("traces.md"))
}
TRACE = trace_id("nightly", "evals/eval_set.jsonl::refunds_001", 0)


def test_the_header_is_that_of_a_run() -> None:
    header, _ = BLOCKS["Traces and cassettes"]
    assert header == f"traceparent: {traceparent(TRACE)}\n"


def test_the_client_hands_the_trace_on() -> None:
    (code,) = BLOCKS["Clients in Python"]
    names: dict[str, Any] = {}
    with fake_target(json_reply({"text": "Monthly."})) as target:
        exec(code.replace("http://127.0.0.1:8000", target.url), names)
        result = ask_client(names["ask"], AskRequest(question="When?", trace_id=TRACE))
    assert result.response is not None
    assert result.response.answer == "Monthly."
    assert target.received[0].headers["traceparent"] == traceparent(TRACE)
