"""Asking stops once the budget of a session is used up, and a resumed run goes on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.build.targets import fake_target, json_reply
from tests.plugin.long_runs import ask_server, document, lines_of, numbered_cases
from tests.plugin.rag_server import hit_or_miss, rag_server
from tests.plugin.scratch import NO_PAGE, QUIET, Project, case
from tests.plugin.talking_bot import talk, talking_bot

N, PRICE = 90, 0.25
WORKERS, IN_FLIGHT = 2, 16
UNDER_WAY = IN_FLIGHT + IN_FLIGHT // 4 + 1
"""Cases that a process has in flight or scores, and the one that pytest waits for."""


def kinds(project: Project) -> Counter[str]:
    errors = [line["error"] for line in lines_of(project.folder())]
    return Counter("asked" if one is None else one["kind"] for one in errors)


def priced(question: str, nth: int) -> dict[str, Any]:
    reply = hit_or_miss(question, nth)
    return reply | {"debug": reply["debug"] | {"usage": {"cost_usd": PRICE}}}


def test_a_number_of_calls_is_kept_with_many_in_flight_and_the_rest_is_asked_later(
    project: Project,
) -> None:
    project.write("thresholds.toml", "version = 1\n")
    project.cases(numbered_cases(N))
    with rag_server(delay_s=0.01) as server:
        ask_server(project, server.url, concurrency=32)
        first = project.run("--rageval-run-id", "one", "--rageval-max-calls", "40")
        assert (first.ret, server.calls) == (pytest.ExitCode.TESTS_FAILED, 40)
        assert kinds(project) == {"asked": 40, "not_attempted": N - 40}
        gate = document(project.folder(), "gate.json")
        assert (gate["verdict"], gate["complete"]) == ("fail", False)
        hits = document(project.folder())["metrics"]["hit_at_k"]
        assert (hits["n"], hits["n_error"]) == (40, N - 40)
        assert hits["mean"] > 0.8

        second = project.run("--rageval-resume", "one")
        assert (second.ret, server.calls) == (pytest.ExitCode.OK, N)
        assert kinds(project) == {"asked": N}


@pytest.mark.slow
def test_workers_share_the_money(project: Project) -> None:
    project.cases(numbered_cases(300))
    with rag_server(priced, delay_s=0.05) as server:
        ask_server(project, server.url, concurrency=IN_FLIGHT)
        budget = ("--rageval-max-cost", str(60 * PRICE))
        result = project.run("--rageval-run-id", "one", "-n", str(WORKERS), *budget)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        assert 60 <= server.calls <= 60 + WORKERS * UNDER_WAY
    assert kinds(project) == {"asked": server.calls, "not_attempted": 300 - server.calls}


def test_a_question_without_a_cost_has_the_price_of_the_settings(project: Project) -> None:
    project.cases(numbered_cases(12))
    with rag_server() as server:
        ask_server(project, server.url, concurrency=1)
        text = (project.path / "pyproject.toml").read_text("utf-8")
        project.write("pyproject.toml", f"{text}\ncall_price = {PRICE}\n")
        project.run("--rageval-run-id", "one", "--rageval-max-cost", str(5 * PRICE))
        assert server.calls == 5


def test_a_conversation_that_the_budget_cut_is_asked_again_as_a_whole(project: Project) -> None:
    project.write("conftest.py", "")
    project.write("pyproject.toml", f"[tool.rageval]\n{NO_PAGE}concurrency = 1\n")
    project.write("thresholds.toml", "version = 1\n")
    project.cases([talk("ada"), talk("bob")])
    with talking_bot() as bot:
        url = ("--rag-url", bot.url)
        project.run(*url, "--rageval-run-id", "one", "--rageval-max-calls", "4")
        assert len(bot.asked) == 4
        assert kinds(project) == {"asked": 4, "not_attempted": 2}
        again = project.run(*url, "--rageval-resume", "one")
        assert (again.ret, len(bot.asked)) == (pytest.ExitCode.OK, 4 + 3)


def test_a_replayed_call_costs_nothing(project: Project, tmp_path: Path) -> None:
    project.write("conftest.py", "")
    project.write("thresholds.toml", "version = 1\n")
    project.cases([case(f"c-{n}", f"hit {n}") for n in range(4)])
    chunk = {"rel_path": "a.md", "heading_path": "# A", "text": "It is so."}
    reply = json_reply({"answer": "It is so.", "debug": {"retrieved_chunks": [chunk]}})

    def run(name: str, mode: str, most: str) -> pytest.RunResult:
        named = ("--rageval-run-id", name, f"--record-mode={mode}", "--rageval-max-calls", most)
        return project.run("--rag-url", target.url, "--judge", "none", *named, *QUIET)

    with fake_target(*[reply] * 8) as target:
        run("one", "once", "2")
        assert kinds(project) == {"asked": 2, "not_attempted": 2}
        # The two that are recorded are replayed, and the others sent.
        assert run("two", "once", "2").ret == pytest.ExitCode.OK
        assert run("three", "none", "1").ret == pytest.ExitCode.OK
