"""A run whose server breaks HTTP in eighty ways: each is an error of its case, and it goes on."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from tests.build.hostile_judge import completion
from tests.build.hostile_server import BEHAVIOURS, GOOD, hostile_server
from tests.build.loopback import Question, loopback_server
from tests.build.targets import http_reply
from tests.plugin.long_runs import TELL_PEAK, ask_server, told_peak_mb
from tests.plugin.scratch import Project, case, outcomes

GOOD_CASES = 20


@pytest.mark.slow
def test_every_case_has_the_error_of_its_fault_and_the_others_are_answered(
    project: Project,
) -> None:
    named = {f"h-{name}": behaviour for name, behaviour in BEHAVIOURS.items()}
    cases = [case(name, f"hostile {name.removeprefix('h-')}") for name in named]
    cases += [case(f"g-{n}", f"a good one {n}") for n in range(GOOD_CASES)]
    project.cases(cases)
    project.write("conftest.py", "")
    with hostile_server(lambda _: http_reply(GOOD)) as server:
        project.write(
            "pyproject.toml",
            '[tool.rageval]\njudge = "none"\nmax_errors = 1000\n[tool.rageval.target]\n'
            # A server that breaks a connection late breaks the next request on it, too.
            f"url = {json.dumps(server.url)}\ntimeout = 3\nretries = 1\n",
        )
        result = project.run_apart("--rageval-run-id", "one")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    records = project.records()
    assert set(records) == {one["id"] for one in cases}
    for name, record in records.items():
        behaviour = named.get(name)
        # Which one, tests/properties/test_hostile_servers.py says.
        fails = behaviour is not None and bool(behaviour.kinds)
        assert (record["error"] is not None) == fails, name
    errored = sum(record["error"] is not None for record in records.values())
    assert outcomes(result)["errored"] == errored
    assert "Traceback" not in result.stdout.str()


MOST_MB = 150
WIDE = "x" * 7_000_000 + "\U0001f600"
"""One character of four bytes makes Python keep four bytes for each."""
LARGE: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "an answer of wide characters": ({"answer": WIDE}, "{}"),
    "a field that nobody reads": ({"zz": WIDE}, "{}"),
    "a text of a chunk": ({"debug": {"retrieved_chunks": [{"rel_path": "a", "text": WIDE}]}}, "{}"),
    "a verdict": ({}, json.dumps({"score": 4, "reasoning": WIDE}, ensure_ascii=False)),
}


@pytest.fixture(scope="module")
def usual_mb() -> list[float]:
    """The peak of a session without a large reply, once it is known."""
    return []


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")
@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_no_large_reply_takes_much_memory(
    project: Project, usual_mb: list[float], name: str
) -> None:
    sent: tuple[Mapping[str, Any], str] = ({}, "{}")

    async def answer(question: Question, writer: asyncio.StreamWriter) -> bytes:
        reply, verdict = sent
        if question.of_judge:
            return http_reply(str(completion(verdict, ascii_only=False).body).encode())
        usual = {"answer": "Monthly.", "debug": {"retrieved_chunks": []}}
        return http_reply(json.dumps({**usual, **reply}, ensure_ascii=False).encode())

    def peak_mb() -> float:
        project.run_apart()
        return told_peak_mb(project)

    project.cases([case("a", "how often?")])
    with loopback_server(answer) as server:
        ask_server(project, server.url, judge="m-2024-01-01")
        file = project.path / "pyproject.toml"
        text = file.read_text(encoding="utf-8").replace('judge = "m-2024-01-01"\n', "")
        judge = f'[tool.rageval.judge]\nmodel = "m-2024-01-01"\nbase_url = "{server.url}/v1"\n'
        file.write_text(f"{text}\n{judge}", encoding="utf-8")
        project.write("conftest.py", TELL_PEAK)
        if not usual_mb:
            usual_mb.append(peak_mb())
        sent = LARGE[name]
        assert peak_mb() - usual_mb[0] < MOST_MB
