"""A RAG API that takes documents, and writes down what it was asked to do with them."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class DocumentServer:
    """Documents that are there now, and every request in order."""

    url: str
    documents: dict[str, str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    delete_status: int = 200
    put_status: int = 200

    def put(self, body: dict[str, Any]) -> int:
        with self.lock:
            self.log.append(f"PUT {body['scope_prefix']} {len(body['documents'])}")
            if self.put_status == 200:
                self.documents |= {one["rel_path"]: one["text"] for one in body["documents"]}
            return self.put_status

    def delete(self, body: dict[str, Any]) -> int:
        with self.lock:
            prefix = body["scope_prefix"]
            self.log.append(f"DELETE {prefix}")
            if self.delete_status == 200:
                kept = {p: t for p, t in self.documents.items() if not p.startswith(prefix)}
                self.documents = kept
            return self.delete_status

    def ask(self, body: dict[str, Any]) -> dict[str, Any]:
        with self.lock:
            if "ASK" not in self.log[-1:]:
                self.log.append("ASK")
            word = body["question"].split()[-1].strip("?")
            found = [path for path, text in self.documents.items() if word in text]
        chunks = [{"rel_path": path, "heading_path": "", "text": "x"} for path in found]
        return {"answer": "It is so.", "abstained": False, "debug": {"retrieved_chunks": chunks}}

    @property
    def changes(self) -> list[str]:
        with self.lock:
            return [line for line in self.log if line != "ASK"]


@contextlib.contextmanager
def document_server() -> Iterator[DocumentServer]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _body(self) -> dict[str, Any]:
            length = int(self.headers.get("Content-Length", "0"))
            body: dict[str, Any] = json.loads(self.rfile.read(length))
            return body

        def _reply(self, status: int, body: object) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_PUT(self) -> None:
            self._reply(found.put(self._body()), {})

        def do_DELETE(self) -> None:
            self._reply(found.delete(self._body()), {})

        def do_POST(self) -> None:
            self._reply(200, found.ask(self._body()))

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found = DocumentServer(url=f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield found
        finally:
            server.shutdown()
            thread.join(5)
