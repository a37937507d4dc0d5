"""A RAG API that takes documents, and writes down what it was asked to do with them."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.build.http_server import Handler, serving


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
    class Documents(Handler):
        def do_PUT(self) -> None:
            self.send_json({}, found.put(json.loads(self.body())))

        def do_DELETE(self) -> None:
            self.send_json({}, found.delete(json.loads(self.body())))

        def do_POST(self) -> None:
            self.send_json(found.ask(json.loads(self.body())))

    with serving(Documents) as url:
        found = DocumentServer(url=url)
        yield found
