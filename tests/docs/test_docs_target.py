"""The examples of a stream and of an MCP server in docs/target.md, against stand-ins."""

from __future__ import annotations

import base64
import json
import re
import subprocess

import pytest

from tests.build.projects import clear_settings
from tests.build.streams import sse, whole
from tests.build.targets import fake_target, http_reply, json_reply
from tests.docs.examples import read_document, sections
from tests.plugin.scratch import Project, case, outcomes

DOCUMENT = {"path": "pump.md", "text": "Every 14 days."}


def test_a_tool_of_an_mcp_server_is_asked_in_a_session(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    clear_settings(monkeypatch)
    (page,) = [one for one in sections(read_document("streams.md")) if one.title == "MCP servers"]
    blocks = {block.language: block.text for block in page.blocks}
    content = [{"type": "text", "text": "Every 14 days."}]
    result = {"content": content, "structuredContent": {"documents": [DOCUMENT]}}
    progress = sse({"jsonrpc": "2.0", "method": "notifications/progress"}, "message")
    answers = [
        whole(progress + sse({"jsonrpc": "2.0", "id": 1, "result": result}, "message")),
        json_reply({"jsonrpc": "2.0", "id": 2, "result": result}, content_type="application/json"),
        whole(sse({"jsonrpc": "2.0", "id": 3, "result": {"isError": True, "content": content}})),
        whole(sse({"jsonrpc": "2.0", "id": 4, "error": {"code": 7, "message": "no tool"}})),
    ]
    opened = json_reply({"jsonrpc": "2.0", "id": 0, "result": {}}, mcp_session_id="s-1")
    project = Project(pytester)
    project.cases([case(f"c{n}", f"hit {n}") for n in range(4)])
    with fake_target(opened, http_reply(b"", "202 Accepted"), *answers) as target:
        assert blocks["toml"].startswith("[tool.rageval]\nretrieval_only = true\n")
        toml = blocks["toml"].replace("[tool.rageval]\n", "[tool.rageval]\nno_report = true\n", 1)
        project.write("pyproject.toml", toml.replace("http://127.0.0.1:8000", target.url))
        code = blocks["python"].replace("http://127.0.0.1:8000", target.url)
        project.write("mcp_session.py", code)
        project.write("conftest.py", "")
        found = project.run_apart("--rageval-concurrency", "1")
    methods = [one.json["method"] for one in target.received]
    assert methods == ["initialize", "notifications/initialized", *["tools/call"] * 4]
    asked = target.received[-1]
    assert asked.headers["mcp-session-id"] == "s-1"
    assert asked.headers["accept"] == "text/event-stream, application/json"
    assert asked.json["params"] == {"name": "search", "arguments": {"query": "hit 3"}}
    records = project.records()
    assert [records[f"c{n}"]["error"] for n in (0, 1)] == [None, None]
    for n in (0, 1):
        assert [one["rel_path"] for one in records[f"c{n}"]["retrieved_chunks"]] == ["pump.md"]
        assert records[f"c{n}"]["metrics"]["correctness"] is None
        assert records[f"c{n}"]["metrics"]["over_abstention_rate"] is None
    errors = [
        (records[name]["error"]["kind"], records[name]["error"]["message"]) for name in ("c2", "c3")
    ]
    assert errors == [("target", "Every 14 days."), ("target", "no tool")]
    assert outcomes(found)["errored"] == 2


def test_the_example_of_a_stream_reads_the_events_that_the_page_shows(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    clear_settings(monkeypatch)
    (page,) = [one for one in sections(read_document("streams.md")) if one.title == "Streams"]
    toml = page.blocks[0].text
    parts = [sse({"event": "message", "answer": text}) for text in ("Every ", "14 days.")]
    resources = [{"document_name": "pump.md", "content": "Every 14 days."}]
    end = sse({"event": "message_end", "metadata": {"retriever_resources": resources}})
    failed = sse({"event": "error", "message": "no quota"})
    project = Project(pytester)
    project.cases([case("c0", "hit 0"), case("c1", "hit 1")])
    with fake_target(whole(b"".join([*parts, end])), whole(failed + end)) as target:
        text = toml.replace("https://rag.example.com", target.url)
        project.write("pyproject.toml", f"[tool.rageval]\njudge = 'none'\n{text}")
        project.write("conftest.py", "")
        project.run_apart("--rageval-concurrency", "1")
    records = project.records()
    assert records["c0"]["answer"] == "Every 14 days."
    assert [chunk["rel_path"] for chunk in records["c0"]["retrieved_chunks"]] == ["pump.md"]
    assert records["c0"]["latency"]["ttft_ms"] > 0
    assert records["c1"]["error"]["message"] == "no quota"


def test_the_command_for_basic_authentication_takes_a_long_password() -> None:
    found = re.search(r"`export RAG_LOGIN=\$\((.*)\)`", read_document("target.md"))
    assert found is not None
    login = f"user:{'x' * 200}"
    command = found[1].replace("user:password", login)
    printed = subprocess.run(["sh", "-c", command], check=True, capture_output=True).stdout
    assert printed.decode() == base64.b64encode(login.encode()).decode()


def test_the_messages_before_a_turn_are_sent_as_the_page_maps_them(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    clear_settings(monkeypatch)
    blocks = [block for one in sections(read_document("conversations.md")) for block in one.blocks]
    (table,) = [one.text for one in blocks if one.language == "toml"]
    (line,) = [one.text for one in blocks if one.language == "json"]
    within = json.loads(line)
    project = Project(pytester)
    project.cases([within])
    with fake_target(json_reply({"answer": "9 euro"})) as target:
        toml = (
            f"[tool.rageval]\njudge = 'none'\n[tool.rageval.target]\nurl = '{target.url}'\n{table}"
        )
        project.write("pyproject.toml", toml)
        project.write("conftest.py", "")
        project.run_apart("--rageval-concurrency", "1")
    first, second = [{"role": "user", "content": turn["question"]} for turn in within["turns"]]
    said = {"role": "assistant", "content": "9 euro"}
    assert [one.json["messages"] for one in target.received] == [[first], [first, said, second]]
