from __future__ import annotations

import pytest

from tests.plugin.scratch import SERIAL_AND_PARALLEL, Project, checks


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
    result = project.run()
    result.stdout.fnmatch_lines(["thresholds.toml:3*", "missed: *short-1"])


def test_a_check_of_severity_warn_fails_nothing(project: Project) -> None:
    project.write("thresholds.toml", '[overall]\nrecall_at_k = { min = 0.9, severity = "warn" }\n')
    result = project.run()
    assert result.ret == 0
    assert result.parseoutcomes() == {"passed": 4, "missed": 1, "warned": 1}
    assert checks(project.stored("gate.json"))["recall_at_k"] == "warn"


def test_a_gate_on_the_command_line_is_checked(project: Project) -> None:
    result = project.run("--gate", "hit_at_k>=0.99")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["FAILED thresholds.toml::hit_at_k*"])


def test_a_check_without_data_fails(project: Project) -> None:
    project.write("thresholds.toml", '[overall]\nspecificity_accuracy = ">= 0.5"\n')
    assert project.run().ret == 1


def test_percent_of_progress_ends_at_100(project: Project) -> None:
    result = project.run()
    result.stdout.fnmatch_lines(["evals/eval_set.jsonl *66%]", "thresholds.toml .. *100%]"])


def test_a_mark_that_skips_a_case_does_not_make_the_run_incomplete(project: Project) -> None:
    hook = """
def pytest_collection_modifyitems(items):
    for item in items:
        if item.name == "ok-1":
            item.add_marker(pytest.mark.skip(reason="not today"))
"""
    path = project.path / "conftest.py"
    path.write_text(path.read_text(encoding="utf-8") + hook, encoding="utf-8")
    result = project.run()
    assert "INCOMPLETE" not in result.stdout.str()
    assert result.parseoutcomes()["skipped"] == 1
    assert project.stored("gate.json")["complete"] is True


DROP = """
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call" and report.nodeid.endswith("::ok-2"):
        del report.rageval
    return report
"""


@pytest.mark.slow
def test_a_record_that_a_worker_lost_fails_the_run_as_incomplete(project: Project) -> None:
    path = project.path / "conftest.py"
    path.write_text(path.read_text(encoding="utf-8") + DROP, encoding="utf-8")
    result = project.run_apart("-n", "2")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["FAILED thresholds.toml::complete - *INCOMPLETE*"])
    assert project.stored("gate.json")["complete"] is False
    assert "eval_record" not in result.stdout.str()


UNASKED = """
def test_it(eval_case):
    assert eval_case.question
"""


@SERIAL_AND_PARALLEL
def test_an_incomplete_run_says_when_a_test_function_never_asks(
    project: Project, workers: tuple[str, ...]
) -> None:
    project.write("evals/eval_set.py", UNASKED)
    result = project.run(*workers)
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
    assert project.stored("metrics.json")["total_tests"] == 1
    assert project.stored("gate.json")["verdict"] == "not_evaluated"
    result.stdout.fnmatch_lines(["gate *not evaluated: the session ended after 1 of 4 cases*"])
