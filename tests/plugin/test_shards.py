"""A set cut into parts for several machines, and put together again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.engine import finish
from tests.plugin.long_runs import (
    ask_server,
    document,
    figures,
    lines_of,
    numbered_cases,
)
from tests.plugin.rag_server import hit_or_miss, rag_server
from tests.plugin.scratch import CASES, Project, case, checks

SHARDS = ("1/3", "2/3", "3/3")


def ids_of(project: Project, run_id: str) -> list[str]:
    return sorted(r["case_id"] for r in lines_of(project.folder(run_id)))


def run_shards(project: Project, *arguments: str) -> None:
    for shard in SHARDS:
        name = f"s{shard[0]}"
        project.run("--rageval-shard", shard, "--rageval-run-id", name, *arguments)


def merge(*arguments: str) -> int:
    return cli.run(["merge", *arguments])


# --- shards ----------------------------------------------------------------------------------


def test_every_case_is_in_one_shard_whatever_else_is_selected(project: Project) -> None:
    project.cases(numbered_cases(7))
    project.cases([case("z0", "hit z0"), case("z1", "hit z1")], "other")
    run_shards(project)
    assert [ids_of(project, f"s{n}") for n in (1, 2, 3)] == [
        ["c000", "c003", "c006"],
        ["c001", "c004", "z0"],
        ["c002", "c005", "z1"],
    ]
    project.run("--rageval-shard", "1/3", "--rageval-run-id", "part", "-k", "odd or z1")
    assert ids_of(project, "part") == ["c003"]


def test_what_a_shard_leaves_out_is_told_and_its_gate_needs_the_whole_set(
    project: Project,
) -> None:
    result = project.run("--rageval-shard", "1/2")
    assert result.parseoutcomes()["deselected"] == 2
    gate = project.stored("gate.json")
    assert checks(gate) == {"recall_at_k": "skip", "error_rate": "pass"}
    assert gate["checks"][0]["message"] == "needs the whole set (2 of 4 cases selected)"


# --- merging ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_shards_together_are_one_whole_run(project: Project) -> None:
    project.cases(numbered_cases(30))
    project.write(
        "thresholds.toml", '[overall]\nrecall_at_k = ">= 0.85"\n[category.odd]\nmrr = ">= 0.5"\n'
    )
    with rag_server() as server:
        ask_server(project, server.url, judge="offline")
        for shard in SHARDS[:2]:
            project.run("--rageval-shard", shard, "--rageval-run-id", f"s{shard[0]}")
        project.run("--rageval-shard", "3/3", "--rageval-run-id", "s3", "-n", "2")
        whole = project.run("--rageval-run-id", "whole")
    assert merge("s1", "s2", "s3", "--run-id", "merged") == whole.ret
    one, other = project.folder("merged"), project.folder("whole")
    assert figures(document(one)) == figures(document(other))
    gate, expected = document(one, "gate.json"), document(other, "gate.json")
    alike = {"run_id": "", "headline": {}}  # the whole is the last full run before the merged one
    assert {**gate, **alike} == {**expected, **alike}
    assert stripped(one) == stripped(other)
    asked = [trace for name in ("s1", "s2", "s3") for trace in traces(project.folder(name))]
    assert traces(one) == sorted(asked)
    assert (one / "summary.md").is_file()
    merged = document(one, "config.json")
    assert merged["merged_from"] == ["s1", "s2", "s3"]
    assert merged["settings"]["shard"] is None
    assert merged["config_hash"] == document(other, "config.json")["config_hash"]


def traces(folder: Path) -> list[str]:
    return sorted(line["trace_id"] for line in lines_of(folder))


def stripped(folder: Path) -> list[dict[str, Any]]:
    """The records of a run in the order of its cases, without times, money and traces."""
    left_out = {"latency", "cost", "judgements", "asked_at", "trace_id", "span_id"}
    lines = sorted(lines_of(folder), key=lambda record: str(record["case_id"]))
    return [{k: v for k, v in record.items() if k not in left_out} for record in lines]


def test_a_shard_that_is_missing_makes_the_merged_run_incomplete(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    run_shards(project)
    capsys.readouterr()
    assert merge("s1", "s3", "--run-id", "merged", "--json") == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["gate"]["sentence"].startswith("INCOMPLETE: 3 of 4 cases reported")
    assert printed["notes"][0] == "shard 2/3 is missing"
    assert checks(printed["gate"])["recall_at_k"] == "skip"
    assert printed["metrics"]["total"] == 3
    assert merge("s1", "--json") == 1
    assert json.loads(capsys.readouterr().out)["notes"][0] == "shards 2/3, 3/3 are missing"


def test_a_part_that_was_killed_is_named(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    run_shards(project)
    (project.folder("s2") / "metrics.json").unlink()
    capsys.readouterr()
    merge("s1", "s2", "s3", "--json")
    note = json.loads(capsys.readouterr().out)["notes"][0]
    command = "pytest --rageval-resume s2 --rageval-shard 2/3"
    assert note == f"run s2 has not ended: {command} asks its missing cases"
    result = project.run(*command.split()[1:])
    assert "run s2 resumes: 1 case is done" in result.stdout.str()


def test_the_gate_decides_about_the_exit_code(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.write("thresholds.toml", '[overall]\nrecall_at_k = ">= 0.9"\n')
    run_shards(project)
    capsys.readouterr()
    assert merge("s1", "s2", "s3") == 1
    printed = capsys.readouterr().out
    assert "FAIL     recall_at_k: 0.667 is below min 0.900 (n 3)" in printed
    assert "pytest --rageval-failed-from" in printed
    project.write("thresholds.toml", '[overall]\nrecall_at_k = ">= 0.6"\n')
    assert merge("s1", "s2", "s3") == 0


def test_a_merged_run_is_held_against_the_baseline_as_one_whole(project: Project) -> None:
    project.run("--rageval-run-id", "r1")
    run_shards(project)
    project.write("thresholds.toml", 'baseline = "r1"\n[overall]\nmrr = { max_drop = 0.0 }\n')
    assert merge("s1", "s2", "s3", "--run-id", "merged") == 0
    gate = document(project.folder("merged"), "gate.json")
    assert checks(gate)["mrr max_drop"] == "pass"
    assert gate["baseline"]["n_paired"] == len(CASES)
    project.write("thresholds.toml", 'baseline = "s3"\n[overall]\nmrr = { max_drop = 0.0 }\n')
    assert merge("s1", "s2", "s3", "--run-id", "again") == 0
    gate = document(project.folder("again"), "gate.json")
    assert "a part of it" in gate["baseline"]["problem"]


def refusal(capsys: pytest.CaptureFixture[str], *runs: str) -> str:
    capsys.readouterr()
    assert merge(*runs, "--run-id", "merged") == 3
    return capsys.readouterr().err


def test_runs_of_other_settings_are_refused(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.run("--rageval-shard", "1/2", "--rageval-run-id", "a")
    project.run("--rageval-shard", "2/2", "--rageval-run-id", "b", "--rag-k", "9")
    assert "--rag-k: 5 in run a, 9 in run b" in refusal(capsys, "a", "b")
    assert not project.folder("merged").exists()


def test_runs_of_other_cases_are_refused(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.run("--rageval-shard", "1/2", "--rageval-run-id", "a")
    project.cases([*CASES, case("new", "hit it")])
    project.run("--rageval-shard", "2/2", "--rageval-run-id", "b")
    assert "the cases of the set" in refusal(capsys, "a", "b")


def test_runs_that_share_a_case_are_refused(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.run("--rageval-run-id", "a")
    project.run("--rageval-run-id", "b", "-k", "ok-2")
    text = refusal(capsys, "a", "b")
    assert "runs a and b both contain evals/eval_set.jsonl::ok-2" in text


def test_a_run_that_is_not_there_or_a_name_that_is_taken_is_a_usage_error(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    run_shards(project)
    capsys.readouterr()
    assert merge("s1", "nope") == 2
    assert "run 'nope': not found" in capsys.readouterr().err
    assert merge("s1", "s2", "--run-id", "s3") == 2
    assert "exists, and nothing is overwritten" in capsys.readouterr().err
    assert ids_of(project, "s3") == ["short-1"]


def test_a_merged_run_can_be_read_like_any_other(project: Project) -> None:
    run_shards(project)
    assert merge("s1", "s2", "s3", "--run-id", "merged") == 0
    result = project.run("--rageval-failed-from", "last", "--rageval-run-id", "again")
    assert result.ret == 0
    assert ids_of(project, "again") == ["short-1"]


def test_headings_are_judged_by_what_all_shards_say(project: Project) -> None:
    def bare(question: str, nth: int) -> dict[str, Any]:
        found = hit_or_miss(question, nth)
        if "nothing" in question:
            found["debug"]["retrieved_chunks"] = []
        elif "bare" in question:
            del found["debug"]["retrieved_chunks"][0]["heading_path"]
        return found

    gold = [{"rel_path": "a.md", "heading_path": "# A"}]
    questions = ("hit bare", "hit full", "hit nothing", "hit full 2")
    project.cases([case(f"c{n}", q, gold_supports=gold) for n, q in enumerate(questions)])
    with rag_server(bare) as server:
        ask_server(project, server.url)
        for shard in ("1/2", "2/2"):
            project.run("--rageval-shard", shard, "--rageval-run-id", f"s{shard[0]}")
        project.run("--rageval-run-id", "whole")
    assert merge("s1", "s2", "--run-id", "merged") == document(
        project.folder("whole"), "gate.json"
    )["verdict"].count("fail")
    assert figures(document(project.folder("merged"))) == figures(document(project.folder("whole")))


JUDGED = """
import pytest
from pytest_rageval.values.verdict import Judgement, Verdict

class Ours:
    identity = "ours"

    def judge(self, rubric, request, *, repeat=0):
        score = float(len(request.question) % 3 + 1 + repeat)
        return Judgement(
            rubric=rubric, rubric_version="1", judge="ours", verdict=Verdict(scores={rubric: score})
        )

@pytest.fixture(scope="session")
def judge():
    return Ours()
"""


def test_the_spot_check_chooses_the_same_cases_whether_or_not_the_set_is_cut(
    project: Project,
) -> None:
    project.cases([case(f"c{n:02}", f"hit number {n * 7 ** (n % 5)}") for n in range(20)])
    judging = '[tool.rageval.judge]\nmodel = "ours-2024-08-06"\nspot_check_model = "offline"\n'
    with rag_server() as server:
        url = f'[tool.rageval.target]\nurl = "{server.url}"\n'
        project.write("pyproject.toml", judging + url)
        project.write("conftest.py", JUDGED)
        again = ("--judge-spot-check", "6", "--rageval-repeats", "2")
        for shard in ("1/2", "2/2"):
            project.run("--rageval-shard", shard, "--rageval-run-id", f"s{shard[0]}", *again)
        project.run("--rageval-run-id", "whole", *again)
    merge("s1", "s2", "--run-id", "merged")
    one, other = (document(project.folder(name)) for name in ("merged", "whole"))
    assert figures(one) == figures(other)
    assert one["metrics"]["groundedness"]["mean"] > 1
    checked = {r["case_id"] for r in lines_of(project.folder("merged")) if r["spot_check"]}
    assert len(checked) == 6


def test_a_merged_run_has_its_page_and_names_it(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    run_shards(project)
    project.write_pages()
    capsys.readouterr()
    merge("s1", "s2", "s3", "--run-id", "merged")
    assert "report   evals/results/merged/report.html" in capsys.readouterr().out.splitlines()
    page = project.folder("merged") / "report.html"
    assert all(f"case-{one['id']}" in page.read_text(encoding="utf-8") for one in CASES)
    merge("s1", "s2", "s3", "--run-id", "bare", "--no-report")
    assert "report.html" not in capsys.readouterr().out
    assert not (project.folder("bare") / "report.html").exists()


def test_a_merge_interrupted_while_its_page_is_drawn_is_kept(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_shards(project)
    project.write_pages()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pytest_rageval.report.html.run.page.write_report", interrupt)
    assert merge("s1", "s2", "s3", "--run-id", "merged") == ExitCode.INTERRUPTED
    files = {path.name for path in project.folder("merged").iterdir()}
    assert {"results.jsonl", "config.json", "metrics.json", "gate.json", "summary.md"} <= files
    assert len(lines_of(project.folder("merged"))) == len(CASES)


def test_a_merge_interrupted_before_it_is_complete_is_discarded(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_shards(project)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(finish, "render", interrupt)
    assert merge("s1", "s2", "s3", "--run-id", "merged") == ExitCode.INTERRUPTED
    assert not project.folder("merged").exists()
