"""A real OpenAI-compatible server on loopback that says whatever a test tells it to."""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self

USAGE: dict[str, int] = {"prompt_tokens": 200, "completion_tokens": 40, "total_tokens": 240}


@dataclass(frozen=True, slots=True, kw_only=True)
class Canned:
    """One reply as it goes over the wire."""

    status: int = 200
    body: str | bytes = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    delay_s: float = 0.0
    how: Literal["whole", "reset", "cut", "trickle", "trickling head"] = "whole"
    """``reset``: the connection is reset instead of a reply; ``cut``: in the middle of the body;
    ``trickle``: the body comes byte by byte with ``delay_s`` between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request as it came."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    at_s: float

    @property
    def prompt(self) -> str:
        return "\n".join(message["content"] for message in self.body["messages"])


Script = Sequence[Canned] | Callable[[Asked], Canned]


def rating(score: float, reasoning: str = "So it is.", **changes: Any) -> Canned:
    """A verdict on groundedness or correctness; changes as for ``completion``."""
    body = {"claims": [], "key_facts": [], "reasoning": reasoning, "score": score}
    return completion(json.dumps(body), **changes)


def is_alternate(asked: Asked) -> bool:
    """Tell the second wording of a rubric from the first."""
    return any(words in asked.prompt for words in ("against its sources", "but fair examiner"))


def completion(
    content: Any, *, finish_reason: str = "stop", ascii_only: bool = True, **changes: Any
) -> Canned:
    """A chat completion with this content; a change of None leaves a field out."""
    message = {"role": "assistant", "content": content}
    if refusal := changes.pop("refusal", None):
        message["refusal"] = refusal
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "judge-2024-08-06",
        "system_fingerprint": "fp_1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": USAGE,
        **changes,
    }
    kept = {key: value for key, value in body.items() if value is not None}
    return Canned(body=json.dumps(kept, ensure_ascii=ascii_only))


def error(status: int, message: str, **fields: Any) -> Canned:
    """An error in OpenAI's shape."""
    headers = fields.pop("headers", {})
    body = {"error": {"message": message, "type": "invalid_request_error", **fields}}
    return Canned(status=status, body=json.dumps(body), headers=headers)


class _Server(ThreadingHTTPServer):
    # Five are too few where eight threads connect at once: Linux resets what does not fit.
    request_queue_size = 128
    faults: list[str]

    def handle_error(self, request: Any, client_address: Any) -> None:
        # Standard error is that of a session within the test by now, which nobody reads.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            self.faults.append(traceback.format_exc())


class HostileJudge:
    """The server; usable as a context manager.

    Args:
        script: replies in the order of the requests, the last one again and again; or a function
            of the request.
    """

    def __init__(self, script: Script) -> None:
        self.asked: list[Asked] = []
        self._script = script
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._server.faults = []
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)
        sys.stderr.writelines(self._server.faults)

    def _reply(self, asked: Asked) -> Canned:
        with self._lock:
            self.asked.append(asked)
            place = len(self.asked) - 1
        if callable(self._script):
            return self._script(asked)
        return self._script[min(place, len(self._script) - 1)]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        judge = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", "0"))
                asked = Asked(
                    path=self.path,
                    headers={name.lower(): value for name, value in self.headers.items()},
                    body=json.loads(self.rfile.read(length)),
                    at_s=time.monotonic(),
                )
                try:
                    _send(self, judge._reply(asked))
                except OSError:
                    self.close_connection = True  # The client did not wait.

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler


def _send(handler: BaseHTTPRequestHandler, canned: Canned) -> None:
    if canned.how == "reset":
        _reset(handler)
        return
    body = canned.body.encode() if isinstance(canned.body, str) else canned.body
    if canned.how == "trickling head":
        _trickle(handler, b"HTTP/1.1 200 OK\r\nx-slow: " + b"x" * 1000, canned.delay_s)
        handler.close_connection = True
        return
    if canned.how == "whole" and canned.delay_s:
        time.sleep(canned.delay_s)
    handler.send_response(canned.status)
    for name, value in canned.headers.items():
        handler.send_header(name, value)
    handler.send_header("content-type", canned.content_type)
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    if canned.how == "cut":
        handler.wfile.write(body[: len(body) // 2])
        handler.wfile.flush()
        _reset(handler)
    elif canned.how == "trickle":
        _trickle(handler, body, canned.delay_s)
    else:
        handler.wfile.write(body)


def _trickle(handler: BaseHTTPRequestHandler, data: bytes, delay_s: float) -> None:
    for byte in data:
        handler.wfile.write(bytes([byte]))
        handler.wfile.flush()
        time.sleep(delay_s)


def _reset(handler: BaseHTTPRequestHandler) -> None:
    # Without lingering, closing sends RST instead of FIN.
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True
