"""A RAG API on the loopback interface whose answers follow from the question alone."""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

Reply = dict[str, Any] | int | tuple[int, dict[str, Any]]
"""Body of a reply with status 200, a status, or both."""
Answer = Callable[[str, int], Reply]
"""From the question and how often it was asked before."""


def hit_or_miss(question: str, nth: int) -> dict[str, Any]:
    """Retrieve the gold where the question says so."""
    path = "a.md" if question.startswith("hit") else "b.md"
    chunk = {"chunk_id": "c1", "rel_path": path, "heading_path": "# A", "text": "It is so."}
    return {
        "answer": f"It is so, as {question} says.",
        "abstained": False,
        "references": [{"rel_path": path, "heading_path": "# A"}],
        "debug": {"retrieved_chunks": [chunk]},
    }


@dataclass
class RagServer:
    """Requests so far, and the replies to send."""

    url: str
    answer: Answer
    delay_s: float = 0.0
    most: float = math.inf
    """Requests that are answered; later ones wait until this is raised."""
    asked: Counter[str] = field(default_factory=Counter)
    lock: threading.Condition = field(default_factory=threading.Condition)
    open: Counter[socket.socket] = field(default_factory=Counter)
    """Connections that are being served."""
    came: int = 0
    """Requests so far, also those that ``asked`` was cleared of."""

    def settle(self) -> None:
        """Wait until every request that was sent before, also by a killed session, is counted."""
        address = urlsplit(self.url)
        last = http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)
        last.request("GET", "/")  # connections are accepted in their order
        last.getresponse().read()
        last.close()
        end = time.monotonic() + 10
        while self.open:
            assert time.monotonic() < end, "a connection is still open"
            time.sleep(0.01)

    def let_through(self, more: float = math.inf) -> None:
        """Answer some more requests and let later ones wait.

        A session that is to be stopped in the middle cannot end before, however slow this process.
        """
        with self.lock:
            self.most = self.came + more
            self.lock.notify_all()

    @property
    def calls(self) -> int:
        with self.lock:
            return sum(self.asked.values())

    def reply(self, question: str) -> Reply:
        with self.lock:
            nth = self.asked[question]
            self.asked[question] += 1
            self.came += 1
            place = self.came
            self.lock.wait_for(lambda: place <= self.most)
        time.sleep(self.delay_s)
        return self.answer(question, nth)


@contextlib.contextmanager
def rag_server(
    answer: Answer = hit_or_miss, *, delay_s: float = 0.0, host: str = "127.0.0.1"
) -> Iterator[RagServer]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found = served.reply(json.loads(body)["question"])
            if isinstance(found, tuple):
                status, payload = found
            else:
                status, payload = (found, {}) if isinstance(found, int) else (200, found)
            text = json.dumps(payload).encode()
            with contextlib.suppress(OSError):  # whoever asked may have been killed meanwhile
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def process_request(self, request: Any, client_address: Any) -> None:
            served.open[request] = 1
            super().process_request(request, client_address)

        def shutdown_request(self, request: Any) -> None:
            super().shutdown_request(request)
            served.open.pop(request, None)

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass

    with Server((host, 0), Handler) as server:
        served = RagServer(f"http://{host}:{server.server_port}", answer, delay_s)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield served
        finally:
            served.let_through()
            server.shutdown()
            thread.join()
