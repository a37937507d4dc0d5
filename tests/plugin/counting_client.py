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
    '''Notes what it is asked, and how much of it at once; the first ones come ``together``.'''
    def __init__(self, name="only", together=1):
        self.name, self.asked, self.inside, self.peak = name, [], 0, 0
        self.together, self.lock = together, threading.Condition()

    def enter(self, question):
        with self.lock:
            self.asked.append(question)
            self.inside += 1
            self.peak = max(self.peak, self.inside)
            self.lock.notify_all()

    def ask(self, request):
        self.enter(request.question)
        with self.lock:  # whoever comes first waits for the others, whose threads may start slowly
            self.lock.wait_for(lambda: self.peak >= self.together, timeout=60)
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
    client = Counting(together=4)
    async def ask(request):
        import asyncio
        client.enter(request.question)
        async with asyncio.timeout(60):
            while client.peak < client.together:
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.02)
        client.inside -= 1
        return reply(request.question)
    yield ask
    write(client)
"""


def told(project: Project) -> list[dict[str, object]]:
    text = (project.path / "asked.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]
