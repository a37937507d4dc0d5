"""The example of an MCP server in docs/target.md, against a stand-in."""

from __future__ import annotations

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
    (page,) = [one for one in sections(read_document("target.md")) if one.title == "MCP servers"]
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
        toml = "[tool.rageval]\njudge = 'none'\nno_report = true\n" + blocks["toml"]
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
    errors = [
        (records[name]["error"]["kind"], records[name]["error"]["message"]) for name in ("c2", "c3")
    ]
    assert errors == [("target", "Every 14 days."), ("target", "no tool")]
    assert outcomes(found)["errored"] == 2
