"""Cases that are asked several times."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.plugin.long_runs import (
    ask_server,
    document,
    figures,
    kill,
    lines_of,
    n_lines,
    start,
    wait_until,
)
from tests.plugin.rag_server import hit_or_miss, rag_server
from tests.plugin.scratch import SERIAL_AND_PARALLEL, Project, case

THREE = ("--rageval-repeats", "3")


def flaky(question: str, nth: int) -> dict[str, Any] | int:
    """Miss every other time where the question wavers, at first where it recovers; fail once where
    it stumbles."""
    if question.startswith("stumble") and nth % 3 == 1:
        return 500
    if question.startswith("recover"):
        return hit_or_miss("miss" if nth == 0 else "hit", nth)
    if question.startswith("waver"):
        return hit_or_miss("hit" if nth % 2 == 0 else "miss", nth)
    return hit_or_miss("miss" if question.startswith("miss") else "hit", nth)


FLAKY = (
    case("steady", "hit it"),
    case("never", "miss it"),
    case("wavers", "waver over it"),
    case("stumbles", "stumble over it"),
)


RETRIEVAL = '[cases]\njudged_on = ["retrieval"]\n[overall]\nrecall_at_k = ">= 0.5"\n'
"""The answers of the server are wrong, which these tests are not about."""


@SERIAL_AND_PARALLEL
def test_each_case_is_asked_as_often_as_wanted(project: Project, workers: tuple[str, ...]) -> None:
    project.cases(FLAKY)
    project.write("thresholds.toml", RETRIEVAL)
    with rag_server(flaky) as server:
        ask_server(project, server.url, judge="offline")
        report = ("--json-report", "--json-report-file=r.json", "--junitxml=j.xml")
        result = project.run(*THREE, "--rageval-run-id", "one", *workers, *report)
        assert set(server.asked.values()) == {3}
    found = {(r["case_id"], r["repeat"]): r["outcome"] for r in lines_of(project.folder())}
    assert found == {
        **{("steady", n): "passed" for n in range(3)},
        **{("never", n): "missed" for n in range(3)},
        ("wavers", 0): "passed", ("wavers", 1): "missed", ("wavers", 2): "passed",
        ("stumbles", 0): "passed", ("stumbles", 1): "error", ("stumbles", 2): "passed",
    }  # fmt: skip
    outcomes = result.parseoutcomes()
    assert (outcomes["missed"], outcomes["flaky"]) == (1, 2)
    tests = json.loads((project.path / "r.json").read_text(encoding="utf-8"))["tests"]
    told = {t["nodeid"].split("::")[1]: t["metadata"]["rageval"] for t in tests}
    assert told["wavers"]["metrics"]["hit_at_k"] == pytest.approx(2 / 3)
    assert [one["outcome"] for one in told["stumbles"]["repeats"]] == ["passed", "error", "passed"]
    junit = (project.path / "j.xml").read_text(encoding="utf-8")
    assert "missed in 1 of 3 repeats: not_retrieved" in junit
    assert "erred in 1 of 3 repeats: http" in junit
    metrics = document(project.folder())
    assert (metrics["total"], metrics["missed"], metrics["flaky"]) == (4, 1, 2)
    repeats = metrics["repeats"]
    assert (repeats["repeats"], repeats["n"], repeats["flaky_rate"]) == (3, 4, 0.5)
    assert [c["case_id"] for c in repeats["flaky_cases"]] == ["stumbles", "wavers"]
    assert metrics["metrics"]["hit_at_k"]["mean"] == pytest.approx((1 + 0 + 2 / 3 + 1) / 4)


AUTO = ("--rageval-repeats", "auto")
SOME = (case("steady", "hit it"), case("never", "miss it"), case("recovers", "recover from it"))


@SERIAL_AND_PARALLEL
def test_auto_asks_again_what_failed_or_flipped_and_counts_first_answers(
    project: Project, workers: tuple[str, ...]
) -> None:
    project.cases(SOME)
    project.write("thresholds.toml", RETRIEVAL)
    with rag_server(flaky) as server:
        ask_server(project, server.url)
        result = project.run(*AUTO, "--rageval-run-id", "one", *workers)
        assert dict(server.asked) == {"hit it": 1, "miss it": 5, "recover from it": 5}
        project.run(*AUTO, "--rageval-run-id", "two")
        assert dict(server.asked) == {"hit it": 2, "miss it": 10, "recover from it": 10}
    assert (result.parseoutcomes()["missed"], result.parseoutcomes()["flaky"]) == (1, 1)
    one, two = document(project.folder("one")), document(project.folder("two"))
    assert (one["passed"], one["missed"], one["flaky"]) == (1, 1, 1)
    assert one["repeats"]["again"] == {"failed": 2}
    assert two["repeats"]["again"] == {"failed": 1, "flipped": 1}
    rates = [of["metrics"]["hit_at_k"]["mean"] for of in (one, two)]
    assert rates == pytest.approx([1 / 3, 2 / 3])
    assert document(project.folder("one"), "gate.json")["complete"] is True


@pytest.mark.slow
def test_a_resumed_auto_run_asks_what_is_missing_of_the_cases_that_it_asks_again(
    project: Project,
) -> None:
    project.cases(SOME)
    project.write("thresholds.toml", RETRIEVAL)
    with rag_server(flaky) as server:
        ask_server(project, server.url)
        project.run(*AUTO, "--rageval-run-id", "one")
        whole, stored = document(project.folder()), project.folder() / "results.jsonl"
        kept = [one for one in lines_of(project.folder()) if one["repeat"] < 3]
        stored.write_text("".join(json.dumps(one) + "\n" for one in kept), encoding="utf-8")
        server.asked.clear()
        project.run(*AUTO, "--rageval-resume", "one", "-n", "2")
        assert dict(server.asked) == {"miss it": 2, "recover from it": 2}
    again = [one["again"] for one in lines_of(project.folder()) if one["repeat"] == 4]
    assert again == ["failed", "failed"]
    assert document(project.folder())["metrics"] == whole["metrics"]


def test_the_gate_counts_cases_that_have_all_their_repeats(project: Project) -> None:
    result = project.run(*THREE, "--rageval-run-id", "one")
    assert result.ret == 0
    gate = document(project.folder(), "gate.json")
    assert (gate["n_expected"], gate["n_reported"], gate["complete"]) == (4, 4, True)


def test_misses_and_errors_of_any_repeat_are_asked_again_by_last_failed(project: Project) -> None:
    project.cases(FLAKY)
    with rag_server(flaky) as server:
        ask_server(project, server.url)
        project.run(*THREE, "--rageval-run-id", "one")
        result = project.run("--lf", "--rageval-run-id", "two")
    result.stdout.fnmatch_lines(["run-last-failure: rerun previous 3 failures"])


@pytest.mark.slow
def test_a_resumed_run_asks_only_the_repeats_that_it_lacks(project: Project) -> None:
    project.cases([case(f"c{n}", f"{'waver' if n % 2 else 'hit'} {n}") for n in range(8)])
    with rag_server(flaky, delay_s=0.1) as server:
        ask_server(project, server.url, concurrency=2)
        folder = project.folder()
        server.let_through(12)
        session = start(project, *THREE, "--rageval-run-id", "one", "--rageval-concurrency", "1")
        wait_until(lambda: n_lines(folder) >= 4, "4 records")
        kill(session)
        server.let_through()
        server.settle()
        records = lines_of(folder)
        done = {(r["case_id"], r["repeat"]): r["answer"] for r in records}
        server.asked.clear()
        for question in (r["question"] for r in records):
            server.asked[question] += 1
        server.delay_s = 0.0
        before = server.calls
        project.run(*THREE, "--rageval-resume", "one")
        assert server.calls - before == 24 - len(done)
        server.asked.clear()
        project.run(*THREE, "--rageval-run-id", "two")
    assert len(lines_of(folder)) == 24
    assert figures(document(folder)) == figures(document(project.folder("two")))


def test_repeats_are_recorded_and_replayed_in_their_order(project: Project) -> None:
    project.cases(FLAKY[:3])
    with rag_server(flaky) as server:
        ask_server(project, server.url)
        project.run(*THREE, "--rageval-run-id", "one", "--record-mode=once")
        calls = server.calls
    project.run(*THREE, "--rageval-run-id", "two", "--record-mode=none", "--block-network")
    assert calls == 9
    assert figures(document(project.folder())) == figures(document(project.folder("two")))
