"""A target and a judge on the loopback interface that answer after a fixed time.

For other benchmarks, in a process of its own: it prints its port, and ``GET /stats`` tells how many
requests came and how many were in flight at once since it was asked last.

    python -m benchmarks.loopback_mock --ask-ms 200 --judge-ms 300
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, cast

_TEXT: Final = (
    "The quick brown fox number %d – « le renard d’à côté » – 速い狐 – jumps over the lazy dog. "
)
CHUNKS: Final = [
    {
        "rel_path": f"docs/d{place}.md",
        "heading_path": f"H{place}",
        "chunk_id": f"c{place}",
        "text": (_TEXT % place) * 6,
        "score_final": 1.0 / (place + 1),
    }
    for place in range(5)
]
ANSWER: Final = json.dumps(
    {
        "answer": _TEXT % 0,
        "abstained": False,
        "references": [{"rel_path": "docs/d0.md", "heading_path": "H0"}],
        "debug": {"retrieved_chunks": CHUNKS, "latency": {"retrieval_ms": 3.0}},
    },
    ensure_ascii=False,
).encode()
VERDICT: Final = {
    **{"score": 5, "grade": "C", "pass": True, "value": "pass"},
    **{"reason": "ok", "reasoning": "ok"},
}
"""Of a judge that is asked for no shape; tools differ in what they look for."""


@dataclass
class Stats:
    """Since they were asked for last."""

    asked: int = 0
    judged: int = 0
    peak: int = 0


class _Connection(asyncio.Protocol):
    def __init__(self, mock: _Mock) -> None:
        self._mock = mock
        self._buffer = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end].lower()
            length = 0
            for line in head.split(b"\r\n"):
                if line.startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            if len(self._buffer) < end + 4 + length:
                return
            body = self._buffer[end + 4 : end + 4 + length]
            self._buffer = self._buffer[end + 4 + length :]
            self._mock.take(head.split(b" ", 2)[1], body, self._reply)

    def _reply(self, body: bytes) -> None:
        if not self._transport.is_closing():
            head = (
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            )
            self._transport.write(head % len(body) + body)


class _Mock:
    def __init__(self, ask_s: float, judge_s: float) -> None:
        self._ask_s = ask_s
        self._judge_s = judge_s
        self._stats = Stats()
        self._in_flight = 0

    def take(self, path: bytes, body: bytes, reply: Callable[[bytes], None]) -> None:
        if path.startswith(b"/stats"):
            reply(json.dumps(asdict(self._stats)).encode())
            self._stats = Stats()
            return
        self._in_flight += 1
        self._stats.peak = max(self._stats.peak, self._in_flight)
        if path.endswith(b"/chat/completions"):
            self._stats.judged += 1
            self._later(self._judge_s, reply, completion(json.loads(body)))
        else:
            self._stats.asked += 1
            self._later(self._ask_s, reply, ANSWER)

    def _later(self, seconds: float, reply: Callable[[bytes], None], body: bytes) -> None:
        def done() -> None:
            self._in_flight -= 1
            reply(body)

        if seconds:
            asyncio.get_running_loop().call_later(seconds, done)
        else:
            done()


def completion(request: Mapping[str, Any]) -> bytes:
    """A chat completion in the shape that was asked for: of a tool, of a schema, or ``VERDICT``."""
    schema = request.get("response_format", {}).get("json_schema", {}).get("schema")
    if tools := request.get("tools"):
        asked = tools[0]["function"]
        arguments = json.dumps(simplest(asked["parameters"]))
        function = {"name": asked["name"], "arguments": arguments}
        call = {"id": "call-1", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    else:
        content = simplest(schema) if schema else VERDICT
        message = {"role": "assistant", "content": json.dumps(content)}
    reason = "tool_calls" if tools else "stop"
    return json.dumps(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "m-1",
            "choices": [{"index": 0, "finish_reason": reason, "message": message}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        }
    ).encode()


def simplest(schema: Mapping[str, Any]) -> Any:
    """The simplest value that a JSON schema allows: full marks, lists of one."""
    if "enum" in schema:
        marks = [one for one in schema["enum"] if type(one) is int]
        return max(marks) if marks else schema["enum"][0]
    if "anyOf" in schema:
        return simplest(schema["anyOf"][0])
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: simplest(inner) for name, inner in schema.get("properties", {}).items()}
    if kind == "array":
        return [simplest(schema.get("items", {}))]
    if kind in {"integer", "number"}:
        return schema.get("maximum", max(1, schema.get("minimum", 1)))
    return {"boolean": True, "null": None}.get(str(kind), "ok")


async def _serve(mock: _Mock, port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(mock), "127.0.0.1", port, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--port", type=int, default=0, help="default: any that is free")
    parser.add_argument("--ask-ms", type=float, default=200.0)
    parser.add_argument("--judge-ms", type=float, default=300.0)
    options = parser.parse_args(arguments)
    asyncio.run(_serve(_Mock(options.ask_ms / 1000, options.judge_ms / 1000), options.port))
    return 0


if __name__ == "__main__":
    sys.exit(main())
