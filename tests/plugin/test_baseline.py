"""A run of pytest compared with a stored one."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection
from typing import Any

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.runs.tags import write_tag
from tests.plugin.scratch import NO_PAGE, PYPROJECT, Project, case, checks, outcomes, summary_lines

DROP = """baseline = "main"
[overall]
recall_at_k = { min = 0.1, max_drop = 0.05 }
newly_missed = "<= 1"
"""
CLIENT = """
import pytest

LOST = {lost!r}

def reply(question):
    path = "lost.md" if question in LOST else f"{{question}}.md"
    return {{
        "answer": "The answer text.",
        "abstained": False,
        "references": [{{"rel_path": path}}],
        "debug": {{"retrieved_chunks": [{{"rel_path": path}}]}},
    }}

@pytest.fixture(scope="session")
def rag_client():
    return lambda request: reply(request.question)
"""
N = 30


def document(i: int, **fields: Any) -> dict[str, Any]:
    return case(f"c-{i:02}", f"q{i:02}", gold_supports=[{"rel_path": f"q{i:02}.md"}], **fields)


def lose(project: Project, places: Collection[int]) -> None:
    project.write("conftest.py", CLIENT.format(lost=[f"q{i:02}" for i in places]))


def gate(project: Project, run_id: str) -> dict[str, Any]:
    path = project.path / "evals" / "results" / run_id / "gate.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.fixture
def compared(project: Project) -> Project:
    """A project whose run r1 is its baseline, and which lost four cases since."""
    project.cases([document(i, tags=["work"] if i < 5 else []) for i in range(N)])
    project.write("thresholds.toml", DROP)
    lose(project, ())
    assert project.run("--rageval-run-id", "r1").ret == 0
    write_tag(project.path / "evals" / "results", "main", "r1")
    lose(project, (3, 8, 13, 18))
    return project


def test_a_missing_baseline_is_said_with_the_command_that_makes_one(project: Project) -> None:
    project.write("thresholds.toml", DROP.replace("0.1,", "0.1, severity = 'warn',"))
    result = project.run("-rs")
    assert result.ret == 0
    assert outcomes(result)["checks skipped"] == 2
    text = " ".join(result.stdout.str().split())
    assert "baseline none: run 'main': not found" in text
    assert "make one with `rageval runs tag RUN main`" in text
    assert str(project.path / "evals") not in json.dumps(project.stored("gate.json"))


@pytest.mark.parametrize(
    ("source", "name", "value"),
    [
        ("flag", "baseline", "nothing"),
        ("variable", "runs", "nowhere.zip"),
        ("flag", "runs", "thresholds.toml"),
    ],
)
def test_what_is_named_for_this_run_has_to_be_there(
    project: Project, monkeypatch: pytest.MonkeyPatch, source: str, name: str, value: str
) -> None:
    arguments = []
    if source == "flag":
        arguments = [f"--rageval-{name}", value]
    else:
        monkeypatch.setenv(f"RAGEVAL_{name.upper()}", value)
    result = project.run(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert value in result.stderr.str()
    assert project.run_folders() == []
    monkeypatch.delenv(f"RAGEVAL_{name.upper()}", raising=False)
    project.run("--rageval-run-id", "r1")
    with contextlib.chdir(project.path):
        assert cli.run(["gate", "r1", f"--{name}", value]) == ExitCode.USAGE


def test_what_a_file_names_may_be_absent_on_this_machine(project: Project) -> None:
    project.write("pyproject.toml", PYPROJECT.replace(NO_PAGE, 'runs = "kept"\n' + NO_PAGE))
    project.write("thresholds.toml", DROP.replace('"main"', '"auto"'))
    assert project.run().ret == 0
    assert "kept" in project.stored("gate.json")["baseline"]["problem"]


def test_a_missing_baseline_that_is_required_fails(project: Project) -> None:
    project.write("thresholds.toml", "require_baseline = true\n" + DROP)
    assert project.run().ret == 1
    assert checks(project.stored("gate.json"))["recall_at_k max_drop"] == "fail"


def test_a_regression_is_one_failed_line_for_each_check(compared: Project) -> None:
    result = compared.run("--rageval-run-id", "r2", "-v")
    assert result.ret == 1
    failed = [line for line in result.outlines if line.startswith("FAILED ")]
    assert [line.split(" - ")[0] for line in failed] == [
        "FAILED thresholds.toml::recall_at_k max_drop",
        "FAILED thresholds.toml::newly_missed",
    ]
    result.stdout.fnmatch_lines(
        [
            "drop 0.133 is above max_drop 0.050, not proven: the interval includes no drop",
            "thresholds.toml:3  metric recall_at_k",
            "worse: c-03, c-08, c-13, c-18",
            "newly missed: c-03, c-08, c-13, c-18",
        ]
    )
    found = gate(compared, "r2")
    assert found["baseline"]["run_id"] == "r1"
    assert found["baseline"]["n_paired"] == N


def test_regressions_can_be_allowed(compared: Project) -> None:
    result = compared.run("--rageval-run-id", "r2", "--allow-regressions")
    assert result.ret == 0
    assert outcomes(result)["checks warned"] == 2
    found = checks(gate(compared, "r2"))
    assert found["recall_at_k max_drop"] == found["newly_missed"] == "warn"
    assert found["recall_at_k"] == "pass"
    heads = [line.split(":")[0] for line in summary_lines(result) if line.startswith("warn ")]
    assert heads == ["warn     recall_at_k max_drop", "warn     newly_missed"]
    # A baseline on the command line wins over that of the file.
    assert compared.run("--rageval-run-id", "r3", "--rageval-baseline", "r2").ret == 0
    assert gate(compared, "r3")["baseline"]["run_id"] == "r2"


def down(project: Project) -> None:
    text = (project.path / "conftest.py").read_text(encoding="utf-8")
    project.write(
        "conftest.py", text.replace("    path =", "    raise ConnectionError\n    path =")
    )


@pytest.mark.parametrize("spoilt", [("--rag-k", "9"), ("-k", "c-0"), ()])
def test_last_passes_over_runs_that_cannot_be_compared(
    compared: Project, spoilt: tuple[str, ...]
) -> None:
    if not spoilt:
        down(compared)
    compared.run("--rageval-run-id", "spoilt", *spoilt)
    lose(compared, ())
    result = compared.run("--rageval-run-id", "r2", "--rageval-baseline", "last")
    found = gate(compared, "r2")["baseline"]
    assert (found["run_id"], found["problem"]) == ("r1", None)
    assert found["choice"]["facts"]["runs"].startswith("spoilt (")
    assert any(line.startswith("since    r1, ") for line in summary_lines(result))


def test_a_baseline_without_answers_decides_nothing(compared: Project) -> None:
    down(compared)
    compared.run("--rageval-run-id", "down")
    lose(compared, ())
    compared.run("--rageval-run-id", "r2", "--rageval-baseline", "down")
    found = gate(compared, "r2")
    assert found["baseline"]["problem"]
    assert checks(found)["recall_at_k max_drop"] == "skip"


def test_another_k_is_refused_and_named(compared: Project) -> None:
    result = compared.run("--rageval-run-id", "r2", "--rag-k", "9")
    assert result.ret == ExitCode.NOT_COMPARABLE
    found = gate(compared, "r2")
    assert (
        found["baseline"]["problem"] == "not comparable with the baseline: k: 5 in base, 9 in new"
    )
    assert checks(found)["recall_at_k max_drop"] == "skip"
    result.stdout.fnmatch_lines(
        [
            "baseline not comparable with the baseline: k: 5 in base, 9 in new",
            "*exit code 3*",
        ]
    )
    compared.write("thresholds.toml", DROP.replace("min = 0.1", "min = 0.99"))
    failing = compared.run("--rageval-run-id", "r3", "--rag-k", "9")
    assert failing.ret == pytest.ExitCode.TESTS_FAILED
    assert "exit code 3" not in failing.stdout.str()


@pytest.mark.parametrize("arguments", [("-k", "c-0"), ("--rageval-shard", "1/2")])
def test_a_part_of_the_set_is_not_compared(compared: Project, arguments: tuple[str, ...]) -> None:
    assert compared.run("--rageval-run-id", "r2", *arguments).ret == 0
    found = gate(compared, "r2")
    message = {check["name"]: check["message"] for check in found["checks"]}
    assert message["recall_at_k max_drop"].startswith("needs the whole set (")
    assert checks(found)["newly_missed"] == "skip"


def test_a_baseline_without_records_is_said(compared: Project) -> None:
    (compared.path / "evals" / "results" / "r1" / "results.jsonl").unlink()
    result = compared.run("--rageval-run-id", "r2")
    assert result.ret == 0
    assert "there is no results.jsonl" in gate(compared, "r2")["baseline"]["problem"]


@pytest.mark.slow
def test_workers_give_the_same_decision(compared: Project) -> None:
    assert compared.run("--rageval-run-id", "r2").ret == 1
    assert compared.run("--rageval-run-id", "r3", "-n", "2").ret == 1
    one, other = gate(compared, "r2"), gate(compared, "r3")
    assert one["checks"] == other["checks"]
    assert one["baseline"] == other["baseline"]


@pytest.mark.slow
def test_a_resumed_run_is_compared_as_a_whole(compared: Project) -> None:
    compared.run("--rageval-run-id", "r2", "-k", "c-0")
    result = compared.run("--rageval-resume", "r2")
    assert result.ret == 1
    assert gate(compared, "r2")["baseline"]["n_paired"] == N


def test_a_part_of_the_set_is_no_baseline_of_the_whole(compared: Project) -> None:
    compared.run("-k", "c-00", "--rageval-run-id", "one")
    result = compared.run("--rageval-run-id", "whole", "--rageval-baseline", "one")
    found = gate(compared, "whole")
    assert checks(found)["recall_at_k max_drop"] == "skip"
    assert "holds 1 of the 30 cases of its set" in found["baseline"]["problem"]
    assert "vs one" not in result.stdout.str()


def test_the_run_of_a_file_is_the_baseline_of_that_file_with_a_new_case(compared: Project) -> None:
    file = "evals/eval_set.jsonl"
    compared.cases([document(N)], "second")
    compared.run(file, "--rageval-run-id", "r2")
    compared.cases([document(i) for i in [*range(N), N + 1]])
    assert compared.run(file, "--rageval-run-id", "r3", "--rageval-baseline", "r2").ret == 0
    info = gate(compared, "r3")["baseline"]
    assert (info["problem"], info["n_paired"], info["n_only_new"]) == (None, N, 1)
    with contextlib.chdir(compared.path):
        assert cli.run(["gate", "r3", "--baseline", "r2"]) == 0
    compared.run("--rageval-run-id", "both", "--rageval-baseline", "r2")
    assert gate(compared, "both")["baseline"]["problem"] is not None
