"""A target over real sockets that finds more the higher its parameter ``boost``, and counts."""

from __future__ import annotations

import contextlib
import json
import math
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.build.files import write_lines
from tests.build.http_server import Handler, serving
from tests.plugin.scratch import case


@dataclass
class SweepTarget:
    """Replies, and counts of what was asked by question and parameter."""

    url: str = ""
    asked: Counter[tuple[str, Any]] = field(default_factory=Counter)
    pause_s: float = 0.0
    most: float = math.inf
    """Requests that are answered; later ones wait until `answer_all`."""
    together: int = 0
    """Most requests at a time."""
    _here: int = 0
    _lock: threading.Condition = field(default_factory=threading.Condition)

    def settled_total(self) -> int:
        """Count the questions once no more arrive, such as those of a process that was killed."""
        last, now = -1, self.asked.total()
        while now != last:
            time.sleep(0.2)
            last, now = now, self.asked.total()
        return now

    def answer_all(self) -> None:
        with self._lock:
            self.most = math.inf
            self._lock.notify_all()

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        number, boost = int(body["question"].split()[-1]), body.get("boost", 0)
        with self._lock:
            self.asked[body["question"], boost] += 1
            self._here += 1
            self.together = max(self.together, self._here)
            place = self.asked.total()
            self._lock.wait_for(lambda: place <= self.most)
        time.sleep(self.pause_s)
        with self._lock:
            self._here -= 1
        path = f"{number}.md" if number % 10 < 4 + boost else "other.md"
        chunk = {"rel_path": path, "heading_path": "# A", "text": "the text", "rank": 1}
        return {"answer": "It is the text.", "debug": {"retrieved_chunks": [chunk]}}


@contextlib.contextmanager
def sweep_target() -> Iterator[SweepTarget]:
    target = SweepTarget()

    class Asked(Handler):
        def do_POST(self) -> None:
            self.send_json(target.reply(json.loads(self.body())))

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """A process that was killed has closed its connections."""

    with serving(Asked, Server) as target.url:
        try:
            yield target
        finally:
            target.answer_all()


def sweep_case(number: int, **fields: Any) -> dict[str, Any]:
    """Return a case whose gold is in a document of its own."""
    golds = [{"rel_path": f"{number}.md"}]
    return case(f"c-{number}", f"question {number}", gold_supports=golds, **fields)


def write_sweep_project(url: str, n: int = 40, sweep: str = "") -> None:
    """Write a project whose cases are ``question 0`` and so on, and its ``sweep.toml``."""
    write_lines(Path("evals/set.jsonl"), *map(sweep_case, range(n)))
    text = "[tool.pytest.ini_options]\n[tool.rageval]\nno_report = true\n"
    text += f'[tool.rageval.target]\nurl = "{url}"\nretries = 0\n'
    Path("pyproject.toml").write_text(text, encoding="utf-8")
    Path("sweep.toml").write_text(sweep or "[query]\nboost = [0, 1, 5]\n", encoding="utf-8")
