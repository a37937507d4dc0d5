"""Hundreds of cases of which some fail in every way there is: none is lost, none is mistaken."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from tests.build.loopback import Question, loopback_server
from tests.build.targets import unused_port
from tests.plugin.faults import (
    FAULTS,
    READ_TIMEOUT_S,
    RETRIES,
    TIMEOUT_S,
    TOTAL,
    fault_of,
    faulty,
    kind_of,
    mixed_cases,
)
from tests.plugin.long_runs import ask_server, document, figures, lines_of
from tests.plugin.scratch import SERIAL_AND_PARALLEL, Project, case, summary_lines

WAYS = {
    "as-it-comes": (),
    "many-at-once": ("-n", "2", "--rageval-concurrency", "32"),
}


def _ask(project: Project, url: str) -> None:
    ask_server(project, url, max_errors=1000)
    limits = f"retries = {RETRIES}\nread_timeout = {READ_TIMEOUT_S}\ntimeout = {TIMEOUT_S}\n"
    file = project.path / "pyproject.toml"
    file.write_text(file.read_text("utf-8").replace("retries = 0", limits), encoding="utf-8")
    project.write("thresholds.toml", "version = 1\n[overall]\nerror_rate = '<= 0.5'\n")
    project.cases(mixed_cases())


@pytest.mark.slow
def test_every_case_has_the_status_error_and_attempts_of_its_fault_in_all_ways(
    project: Project,
) -> None:
    found = []
    for way, arguments in WAYS.items():
        with loopback_server(faulty) as server:
            _ask(project, server.url)
            result = project.run("--rageval-run-id", way, *arguments)
        records = lines_of(project.folder(way))
        assert len({record["case_id"] for record in records}) == len(records) == TOTAL
        asked = Counter(server.asked)
        wrong = {}
        for record in records:
            fault = fault_of(record["question"])
            error, attempts = record["error"] or {}, asked[record["question"]]
            said = (record["status"], error.get("kind"), error.get("attempts", attempts), attempts)
            status = "ok" if fault.error is None else "error"
            expected = (status, fault.error, fault.attempts, fault.attempts)
            if said != expected:
                wrong[kind_of(record["question"])] = (expected, said, record["error"])
        assert wrong == {}, result.stdout.str()[-3000:]
        kinds = Counter(kind_of(record["question"]) for record in records)
        assert {kind: kinds[kind] for kind in FAULTS} == {k: f.count for k, f in FAULTS.items()}
        # Each session has a server, and with it an address, of its own.
        found.append({**figures(document(project.folder(way))), "config_hash": None})
    first, second = found
    assert first["total"] == TOTAL
    assert first["errored"] == sum(fault.count for fault in FAULTS.values() if fault.error)
    assert second == first


def test_a_target_that_only_keeps_people_waiting_is_given_up_too(project: Project) -> None:
    async def silent(question: Question, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    with loopback_server(silent) as server:
        ask_server(project, server.url, max_errors=4)
        project.write(
            "pyproject.toml",
            (project.path / "pyproject.toml").read_text("utf-8") + "\ntimeout = 0.2\n",
        )
        project.cases([case(f"q-{n}", "hit") for n in range(20)])
        result = project.run("--rageval-concurrency", "2")

    kinds = Counter(record["error"]["kind"] for record in project.records().values())
    assert kinds == {"timeout": kinds["timeout"], "not_attempted": 20 - kinds["timeout"]}
    # Two more were on their threads by then.
    assert 4 <= kinds["timeout"] <= 6
    said = " ".join(" ".join(summary_lines(result)).split())
    assert said.count("gave up after 4 timeouts in a row (--rageval-max-errors 4)") == 1


@pytest.mark.slow
@SERIAL_AND_PARALLEL
def test_a_target_that_is_dead_ends_the_run_soon_with_one_sentence(
    project: Project, workers: tuple[str, ...]
) -> None:
    _ask(project, f"http://127.0.0.1:{unused_port()}")

    result = project.run("--rageval-max-errors", "10", *workers)

    assert result.ret == 1
    said = " ".join(" ".join(summary_lines(result)).split())
    assert said.count("gave up after 10 connection errors in a row") == 1
    assert "connection refused: is the server running, and on this port?" in said
    kinds = Counter(record["error"]["kind"] for record in project.records().values())
    assert kinds["not_attempted"] + kinds["connection"] == TOTAL
    # Soon is counted in requests: seconds depend on the load of the machine. On each worker those
    # finish that are under way: ten, and the one that pytest waits for.
    assert kinds["connection"] <= 2 * (10 + 10)
