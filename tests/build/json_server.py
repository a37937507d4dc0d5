"""A server of JSON on the loopback interface, with a thread for each request."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request; names of headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


Answer = Callable[[Call], tuple[int, object]]
"""From a request to a status and a body: bytes as they are, anything else as JSON."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


@contextlib.contextmanager
def json_server(answer: Answer, *, host: str = "127.0.0.1") -> Iterator[str]:
    """Serve until the block is left; gives the URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = json.loads(self.rfile.read(length))
            status, reply = answer(
                Call(method=self.command, path=self.path, headers=headers, body=body)
            )
            content = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
            with contextlib.suppress(OSError):  # The client may have been killed meanwhile.
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        do_POST = do_PUT = do_DELETE = _answer

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with _Server((host, 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://{host}:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
