from __future__ import annotations

import pytest

from tests.plugin.scratch import CASES, Project, outcomes


def test_a_failing_gate_is_exit_1_and_one_failed_line(project: Project) -> None:
    project.write("thresholds.toml", '[overall]\nrecall_at_k = ">= 0.9"\n')
    result = project.run()
    assert result.ret == 1
    failed = [line for line in result.outlines if line.startswith("FAILED ")]
    assert len(failed) == 1
    assert failed[0].startswith("FAILED thresholds.toml::recall_at_k - ")
    assert project.stored("gate.json")["verdict"] == "fail"


def test_a_failing_check_names_its_line_and_the_missed_cases(project: Project) -> None:
    project.write("thresholds.toml", '[overall]\n\nrecall_at_k = ">= 0.9"\n')
    project.run("-v").stdout.fnmatch_lines(["thresholds.toml:3*", "lowest: *short-1"])
    lines = project.run().outlines
    assert not any("FAILURES" in line for line in lines)
    assert sum("recall_at_k" in line and "below" in line for line in lines) == 1


def test_a_check_without_data_fails(project: Project) -> None:
    project.write("thresholds.toml", '[overall]\nspecificity_accuracy = ">= 0.5"\n')
    assert project.run().ret == 1


def test_letters_and_percentage_are_those_of_the_cases_alone(project: Project) -> None:
    result = project.run("--gate", "hit_at_k>=0.99")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["FAILED thresholds.toml::hit_at_k*"])
    result.stdout.fnmatch_lines(["collected 4 items", "evals/eval_set.jsonl ..m. *100%]*"])
    result.stdout.no_fnmatch_line("thresholds.toml [.Fs]*")
    assert outcomes(result) == {"passed": 3, "missed": 1, "checks failed": 1, "checks passed": 2}


def test_a_session_whose_cases_and_checks_pass_ends_in_green(project: Project) -> None:
    project.cases(CASES[:2])
    text = project.run("--color=yes").outlines[-1]
    assert text.startswith("\x1b[32m")
    assert "\x1b[32m\x1b[1m2 passed\x1b[0m" in text
    assert "\x1b[32m\x1b[1mchecks: 2 passed\x1b[0m" in text
    assert "\x1b[33m" not in text


DROP = """
from pytest_rageval.plugin.workers import WorkerEnd

deliver = WorkerEnd.deliver

def pytest_configure():
    WorkerEnd.deliver = lambda end, nodeid, one: (
        nodeid.endswith("::ok-2") or deliver(end, nodeid, one)
    )
"""


@pytest.mark.slow
def test_a_record_that_a_worker_lost_fails_the_run_as_incomplete(project: Project) -> None:
    path = project.path / "conftest.py"
    path.write_text(path.read_text(encoding="utf-8") + DROP, encoding="utf-8")
    result = project.run("-n", "2")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["FAILED thresholds.toml::complete - *INCOMPLETE*"])
    assert project.stored("gate.json")["complete"] is False
    assert "eval_record" not in result.stdout.str()


UNASKED = """
def test_it(eval_case):
    assert eval_case.question
"""


def test_an_incomplete_run_says_when_a_test_function_never_asks(project: Project) -> None:
    project.write("evals/eval_set.py", UNASKED)
    result = project.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "4 cases ran a test function that does not take the fixture eval_record, which is "
            "what asks and scores a case: such as evals/eval_set.jsonl::ok-1",
            "FAILED thresholds.toml::complete - *INCOMPLETE*",
        ]
    )


INTERRUPT = """
def pytest_runtest_setup(item):
    if item.name == "ok-2":
        raise KeyboardInterrupt
"""


def test_an_interrupted_run_keeps_what_it_measured(project: Project) -> None:
    path = project.path / "conftest.py"
    path.write_text(path.read_text(encoding="utf-8") + INTERRUPT, encoding="utf-8")
    result = project.run_apart("--rageval-concurrency", "1")
    assert result.ret == 2
    assert sorted(project.records()) == ["ok-1"]
    assert project.stored("metrics.json")["total"] == 1
    assert project.stored("gate.json")["verdict"] == "not_evaluated"
    result.stdout.fnmatch_lines(["not evaluated: the session ended after 1 of 4 cases*"])
