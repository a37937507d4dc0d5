"""A server of Python's own on the loopback interface; a handler says what it answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Handler(BaseHTTPRequestHandler):
    """Reads bodies, sends replies, and says nothing on standard error."""

    protocol_version = "HTTP/1.1"

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def send(self, content: bytes, status: int = 200, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def send_json(self, document: Any, status: int = 200) -> None:
        self.send(json.dumps(document).encode(), status)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving(
    handler: type[BaseHTTPRequestHandler], kind: type[ThreadingHTTPServer] = ThreadingHTTPServer
) -> Iterator[str]:
    """Yield the address of a server until the block ends."""
    with kind(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join(5)
