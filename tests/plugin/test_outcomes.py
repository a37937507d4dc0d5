from __future__ import annotations

import json

from tests.plugin.scratch import (
    CASES,
    CONFTEST,
    PYPROJECT,
    REFUSED,
    SERIAL_AND_PARALLEL,
    Project,
    case,
    checks,
    failed_line,
    outcomes,
)


def test_a_miss_fails_nothing_by_itself_and_an_error_the_check_that_always_exists(
    project: Project,
) -> None:
    project.cases([*CASES, REFUSED])
    project.write("thresholds.toml", '[overall]\nerror_rate = "<= 0.5"\n')
    assert project.run().ret == 0
    (project.run_folders()[0]).rename(project.path / "allowed")
    project.write("thresholds.toml", '[overall]\nrecall_at_k = ">= 0.5"\n')
    result = project.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["FAILED thresholds.toml::error_rate*"])
    assert checks(project.stored("gate.json")) == {"recall_at_k": "pass", "error_rate": "fail"}
    counts = {"passed": 3, "missed": 1, "errored": 1, "checks failed": 1, "checks passed": 1}
    assert outcomes(result) == counts
    result.stdout.fnmatch_lines(["evals/eval_set.jsonl ..m.e*"])
    record = project.records()["dead-1"]
    assert (record["status"], record["error"]["kind"]) == ("error", "connection")


def test_a_miss_fails_where_nobody_wrote_thresholds(project: Project) -> None:
    (project.path / "thresholds.toml").unlink()
    result = project.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["FAILED evals/eval_set.jsonl::short-1*"])
    assert outcomes(result) == {"passed": 3, "failed": 1, "checks passed": 1}


def test_a_miss_of_a_required_case_fails_whatever_the_gate_says(project: Project) -> None:
    project.cases([CASES[0], case("must-1", "miss it", required=True)])
    result = project.run()
    assert result.ret == 1
    failed = [line for line in result.outlines if line.startswith("FAILED ")]
    assert len(failed) == 1
    assert failed[0].startswith(failed_line("evals/eval_set.jsonl::must-1", ""))
    assert checks(project.stored("gate.json"))["recall_at_k"] == "pass"


def test_exitfirst_stops_at_a_miss_that_fails(project: Project) -> None:
    project.write("thresholds.toml", '[cases]\non_miss = "fail"\n')
    result = project.run("-x", "--rageval-concurrency", "1")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*evals/eval_set.jsonl:3: not_retrieved*"])
    line = failed_line("evals/eval_set.jsonl::short-1", "evals/eval_set.jsonl:3:*")
    result.stdout.fnmatch_lines([line])
    assert sorted(project.records()) == ["ok-1", "ok-2", "short-1"]
    assert project.stored("gate.json")["verdict"] == "not_evaluated"


# --- judges --------------------------------------------------------------------------------------


def test_a_judge_of_ones_own_takes_the_place_of_the_configured_one(project: Project) -> None:
    project.write("pyproject.toml", PYPROJECT.replace('judge = "none"\n', ""))
    project.write("conftest.py", CONFTEST + OWN_JUDGE)
    assert project.run().ret == 0
    records = project.records().values()
    scores = {r["metrics"]["groundedness"] for r in records} - {None}
    assert scores == {2.0}
    judged = [one for record in records for one in record["judgements"].values()]
    assert {one["judge"] for one in judged} == {"house/1"}


OWN_JUDGE = """
from pytest_rageval.values.verdict import Judgement, Verdict

class House:
    identity = "house/1"

    def judge(self, rubric, request, *, repeat=0):
        scores = {"groundedness": 2.0} if rubric == "groundedness" else {"correctness": 3.0}
        verdict = Verdict(scores=scores)
        return Judgement(rubric=rubric, rubric_version="1", judge=self.identity, verdict=verdict)

@pytest.fixture(scope="session")
def judge():
    return House()
"""


WITHOUT_REFERENCES = CONFTEST.replace(
    '"references": [{"rel_path": path, "heading_path": "# A"}],', ""
).replace('"The answer text."', '"It is so [1]." if question == "hit one" else "It is so."')


def test_answers_without_citations_count_once_any_answer_cites(project: Project) -> None:
    project.write("conftest.py", WITHOUT_REFERENCES)
    project.run("--rageval-run-id", "one")
    found = json.loads((project.folder() / "metrics.json").read_text(encoding="utf-8"))
    rate = found["metrics"]["attribution_hit_rate"]
    assert (rate["n"], round(rate["mean"], 3)) == (3, 0.333)
    lines = (project.folder() / "results.jsonl").read_text(encoding="utf-8").splitlines()
    scores = [json.loads(line)["scores"]["metrics"]["attribution_hit_rate"] for line in lines]
    assert scores == [1.0, 0.0, 0.0, None]


@SERIAL_AND_PARALLEL
def test_a_flaw_that_only_the_whole_run_shows_is_counted_and_fails_the_run(
    project: Project, workers: tuple[str, ...]
) -> None:
    project.write("conftest.py", WITHOUT_REFERENCES)
    project.cases([case("a", "hit two"), case("b", "hit one"), case("c", "hit three")])
    project.write("thresholds.toml", "[cases]\non_miss = 'fail'\n")
    result = project.run(*workers)
    assert result.ret == 1
    assert outcomes(result) == {
        "passed": 1,
        "flawed": 2,
        "checks failed": 1,
        "checks passed": 1,
    }
    result.stdout.fnmatch_lines(
        [
            "note     2 cases are flawed, not passed as shown above*",
            "FAILED thresholds.toml::cases - 2*",
        ]
    )
    again = project.run("--lf", "--collect-only", "-q")
    assert [line for line in again.outlines if "::" in line] == [
        "evals/eval_set.jsonl::a",
        "evals/eval_set.jsonl::c",
    ]


def test_a_plugin_may_fail_the_setup_of_a_case_without_an_exception(project: Project) -> None:
    refusing = """
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "setup" and item.name == "ok-1":
        report.outcome, report.longrepr = "failed", "quota of the team is spent"
    return report
"""
    project.write("conftest.py", CONFTEST + refusing)
    result = project.run()
    assert "quota of the team is spent" in result.stdout.str()
    assert "INTERNALERROR" not in result.stdout.str()
    assert sorted(project.records()) == sorted(one["id"] for one in CASES[1:])


FAILING = """
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call" and item.name in {"ok-1", "short-1"}:
        report.outcome, report.longrepr = "failed", "the log has an error"
    return report
"""


def test_a_hook_of_the_project_may_fail_a_case_that_passed_or_missed(project: Project) -> None:
    project.write("conftest.py", CONFTEST + FAILING)
    result = project.run()
    assert result.ret == 1
    assert outcomes(result) == {"failed": 2, "passed": 2, "checks passed": 2}
