"""A RAG API on the loopback interface whose answers follow from the question alone."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.build.json_server import Call, json_server

Answer = Callable[[str, int], dict[str, Any] | int]
"""From the question and how often it was asked before: a reply, or a status."""


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
    """What was asked so far, and how it is answered."""

    url: str
    answer: Answer
    delay_s: float = 0.0
    asked: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def calls(self) -> int:
        with self.lock:
            return sum(self.asked.values())

    def reply(self, question: str) -> dict[str, Any] | int:
        with self.lock:
            nth = self.asked[question]
            self.asked[question] += 1
        time.sleep(self.delay_s)
        return self.answer(question, nth)


@contextlib.contextmanager
def rag_server(
    answer: Answer = hit_or_miss, *, delay_s: float = 0.0, host: str = "127.0.0.1"
) -> Iterator[RagServer]:
    def reply(call: Call) -> tuple[int, object]:
        found = served.reply(call.body["question"])
        return (found, {}) if isinstance(found, int) else (200, found)

    served = RagServer("", answer, delay_s)
    with json_server(reply, host=host) as url:
        served.url = url
        yield served
