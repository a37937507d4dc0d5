"""A server that takes only so many requests at once: the run gives way, and comes back."""

from __future__ import annotations

import asyncio
import statistics

import pytest

from tests.build.loopback import LoopbackServer, Question, good_reply, http, loopback_server
from tests.plugin.long_runs import ask_server, numbered_cases
from tests.plugin.scratch import Project

TAKES = 4
ASK_S = 0.1


class Choosy:
    """Refuses what comes while it has enough to do, for as long as it is in the mood."""

    def __init__(self, refusals: int, ask_s: float = ASK_S) -> None:
        self.ask_s = ask_s
        self.busy = 0
        self.refused = 0
        self.left = refusals

    async def answer(self, question: Question, writer: asyncio.StreamWriter) -> bytes:
        if self.busy >= TAKES and self.refused < self.left:
            self.refused += 1
            return http(b"", "429 Too Many Requests", "Retry-After: 0")
        self.busy += 1
        try:
            await asyncio.sleep(self.ask_s)
        finally:
            self.busy -= 1
        return good_reply(question)


def _run(project: Project, choosy: Choosy, count: int) -> LoopbackServer:
    project.cases(numbered_cases(count, miss_every=count + 10))
    with loopback_server(choosy.answer) as server:
        ask_server(project, server.url)
        settings = project.path / "pyproject.toml"
        text = settings.read_text(encoding="utf-8").replace("retries = 0", "retries = 6")
        settings.write_text(text, encoding="utf-8")
        result = project.run_apart("--rageval-concurrency", "32")
    assert result.ret == 0, result.stdout.str()[-2000:]
    assert {record["status"] for record in project.records().values()} == {"ok"}
    assert len(project.records()) == count
    return server


def in_flight(server: LoopbackServer, half: int) -> float:
    """Mean over the requests of the first or second half."""
    middle = len(server.times) // 2
    part = server.times[:middle] if half == 0 else server.times[middle:]
    return statistics.fmean(count for _, count in part)


@pytest.mark.slow
def test_a_server_that_refuses_what_is_too_much_is_asked_less_at_once(project: Project) -> None:
    choosy = Choosy(refusals=100_000)
    server = _run(project, choosy, 160)
    assert choosy.refused > 0
    assert server.peak <= 32
    # Of 32 that may be in flight; 4 are what the server takes.
    assert in_flight(server, 1) < 12
    # Hammering would be refused several times a case.
    assert choosy.refused < 160


@pytest.mark.slow
def test_after_a_burst_of_refusals_as_many_as_before_are_in_flight(project: Project) -> None:
    # Slow enough that a busy machine, too, could have all 32 in flight.
    choosy = Choosy(refusals=30, ask_s=0.3)
    server = _run(project, choosy, 600)
    assert choosy.refused == 30
    # From one request at once, 24 are reached within 300 replies, each of which allows a little.
    assert max(count for _, count in server.times[300:]) >= 24
