"""A client that notes what it is asked, and how much of it at once."""

from __future__ import annotations

import json

from tests.plugin.scratch import CONFTEST, Project

REPLY = CONFTEST.split("@pytest.fixture")[0]
COUNTING = (
    REPLY
    + """
import threading, time

class Counting:
    '''Notes what it is asked, and how much of it at once.'''
    def __init__(self, name="only"):
        self.name, self.asked, self.inside, self.peak = name, [], 0, 0
        self.lock = threading.Lock()

    def enter(self, question):
        with self.lock:
            self.asked.append(question)
            self.inside += 1
            self.peak = max(self.peak, self.inside)

    def ask(self, request):
        self.enter(request.question)
        time.sleep(0.02)
        with self.lock:
            self.inside -= 1
        return reply(request.question)

def write(client):
    import json, pathlib
    told = {"asked": client.asked, "peak": client.peak}
    with pathlib.Path("asked.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"name": client.name, **told}) + "\\n")
"""
)
ASYNC = """
@pytest.fixture(scope="session")
{fixture} rag_client():
    client = Counting()
    async def ask(request):
        import asyncio
        client.enter(request.question)
        await asyncio.sleep(0.05)
        client.inside -= 1
        return reply(request.question)
    yield ask
    write(client)
"""


def told(project: Project) -> list[dict[str, object]]:
    text = (project.path / "asked.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]
