"""A real server on loopback that keeps to the contract but for one thing."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_rageval.authoring.doctor.findings import Finding
from pytest_rageval.authoring.doctor.target import AskedTwice, check_replies, inspected
from pytest_rageval.server.config import ReferenceConfig
from pytest_rageval.server.server import start_in_thread
from pytest_rageval.target.client import HttpRagClient
from pytest_rageval.values.case import Case
from pytest_rageval.values.reply import AskRequest
from pytest_rageval.values.settings import TargetSettings
from tests.build.asking import ask_client
from tests.build.loopback import Question, http, http_json, loopback_server
from tests.build.targets import fake_target
from tests.plugin.rag_server import Answer, rag_server

Reply = dict[str, Any]
NOTE = "# Gates\n\nThe north gate opens at 8:15.\n\n## South\n\nThe south gate is shut.\n"


def diagnose(
    url: str,
    *,
    k: int = 3,
    question: str = "When does the north gate open?",
    case: Case | None = None,
    **mapping_of: Any,
) -> list[Finding]:
    target = TargetSettings(url=url, retries=0, timeout_s=5.0, **mapping_of)
    client = HttpRagClient(target, environ={})
    request = AskRequest(question=question, k=k)
    with contextlib.closing(client):
        asked = AskedTwice(case or Case(id="q", question=question), k)
        first, asked = inspected(client, request, asked)
        second = None if first.response is None else ask_client(client, request)
    return list(check_replies(first, second, asked))


def chunk(number: int) -> Reply:
    return {
        "chunk_id": f"c{number}",
        "rel_path": f"notes/{number}.md",
        "heading_path": f"# Note {number}",
        "text": f"Text {number}.",
    }


def good(question: str, nth: int) -> Reply:
    return {
        "answer": "It opens at 8:15.",
        "abstained": False,
        "references": [{"rel_path": "notes/1.md", "heading_path": "# Note 1"}],
        "debug": {
            "retrieved_chunks": [chunk(1), chunk(2)],
            "latency": {"retrieval_ms": 2.0, "total_ms": 3.0},
            "folder_selection": {"selected_folders": ["notes"]},
            "indexing_coverage": {"docs_processed": 2},
            "usage": {"input_tokens": 3},
            "models": {"llm_model": "m-1"},
        },
    }


def but(change: Callable[[Reply, list[Reply], int], object]) -> Answer:
    """A good target but for what ``change`` does to reply and chunks, by number of the call."""

    def answer(question: str, nth: int) -> Reply:
        reply = good(question, nth)
        change(reply, reply["debug"]["retrieved_chunks"], nth)
        return reply

    return answer


def troubles(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(one.level, one.check) for one in findings if one.level != "ok"]


@pytest.fixture(scope="module")
def reference_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    vault = tmp_path_factory.mktemp("vault")
    (vault / "gates.md").write_text(NOTE, encoding="utf-8")
    with start_in_thread(ReferenceConfig(vault=vault)) as handle:
        yield handle.url


def test_the_reference_server_is_all_well(reference_url: str) -> None:
    findings = diagnose(reference_url)
    assert troubles(findings) == []
    assert {finding.level for finding in findings} == {"ok"}
    checks = {finding.check for finding in findings}
    assert checks >= {"reachable", "chunk_id", "same twice", "abstained", "latency", "references"}


@pytest.mark.parametrize(
    ("change", "level", "check", "said"),
    [
        (
            lambda r, c, n: r.update(answer="<p>At 8 <sup>[1]</sup>"),
            "warn",
            "answer",
            "</sup> in it",
        ),
        (
            lambda r, c, n: r.update(answer="<think>Ten?</think>At 8 [1]."),
            "warn",
            "answer",
            "19 of 28 chars are thoughts of the model, such as '<think>Ten?</think>'",
        ),
        (lambda r, c, n: r.pop("debug"), "warn", "chunks", "not reported"),
        (lambda r, c, n: c.clear(), "warn", "chunks", "none were retrieved"),
        (lambda r, c, n: c.extend([chunk(3), chunk(4)]), "warn", "k", "4 chunks came, 3 were"),
        (lambda r, c, n: c[0].pop("chunk_id"), "warn", "chunk_id", "missing from 1 of 2"),
        (
            lambda r, c, n: c[1].update(chunk_id="c1", rel_path="notes/1.md"),
            "warn",
            "chunk_id",
            "1 ids for 2 chunks",
        ),
        (
            lambda r, c, n: [one.update(chunk_id=f"{one['chunk_id']}-{n}") for one in c],
            "FAIL",
            "same twice",
            "the same chunks came with other chunk ids",
        ),
        (lambda r, c, n: c.reverse() if n else None, "warn", "same twice", "in another order"),
        (lambda r, c, n: c.pop() if n else None, "warn", "same twice", "1 of 2 chunks were not"),
        (lambda r, c, n: c[1].update(rel_path="./"), "FAIL", "rel_path", "empty in 1 of 2"),
        (
            lambda r, c, n: c[1].update(rel_path="C:\\notes\\2.md"),
            "warn",
            "rel_path",
            "is not a path below a folder",
        ),
        (lambda r, c, n: c[1].pop("heading_path"), "warn", "heading_path", "missing from 1 of 2"),
        (lambda r, c, n: c[1].update(text=None), "warn", "text", "missing from 1 of 2"),
        (lambda r, c, n: r.pop("abstained"), "warn", "abstained", "not reported"),
        (lambda r, c, n: r.pop("references"), "warn", "references", "not reported"),
        (lambda r, c, n: r.update(references=[]), "warn", "references", "none for this answer"),
        (
            lambda r, c, n: r.update(references=[{"rel_path": "other.md"}]),
            "warn",
            "references",
            "1 of 1 name nothing that was retrieved",
        ),
        (lambda r, c, n: r["debug"].pop("latency"), "warn", "latency", "no phases reported"),
        (
            lambda r, c, n: r["debug"].update(session="s-1"),
            "warn",
            "session",
            "both questions were answered in session 's-1', so one case may change the next",
        ),
        (lambda r, c, n: r.update(error="no index"), "FAIL", "reachable", "an error: no index"),
    ],
)
def test_one_fault_of_a_target_is_named_with_its_remedy(
    change: Callable[[Reply, list[Reply], int], object], level: str, check: str, said: str
) -> None:
    with rag_server(but(change)) as server:
        findings = diagnose(server.url)
    [found] = [one for one in findings if one.check == check and one.level != "ok"]
    assert found.level == level
    assert said in found.message
    assert found.fix
    assert "\n" not in found.fix
    others = {one for one in troubles(findings)} - {(level, check)}
    # Without debug there are no phases either.
    assert others <= (
        {("warn", "latency")} if said == "not reported" and check == "chunks" else set()
    )


def test_what_is_optional_and_absent_is_no_trouble() -> None:
    named = {"usage": {"promptTokens": 3}}  # of no name that is read
    without = but(lambda r, c, n: (r["debug"].pop("models"), r["debug"].update(named)))
    with rag_server(without) as server:
        findings = diagnose(server.url)
    assert troubles(findings) == []
    assert findings[-1].message == "not reported, and not required: models, usage"


@pytest.mark.parametrize(
    ("status", "fix"),
    [
        (404, "set path in [tool.rageval.target]"),
        (405, "set path in [tool.rageval.target]"),
        (409, "answer POST {url}/api/v1/ask with 200, or set path and headers"),
        (429, "ask again later, or use a key with a higher limit"),
        (502, "check the server log, and any proxy in front of it"),
    ],
)
def test_a_status_that_is_no_success_fails_with_the_advice_for_it(status: int, fix: str) -> None:
    with rag_server(lambda question, nth: status) as server:
        [found] = diagnose(server.url)
    assert (found.level, found.check, found.unreachable) == ("FAIL", "reachable", False)
    assert str(status) in found.message
    assert found.fix.startswith(fix)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (http(b"<html>hello</html>"), "HTML"),
        (http(b""), "empty"),
        (http_json([1]), "expected an object"),
        (http_json({"answer": 7}), "answer: expected a string, got 7"),
        (http_json({"answer": "a", "debug": {"retrieved_chunks": [{}]}}), "rel_path"),
    ],
)
def test_a_reply_of_another_shape_fails(reply: bytes, said: str) -> None:
    async def answer(question: Question, writer: object) -> bytes:
        return reply

    with loopback_server(answer) as server:
        [found] = diagnose(server.url)
    assert (found.level, found.check, found.unreachable) == ("FAIL", "reply", False)
    assert said in found.message


OUT = {"data": None, "errors": [{"message": "$question was not provided"}]}
MEND = "fix [tool.rageval.target.request] as the message says, or check the log of the target"
PROPOSED = (
    "write that in [tool.rageval.target.request], and a line for each other field of your API"
)
NOT_PROPOSED = (
    'name the fields of your API in [tool.rageval.target.request], such as q = "question"'
)
WAITS = "write a rag_client fixture, or the client that [tool.rageval.target] names"


@pytest.mark.parametrize("mapping", [{}, {"response": {"answer": "data.ask"}}])
@pytest.mark.parametrize(
    ("reply", "said", "fix"),
    [
        (http_json(OUT), "$question was not provided", MEND),
        (http_json({"error": {"code": -32602, "message": "Bad q"}, "id": "1"}), "Bad q", MEND),
        (http_json({"id": "1", "status": "queued"}, "202 Accepted"), "HTTP 202: the answer", WAITS),
        (http_json({"detail": "q is required"}, "400 Bad Request"), 'q = "question"', PROPOSED),
        (http_json({"detail": "no"}, "400 Bad Request"), "map them in", NOT_PROPOSED),
    ],
)
def test_the_advice_for_a_question_that_was_not_answered_leads_to_the_request(
    reply: bytes, said: str, fix: str, mapping: dict[str, Any]
) -> None:
    with fake_target(reply) as server:
        [found] = diagnose(server.url, **mapping)
    assert said in found.message
    assert found.fix == fix


EVENT = b'data: {"t": "a"}\n\n'
BROKEN = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" + EVENT
UNBOUNDED = b"HTTP/1.1 200 OK\r\n\r\n" + EVENT


@pytest.mark.parametrize(
    ("reply", "settings", "fix"),
    [
        (http(EVENT), {"last_event": "data.end"}, "set last_event in "),
        (UNBOUNDED, {}, "set last_event in "),
        (http(b"hello"), {}, "set stream in "),
        (BROKEN, {}, "check the server log"),
    ],
)
def test_the_advice_for_a_stream_that_ended_early_is_that_of_its_error(
    reply: bytes, settings: dict[str, Any], fix: str
) -> None:
    async def answer(question: Question, writer: asyncio.StreamWriter) -> bytes:
        writer.write(reply)
        await writer.drain()
        raise ConnectionError("to be closed")

    response = {"answer": "events[].data.t | join('', @)"}
    with loopback_server(answer) as server:
        [found] = diagnose(server.url, stream="sse", response=response, **settings)
    assert (found.level, found.check) == ("FAIL", "reply")
    assert "the stream ended early" in found.message
    assert found.fix.startswith(fix)


def test_nobody_at_the_address_is_unreachable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: refused
        [found] = diagnose(f"http://127.0.0.1:{taken.getsockname()[1]}")
    assert (found.level, found.unreachable) == ("FAIL", True)
